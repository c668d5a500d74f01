"""Measurements of locallin and its peers: python -m benchmarks --help."""
