"""Statements and envelopes: what others' tools read, and what must be refused."""

import base64
import json
from pathlib import Path

import pytest
from securesystemslib.dsse import Envelope

from trlm_lab.attest import (
    PROVENANCE,
    TEST_RESULT,
    Subject,
    check_signature,
    decode_envelope,
    encode_envelope,
    new_signing_key,
    provenance_statement,
    read_public_key,
    read_signing_key,
    signer_ids,
)
from trlm_lab.attest import test_result_statement as result_statement
from trlm_lab.attest.statement import check_statement
from trlm_lab.errors import (
    EnvelopeMalformedError,
    KeyExistsError,
    KeyUnreadableError,
    SignatureInvalidError,
    StatementInvalidError,
)

WEIGHTS = Subject("model.safetensors", "ab" * 32)
NODE = "cd" * 32
BUILT = {"trlm_lab": "0.1.0", "python": "3.11.7", "packages": {"gguf": "0.19.0"}}
DECISION = Subject("licence decision", "12" * 32)


@pytest.fixture
def statement() -> bytes:
    return provenance_statement(
        [WEIGHTS],
        source="py:model",
        materials=[Subject("model.whl", "ef" * 32)],
        converter={"name": "converter", "version": 3},
        receipt=NODE,
        builder=BUILT,
        decision=DECISION,
    )


def test_the_commit_of_a_repository_is_a_dependency() -> None:
    made = provenance_statement([WEIGHTS], source="hf:ada/tiny@main", materials=[], converter={},
                                receipt=NODE, builder=BUILT, decision=DECISION,
                                commit="9a" * 20, endpoint="https://h.test")  # fmt: skip
    build = json.loads(made)["predicate"]["buildDefinition"]
    assert build["externalParameters"]["endpoint"] == "https://h.test"
    assert build["resolvedDependencies"] == [
        {"uri": "hf:ada/tiny@main", "digest": {"gitCommit": "9a" * 20}},
        {"name": "licence decision", "digest": {"sha256": "12" * 32}},
    ]


def test_provenance_says_who_built_and_with_what(statement: bytes) -> None:
    predicate = json.loads(statement)["predicate"]
    assert predicate["runDetails"]["builder"]["version"] == {"trlm_lab": "0.1.0"}
    environment = predicate["buildDefinition"]["internalParameters"]["environment"]
    assert environment == {"python": "3.11.7", "packages": {"gguf": "0.19.0"}}


def test_what_is_annotated_stands_in_the_descriptor() -> None:
    settled = Subject("resolution", "34" * 32, {"statement": "the model card is wrong"})
    made = result_statement([WEIGHTS], configuration=[settled], passed=["x"], warned=[],
                            failed=[], receipt=NODE)  # fmt: skip
    (first, _) = json.loads(made)["predicate"]["configuration"]
    assert first["annotations"] == {"statement": "the model card is wrong"}


@pytest.fixture
def key(tmp_path: Path) -> Path:
    new_signing_key(tmp_path / "key.pem")
    return tmp_path / "key.pem"


def test_provenance_binds_subject_material_converter_and_receipt(statement: bytes) -> None:
    row = json.loads(statement)
    assert row["_type"] == "https://in-toto.io/Statement/v1"
    assert row["predicateType"] == PROVENANCE
    assert row["subject"] == [{"name": "model.safetensors", "digest": {"sha256": "ab" * 32}}]
    build = row["predicate"]["buildDefinition"]
    assert build["externalParameters"] == {"source": "py:model"}
    assert build["internalParameters"]["converter"] == {"name": "converter", "version": 3}
    assert build["resolvedDependencies"][0]["digest"] == {"sha256": "ef" * 32}
    assert NODE in row["predicate"]["runDetails"]["metadata"]["invocationId"]


@pytest.mark.parametrize(
    ("passed", "warned", "failed", "result"),
    [
        (["a"], [], [], "PASSED"),
        (["a"], ["b"], [], "WARNED"),
        (["a"], ["b"], ["c"], "FAILED"),
        ([], [], ["c"], "FAILED"),
    ],
)
def test_one_failure_is_a_failure(
    passed: list[str], warned: list[str], failed: list[str], result: str
) -> None:
    row = json.loads(
        result_statement(
            [WEIGHTS], configuration=[], passed=passed, warned=warned, failed=failed, receipt=NODE
        )
    )
    assert row["predicateType"] == TEST_RESULT
    assert row["predicate"]["result"] == result
    assert row["predicate"]["failedTests"] == failed


