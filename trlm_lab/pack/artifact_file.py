"""An `.slm` on disk: streamed out under a temporary name and renamed whole, or mapped."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from types import TracebackType

import numpy as np

from trlm_lab.base.plain_file import require_plain
from trlm_lab.base.unfinished import unfinished_file
from trlm_lab.errors import PathMissingError
from trlm_lab.slm.plan import FilePlan, Placement
from trlm_lab.slm.write import BodyHasher, check_payload, front_matter, seal, self_hash_input

_CHUNK = 1 << 20


def map_file(path: Path) -> memoryview:
    """The bytes of a file, mapped read-only; the mapping lives as long as its views.

    Raises:
        PathMissingError: no such file.
        NotPlainFileError: a directory, pipe, socket or device.
    """
    if not path.exists():
        raise PathMissingError(where=str(path))
    if require_plain(path).st_size == 0:
        return memoryview(b"")
    return np.memmap(path, dtype=np.uint8, mode="r").data


class ArtifactSink:
    """Writes the planned tensors in order; nothing stands at `out` before `commit` has returned."""

    def __init__(self, out: Path, plan: FilePlan) -> None:
        self.out, self.plan = out, plan
        self._hasher = BodyHasher()
        self._at = plan.body_off
        self._tensor_hashes: list[bytes] = []
        self._stream, self._temporary = unfinished_file(out)
        self._stream.seek(plan.body_off)

    def __enter__(self) -> ArtifactSink:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        self._stream.close()
        self._temporary.unlink(missing_ok=True)

    def begin(self, placement: Placement) -> None:
        """Start a stored tensor: pad up to its data."""
        self._placement = placement
        self._digest = hashlib.sha256()
        self._data_len = 0
        self._scales: list[bytes] = []
        self._pad_to(placement.data_off)

    def add(self, data: bytes | memoryview, scales: bytes) -> None:
        """Append rows of the data plane; their scales are kept until `end`."""
        self._write(data)
        self._digest.update(data)
        self._data_len += len(data)
        self._scales.append(scales)

    def end(self) -> str:
        """Write the scales; return SHA-256 of data and scales as hex.

        Raises:
            SlmShapeError: fewer or more bytes than planned.
        """
        scales = b"".join(self._scales)
        check_payload(self._placement, self._data_len, len(scales))
        if scales:
            self._pad_to(self._placement.aux_off)
            self._write(scales)
            self._digest.update(scales)
        self._tensor_hashes.append(self._digest.digest()[:16])
        return self._digest.hexdigest()

    def alias(self) -> None:
        """Note an alias, which has no bytes."""
        self._tensor_hashes.append(bytes(16))

    def commit(self) -> tuple[str, str, str]:
        """Finish the file and put it in place: (file SHA-256, self hash, Merkle root) as hex."""
        body = self._hasher.finish()
        front = front_matter(self.plan, self._tensor_hashes, body)
        self_digest = self._digest_with(self_hash_input(front))
        front = seal(front, self_digest)
        self._stream.seek(0)
        self._stream.write(front)
        file_digest = self._digest_with(front)
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self._temporary.replace(self.out)
        return file_digest.hex(), self_digest.hex(), body.merkle_root.hex()

    def _digest_with(self, front: bytes) -> bytes:
        """SHA-256 of this front matter and the body on disk."""
        digest = hashlib.sha256(front)
        self._stream.flush()
        self._stream.seek(self.plan.body_off)
        while chunk := self._stream.read(_CHUNK):
            digest.update(chunk)
        return digest.digest()

    def _pad_to(self, offset: int) -> None:
        self._write(bytes(offset - self._at))

    def _write(self, data: bytes | memoryview) -> None:
        self._stream.write(data)
        self._hasher.update(data)
        self._at += len(data)
