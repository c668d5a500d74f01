"""Training and prediction on a cluster, through dask.distributed.

Tasks go to the workers that have their rows; what travels is models. A sample of the
rows decides anchors, scales and first steps, and a few steps of Lloyd's algorithm on
all rows refine the anchors. Then the blocks are dealt to ``n_shards`` shards. In a
round each shard takes one pass over its next block, from the common model; the common
model moves by the mean of what the shards have learned, weighted by the weights of
their rows, and the next round begins. Moments of Adam, iterate and mean of SGD, and the
clocks of the rates are averaged in the same way. An epoch has as many rounds as a shard
has blocks.

This is local SGD, or iterative parameter mixing [1]_ [2]_ [3]_. One shard is the local
stream, block after block. With fixed anchors and SGD (LL-SVM) the objective is strongly
convex. With squared hinge or logistic loss it is smooth as well, and for rows in random
order local SGD with falling steps and averaged models converges to its minimum at the
rate of SGD on the steps of all shards together, provided that models are averaged often
enough [3]_. Where anchors learn, and for ML3, there is no such proof, as there is none
for the local estimators.

The model depends on the data, how it is cut into blocks, ``n_shards`` and the seed; not
on the number of workers, their threads or the order in which they finish. A worker that
dies or comes late changes nothing, to the bit, as long as dask can compute its blocks
again. Rows should be in random order, at least within blocks.

References
----------
.. [1] Zinkevich, Weimer, Smola and Li, Parallelized Stochastic Gradient Descent,
   NIPS 2010.
.. [2] McDonald, Hall and Mann, Distributed Training Strategies for the Structured
   Perceptron, NAACL 2010.
.. [3] Stich, Local SGD Converges Fast and Communicates Little, ICLR 2019.
"""

from locallin.engine.optional import install_hint

try:
    import dask.array  # noqa: F401
    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"locallin.dask needs dask and distributed: {install_hint('dask')}."
    ) from error

from locallin.dask._blocks import BlockError
from locallin.dask._classifier import ClusterClassifier
from locallin.dask._regressor import ClusterRegressor

__all__ = ["BlockError", "ClusterClassifier", "ClusterRegressor"]
