"""Errors of attestations: statements, envelopes and keys."""

from __future__ import annotations

from trlm_lab.errors.root import Refused


class KeyUnreadableError(Refused):
    """A file that holds no usable key."""

    code = "KEY_UNREADABLE"
    rule = "the file holds no usable key: {detail}"
    fix = "give {wanted}; `trlm attest --new-key FILE` makes FILE and FILE.pub"


class KeyExistsError(Refused):
    """A new key would replace a file."""

    code = "KEY_EXISTS"
    rule = "a file is there already"
    fix = "give the path of a file that does not exist; a key is never overwritten"


class EnvelopeMalformedError(Refused):
    """A file that is no DSSE envelope in its one spelling."""

    code = "ENVELOPE_MALFORMED"
    rule = "no DSSE envelope of an in-toto statement: {detail}"
    fix = "make the attestations again with `trlm attest DIR`"


class StatementInvalidError(Refused):
    """A payload that is no in-toto v1 statement."""

    code = "STATEMENT_INVALID"
    rule = "no in-toto v1 statement: {detail}"
    fix = "make the attestations again with `trlm attest DIR`"


class SignatureInvalidError(Refused):
    """No signature of the given key over these bytes."""

    code = "SIGNATURE_INVALID"
    rule = "no valid signature of key {keyid}"
    fix = "check that the key is the signer's; if it is, the statement was changed after signing"


class NoAttestationError(Refused):
    """A key to check with, and no attestation."""

    code = "NO_ATTESTATION"
    rule = "the directory holds no attestation that the key could have signed"
    fix = "make them with `trlm attest DIR --key FILE`, or verify without --key"


class NoReceiptError(Refused):
    """A directory without a sealed receipt."""

    code = "NO_RECEIPT"
    rule = "no sealed receipt: {detail}"
    fix = "finish the run that makes it; `trlm verify DIR` shows what is wrong"
