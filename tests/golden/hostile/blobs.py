"""Faults of the blobs beside the document."""

import hashlib
import random
from collections.abc import Callable, Iterator

from tests.golden.hostile.row import Change, Row
from tests.golden.sound import Draft


def blob(change: Callable[[bytes], bytes | None]) -> Change:
    """Change the bytes of one blob, or take it away."""

    def on_draft(draft: Draft, rng: random.Random) -> str:
        path = rng.choice(sorted(draft.files))
        data = change(draft.files.pop(path))
        if data is not None:
            draft.files[path] = data
        return path

    return on_draft


def _flipped(data: bytes) -> bytes:
    return bytes([data[0] ^ 1]) + data[1:]


def _linked(draft: Draft, rng: random.Random) -> str:
    path = rng.choice(sorted(draft.files))
    draft.files["target"] = draft.files.pop(path)
    draft.links[path] = "../target"
    return path


def _folder(draft: Draft, rng: random.Random) -> str:
    path = rng.choice(sorted(draft.files))
    del draft.files[path]
    draft.folders.append(path)
    return path


def _upper(draft: Draft, rng: random.Random) -> str:
    path = next(p for p in sorted(draft.files) if p.upper() != p)
    draft.files["blobs/" + path.removeprefix("blobs/").upper()] = draft.files.pop(path)
    return path


def _two_lengths(draft: Draft, rng: random.Random) -> str:
    first, second = draft.document["observations"][:2]
    del draft.files[f"blobs/{second['data_blob_hash'].hex()}"]
    second["data_blob_hash"] = first["data_blob_hash"]
    return f"blobs/{first['data_blob_hash'].hex()}"


def _large(draft: Draft, rng: random.Random) -> str:
    draft.document["observations"][0] |= {"dtype": "u8", "shape": [2**31, 2]}
    return f"blobs/{draft.document['observations'][0]['data_blob_hash'].hex()}"


def _empty(draft: Draft, rng: random.Random) -> None:
    digest = hashlib.sha256(b"")
    draft.files[f"blobs/{digest.hexdigest()}"] = b""
    row = draft.document["observations"][0]
    draft.files.pop(f"blobs/{row['data_blob_hash'].hex()}")
    row |= {"shape": [0, 2**31, 2**31], "data_blob_hash": digest.digest()}


def _nan(draft: Draft, rng: random.Random) -> None:
    """Signalling, signed, with payloads: bits in a blob mean nothing to a reader."""
    data = b"\x01\x00\x80\x7f\xef\xbe\xc0\xff\x00\x00\xc0\x7f"
    digest = hashlib.sha256(data)
    draft.files[f"blobs/{digest.hexdigest()}"] = data
    row = dict(draft.document["observations"][0], name="nan", shape=[3])
    draft.document["observations"].append(row | {"data_blob_hash": digest.digest()})


def blob_rows() -> Iterator[Row]:
    yield Row("GOLDEN_BLOB_MISSING", "GOLDEN_BLOB_MISSING", blob(lambda data: None))
    yield Row("GOLDEN_BLOB_MISSING link", "GOLDEN_BLOB_MISSING", _linked)
    yield Row("GOLDEN_BLOB_MISSING folder", "GOLDEN_BLOB_MISSING", _folder)
    yield Row("GOLDEN_BLOB_MISSING upper case", "GOLDEN_BLOB_MISSING", _upper)
    yield Row("GOLDEN_BLOB_LENGTH short", "GOLDEN_BLOB_LENGTH", blob(lambda data: data[:-1]))
    yield Row("GOLDEN_BLOB_LENGTH empty", "GOLDEN_BLOB_LENGTH", blob(lambda data: b""))
    yield Row("GOLDEN_BLOB_LENGTH long", "GOLDEN_BLOB_LENGTH", blob(lambda data: data + b"\0"))
    yield Row("GOLDEN_BLOB_LENGTH of two shapes", "GOLDEN_BLOB_LENGTH", _two_lengths)
    yield Row("GOLDEN_BLOB_LENGTH 4 GiB declared", "GOLDEN_BLOB_LENGTH", _large)
    yield Row("GOLDEN_BLOB_HASH", "GOLDEN_BLOB_HASH", blob(_flipped))
    yield Row("accepted: an empty array", None, _empty)
    yield Row("accepted: NaN bits in a blob", None, _nan)
    yield Row("accepted: as it is", None, lambda draft, rng: None)
