"""What lies behind the structure of an SLM1 file: its checksum and its stored values."""

from __future__ import annotations

from trlm_lab.errors import Slm1ChecksumError, Slm1ChecksumProfileError
from trlm_lab.slm1.checksum import CHECKSUMS, ChecksumProfile
from trlm_lab.slm1.layout import header_offset
from trlm_lab.slm1.read import Slm1File

_CHUNK = 1 << 20


def checksum_of(slm1: Slm1File, profile: ChecksumProfile) -> int:
    """The checksum of the file's bytes."""
    running = profile.start()
    for low in range(0, len(slm1.view), _CHUNK):
        running.update(slm1.view[low : low + _CHUNK])
    return running.finish()


def verify_checksum(slm1: Slm1File) -> str:
    """Recompute the checksum by the profile that the stored value claims; the profile's name.

    Raises:
        Slm1ChecksumProfileError: it claims no profile that is known here.
        Slm1ChecksumError: the bytes have another one.
    """
    stored = slm1.header.checksum
    where = f"{slm1.where or 'buffer'}: byte {header_offset('checksum')}"
    claimed = [CHECKSUMS[name] for name in CHECKSUMS if CHECKSUMS[name].claims(stored)]
    if not claimed:
        known = ", ".join(CHECKSUMS)
        raise Slm1ChecksumProfileError(
            where=where, field="checksum", got=f"{stored:#018x}", expected=known
        )
    computed = checksum_of(slm1, claimed[0])
    if computed != stored:
        raise Slm1ChecksumError(
            where=where, field="checksum", got=f"{stored:#018x}", expected=f"{computed:#018x}"
        )
    return claimed[0].name


def verify_values(slm1: Slm1File) -> None:
    """Refuse scales and weights that no writer produces.

    Raises:
        Slm1ScaleError, Slm1NonFiniteError: the first of them.
    """
    for tensor in slm1.tensors:
        tensor.check()


def verify_all(slm1: Slm1File) -> None:
    """Checksum, then values. Raises as both."""
    verify_checksum(slm1)
    verify_values(slm1)
