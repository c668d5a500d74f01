"""Where a stream stands, kept in a folder so that a killed run can go on."""

import hashlib
import pickle
from pathlib import Path

from locallin import __version__
from locallin.engine.files import replacing

_MAGIC = b"locallin checkpoint 1\n"
_NAME = "stream.checkpoint"


class CheckpointError(ValueError):
    """A checkpoint cannot be used; the message says why and what to do."""


class Checkpoints:
    """The checkpoint of one run in a folder.

    ``identity`` describes the run: a checkpoint of another one is refused. The file
    is replaced as a whole, so that a run killed at any moment leaves the last
    complete one; a checksum tells a damaged file. It is a pickle: use folders that
    nobody else writes to.
    """

    def __init__(self, folder, identity: dict):
        self._identity = {"locallin": __version__, **identity}
        self._path = Path(folder, _NAME)
        self._path.parent.mkdir(parents=True, exist_ok=True)

    def load(self) -> dict | None:
        """What was saved last, or None where nothing was."""
        if not self._path.exists():
            return None
        head, digest, payload = self._parts()
        if head != _MAGIC:
            raise CheckpointError(
                f"{self._path} is not a checkpoint of this library: choose another "
                "folder."
            )
        if hashlib.sha256(payload).hexdigest().encode() != digest:
            raise CheckpointError(
                f"{self._path} is damaged or was not written to its end: delete it to "
                "begin anew."
            )
        try:
            saved = pickle.loads(payload)
            identity, content = saved["identity"], saved["content"]
        except Exception as error:
            raise self.unusable(error) from error
        self._compare(identity)
        return content

    def unusable(self, error: Exception) -> CheckpointError:
        """The error to raise where what was saved does not serve."""
        return CheckpointError(
            f"{self._path} cannot be used: {error}. Delete it to begin anew."
        )

    def _parts(self) -> tuple[bytes, bytes, bytes]:
        with open(self._path, "rb") as file:
            return file.read(len(_MAGIC)), file.readline().strip(), file.read()

    def _compare(self, found: dict) -> None:
        names = {*self._identity, *found}
        differing = sorted(
            name for name in names if self._identity.get(name) != found.get(name)
        )
        if differing:
            raise CheckpointError(
                f"{self._path} belongs to another run, which differs in "
                f"{', '.join(differing)}: run with what it was made with, delete it to "
                "begin anew, or choose another folder."
            )

    def save(self, content: dict) -> None:
        """Replace what was saved before, in one step."""
        saved = {"identity": self._identity, "content": content}
        payload = pickle.dumps(saved, protocol=pickle.HIGHEST_PROTOCOL)
        digest = hashlib.sha256(payload).hexdigest().encode()
        with replacing(self._path) as unfinished:
            unfinished.write_bytes(_MAGIC + digest + b"\n" + payload)
