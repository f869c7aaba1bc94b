"""Local signing keys: PEM files, never stored by the project and never in a receipt."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from trlm_lab.errors import KeyExistsError, KeyUnreadableError

if TYPE_CHECKING:
    from securesystemslib.signer import CryptoSigner, SSlibKey

#: A PEM file of one key is far smaller.
_LARGEST = 64 * 1024
_PRIVATE = "an unencrypted private key in PKCS #8 PEM"
_PUBLIC = "the public half of a key in PEM"


def new_signing_key(path: Path) -> Path:
    """Make an Ed25519 key: `path`, readable by its owner only, and the public half `path`.pub.

    Raises:
        KeyExistsError: one of the two files exists.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
    )

    if path.exists():
        raise KeyExistsError(where=str(path))
    public = path.with_name(path.name + ".pub")
    if public.exists():
        raise KeyExistsError(where=str(public))
    key = Ed25519PrivateKey.generate()
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public.write_bytes(
        key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    return public


def read_signing_key(path: Path) -> CryptoSigner:
    """A signer from an unencrypted PKCS #8 PEM file.

    Raises:
        KeyUnreadableError: no such file, or no such key in it.
    """
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from securesystemslib.signer import CryptoSigner

    try:
        return CryptoSigner(load_pem_private_key(_bytes(path, _PRIVATE), None))
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise _unreadable(path, _first_line(error), _PRIVATE) from error


def read_public_key(path: Path) -> SSlibKey:
    """A public key from a PEM file.

    Raises:
        KeyUnreadableError: no such file, or no such key in it.
    """
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_public_key
    from securesystemslib.signer import SSlibKey

    try:
        return SSlibKey.from_crypto(load_pem_public_key(_bytes(path, _PUBLIC)))
    except (ValueError, UnsupportedAlgorithm) as error:
        raise _unreadable(path, _first_line(error), _PUBLIC) from error


def _bytes(path: Path, wanted: str) -> bytes:
    if not path.is_file():
        raise _unreadable(path, "no regular file", wanted)
    with path.open("rb") as stream:
        return stream.read(_LARGEST)


def _unreadable(path: Path, detail: str, wanted: str) -> KeyUnreadableError:
    return KeyUnreadableError(where=str(path), detail=detail, wanted=wanted)


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0] or type(error).__name__
