"""Learning from streams: runs over batches, the learning state, checkpoints."""