@pytest.mark.parametrize(
    "change",
    [
        {"subject": []},
        {"_type": "https://in-toto.io/Statement/v0.1"},
        {"predicate": {}},
        {"predicateType": ""},
        {"subject": [{"name": "x"}]},
        {"unknown": 1},
    ],
)
def test_statement_invalid(statement: bytes, change: dict[str, object]) -> None:
    with pytest.raises(StatementInvalidError):
        check_statement(json.dumps(json.loads(statement) | change).encode(), where="here")


def test_no_subject_is_refused() -> None:
    with pytest.raises(StatementInvalidError):
        result_statement([], configuration=[], passed=[], warned=[], failed=[], receipt=NODE)


def test_a_foreign_reader_verifies_the_signature(statement: bytes, key: Path) -> None:
    """The bytes as they lie on disk, read by the DSSE library alone."""
    data = encode_envelope(statement, read_signing_key(key))
    foreign = Envelope.from_dict(json.loads(data))
    public = read_public_key(key.with_name("key.pem.pub"))
    assert list(foreign.verify([public], 1)) == [public.keyid]
    assert foreign.payload == statement


def test_unsigned_envelopes_have_no_signature(statement: bytes) -> None:
    assert signer_ids(decode_envelope(encode_envelope(statement), where="e")) == []


def test_signing_twice_gives_the_same_bytes(statement: bytes, key: Path) -> None:
    signer = read_signing_key(key)
    assert encode_envelope(statement, signer) == encode_envelope(statement, signer)


def test_signature_invalid(statement: bytes, key: Path, tmp_path: Path) -> None:
    public = read_public_key(key.with_name("key.pem.pub"))
    other = read_public_key(new_signing_key(tmp_path / "other.pem"))
    data = encode_envelope(statement, read_signing_key(key))
    check_signature(decode_envelope(data, where="e"), public, where="e")
    with pytest.raises(SignatureInvalidError):
        check_signature(decode_envelope(data, where="e"), other, where="e")
    row = json.loads(data)
    row["payload"] = base64.b64encode(statement.replace(b"py:model", b"py:mode1")).decode()
    changed = (json.dumps(row, indent=1, sort_keys=True) + "\n").encode()
    with pytest.raises(SignatureInvalidError):
        check_signature(decode_envelope(changed, where="e"), public, where="e")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"\xff",
        b"[" * 100_000,
        b'{"payload":"","payloadType":"","signatures":[]}',
        b'{"payload":"e30=","payloadType":"text/plain","signatures":[{}]}',
        b'{"payload":1,"payloadType":2,"signatures":3}',
        b'{"payload":"!","payload":"e30=","payloadType":"text/plain","signatures":[]}',
    ],
)
def test_envelope_malformed(data: bytes) -> None:
    with pytest.raises(EnvelopeMalformedError):
        decode_envelope(data, where="e")


def test_another_spelling_is_refused(statement: bytes) -> None:
    row = json.loads(encode_envelope(statement))
    with pytest.raises(EnvelopeMalformedError, match="spelling"):
        decode_envelope(json.dumps(row).encode(), where="e")


def test_key_exists(key: Path) -> None:
    before = key.read_bytes()
    with pytest.raises(KeyExistsError):
        new_signing_key(key)
    assert key.read_bytes() == before


def test_private_keys_are_for_their_owner_only(key: Path) -> None:
    assert key.stat().st_mode & 0o077 == 0


def test_key_unreadable(key: Path, tmp_path: Path) -> None:
    with pytest.raises(KeyUnreadableError):
        read_signing_key(tmp_path / "absent")
    with pytest.raises(KeyUnreadableError):
        read_signing_key(key.with_name("key.pem.pub"))
    with pytest.raises(KeyUnreadableError):
        read_public_key(key)
    with pytest.raises(KeyUnreadableError):
        read_public_key(tmp_path)


@pytest.mark.parametrize("name", ["", ".", "/"])
def test_a_key_needs_a_name(name: str) -> None:
    with pytest.raises(KeyExistsError):
        new_signing_key(Path(name))
