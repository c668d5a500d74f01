"""What a fit asks of a cluster: tasks near their data, results, no endless waiting."""

from asyncio import CancelledError
from collections.abc import Callable, Sequence
from time import monotonic
from uuid import uuid4

import dask
from distributed import Client, Future, get_client, wait

from locallin.dask._blocks import BlockError

_SECONDS_BETWEEN_LOOKS = 1.0


def current_client() -> Client:
    """The client that dask uses now."""
    try:
        return get_client()
    except ValueError:
        raise RuntimeError(
            "There is no dask client: start one with distributed.Client(), or make one "
            "the current one with client.as_current()."
        ) from None


class Session:
    """The futures of one fit.

    Blocks are computed once and stay where they are; ``timeout`` is how many seconds
    the cluster may be without any worker.
    """

    def __init__(self, timeout: float):
        self._client = current_client()
        self._timeout = timeout
        self._token = uuid4().hex
        self.blocks: list[Future] = []
        self.places: list[str] = []

    def load(self, blocks: Sequence, places: list[str]) -> None:
        """Compute delayed blocks; ``places`` are their names in errors."""
        self.blocks, self.places = self._client.compute(list(blocks)), places

    def holders(self) -> list[list[str] | None]:
        """Addresses of the workers that have each block."""
        held = self._client.who_has(self.blocks)
        return [list(held.get(block.key, ())) or None for block in self.blocks]

    def submit(self, task: Callable, *given, name="", near=None) -> Future:
        """Start a task, on one of the workers ``near`` as long as these live."""
        key = f"{task.__name__}-{self._token}-{name}"
        # What is sent is a model, once in an epoch.
        with dask.config.set(
            {"distributed.admin.large-graph-warning-threshold": "1TB"}
        ):
            return self._client.submit(
                task, *given, key=key, workers=near, allow_other_workers=bool(near)
            )

    def results(self, futures: list[Future]) -> list:
        """Wait for futures and fetch what they hold."""
        try:
            self._wait(futures)
            return self._client.gather(futures)
        except (TimeoutError, KeyboardInterrupt):
            raise
        except (Exception, CancelledError) as error:
            if self._client.status != "running":
                raise RuntimeError(
                    f"The client has lost its cluster, and is {self._client.status}: "
                    "start both again, and fit again."
                ) from error
            restarted = "scheduler-restart" in str(error)
            if not restarted:
                self._blame_a_block(error)
            if restarted or isinstance(error, CancelledError):
                raise RuntimeError(
                    f"The cluster has dropped the fit: {error}"
                ) from error
            raise

    def _wait(self, futures) -> None:
        last_alive = monotonic()
        while True:
            try:
                wait(futures, timeout=_SECONDS_BETWEEN_LOOKS)
                return
            except TimeoutError:
                if self._client.nthreads():
                    last_alive = monotonic()
            if monotonic() - last_alive > self._timeout:
                raise TimeoutError(
                    f"The cluster has had no worker for {self._timeout:g} seconds: "
                    "start workers, or wait longer for them with timeout=..."
                )

    def _blame_a_block(self, error) -> None:
        """Name the block that failed or was lost, if one was."""
        for place, block in zip(self.places, self.blocks, strict=True):
            if block.status == "error":
                cause = block.exception()
                raise BlockError(f"{place}: {cause or type(cause).__name__}") from cause
            if block.status in ("cancelled", "lost"):
                raise BlockError(
                    f"{place} was lost with its worker, and dask cannot compute it "
                    "again: keep its source, not only the data, in the collection."
                ) from error
