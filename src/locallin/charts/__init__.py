"""Charts of a manifold: the learner of them, minimum cuts, machines on charts."""
