"""DSSE envelopes in one spelling, unsigned or signed with a local key."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from trlm_lab.attest.statement import check_statement
from trlm_lab.base.strict_json import loads
from trlm_lab.errors import EnvelopeMalformedError, SignatureInvalidError, TrlmError

if TYPE_CHECKING:
    from securesystemslib.dsse import Envelope
    from securesystemslib.signer import CryptoSigner, SSlibKey

PAYLOAD_TYPE = "application/vnd.in-toto+json"


def encode_envelope(statement: bytes, signer: CryptoSigner | None = None) -> bytes:
    """The envelope of a statement; without a signer its list of signatures is empty."""
    from securesystemslib.dsse import Envelope

    envelope = Envelope(statement, PAYLOAD_TYPE, {})
    if signer is not None:
        envelope.sign(signer)
    return _spelled(envelope.to_dict())


def _spelled(row: dict[str, Any]) -> bytes:
    return (json.dumps(row, indent=1, sort_keys=True) + "\n").encode()


def decode_envelope(data: bytes, *, where: str) -> Envelope:
    """Read an envelope and check that its payload is an in-toto statement.

    Raises:
        EnvelopeMalformedError: not the one accepted spelling of an envelope.
        StatementInvalidError: the payload is no statement.
    """
    from securesystemslib.dsse import Envelope
    from securesystemslib.exceptions import FormatError

    try:
        envelope = Envelope.from_dict(loads(data, where=where))
        if _spelled(envelope.to_dict()) != data:
            raise ValueError("not in its one accepted spelling")
    except (TrlmError, FormatError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise EnvelopeMalformedError(where=where, detail=f"{error}") from error
    if envelope.payload_type != PAYLOAD_TYPE:
        detail = f"payload type {envelope.payload_type!r}"
        raise EnvelopeMalformedError(where=where, detail=detail)
    check_statement(envelope.payload, where=where)
    return envelope


def signer_ids(envelope: Envelope) -> list[str]:
    """Key ids of the signatures, valid or not."""
    return sorted(envelope.signatures)


def check_signature(envelope: Envelope, key: SSlibKey, *, where: str) -> None:
    """Require a valid signature of `key` over the payload and its type.

    Raises:
        SignatureInvalidError: none is there, or it does not verify.
    """
    from securesystemslib.exceptions import VerificationError

    try:
        envelope.verify([key], 1)
    except VerificationError as error:
        raise SignatureInvalidError(where=where, keyid=key.keyid) from error
