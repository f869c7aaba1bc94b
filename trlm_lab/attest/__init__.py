"""Evidence for others: in-toto statements in DSSE envelopes, signed with a local key."""

from trlm_lab.attest.envelope import (
    PAYLOAD_TYPE,
    check_signature,
    decode_envelope,
    encode_envelope,
    signer_ids,
)
from trlm_lab.attest.keys import new_signing_key, read_public_key, read_signing_key
from trlm_lab.attest.statement import (
    PROVENANCE,
    TEST_RESULT,
    Subject,
    provenance_statement,
    test_result_statement,
)

__all__ = [
    "PAYLOAD_TYPE",
    "PROVENANCE",
    "TEST_RESULT",
    "Subject",
    "check_signature",
    "decode_envelope",
    "encode_envelope",
    "new_signing_key",
    "provenance_statement",
    "read_public_key",
    "read_signing_key",
    "signer_ids",
    "test_result_statement",
]
