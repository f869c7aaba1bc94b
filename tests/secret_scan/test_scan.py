"""Every rule finds its kind of secret, and evidence as such is none. The samples are made up."""

import base64
import json
from pathlib import Path

import pytest

from trlm_lab.base import canon
from trlm_lab.secret_scan import content_ids, rule_names, scan_bytes, scan_text

HEX = "0123456789abcdef"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
DIGEST = "5f" + "".join(HEX[(7 * i + 3) % 16] for i in range(62))


def letters(count: int) -> str:
    """Characters without order or repetition that a reader would see."""
    return "".join(LETTERS[(17 * i + 5) % len(LETTERS)] for i in range(count))


SECRETS = {
    "AWS Access Key": "AKIA" + letters(16).upper(),
    "GitHub Token": "ghp_" + letters(36),
    "GitHub Fine-grained Token": "github_pat_" + letters(40),
    "GitLab Token": "glpat-" + letters(20),
    "Hugging Face Token": "hf_" + letters(34),
    "Google API Key": "AIza" + letters(35),
    "Anthropic Key": "sk-ant-" + letters(40),
    "OpenAI Token": "sk-" + letters(20) + "T3BlbkFJ" + letters(20),
    "PyPI Token": "pypi-" + "AgEIcHlwaS5vcmc" + letters(70),
    "Private Key": "-----BEGIN " + "RSA PRIVATE KEY-----",
    "Slack Token": "xoxb-" + "1234567890-1234567890-" + letters(24),
    "Stripe Access Key": "sk_live_" + letters(24),
    "Basic Auth Credentials": "https://user:" + "hunter22@host.test/path",
    "JSON Web Token": "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxIn0." + letters(43),
    "E-mail Address": "write to ada.lovelace@" + "analytical-engine.org today",
    "Home Directory": "/home/" + "ada/models/config.json",
    "Hex Entropy": "key " + DIGEST[:40],
    "Base64 Entropy": "secret " + letters(44) + "=",
}


def rules_of(text: str) -> set[str]:
    return {f.rule for f in scan_text(text, where="t")}


@pytest.mark.parametrize("rule", SECRETS)
def test_each_rule_finds_its_kind(rule: str) -> None:
    assert rule in rules_of(SECRETS[rule])
    assert rule in rule_names()


@pytest.mark.parametrize("rule", SECRETS)
def test_a_finding_never_holds_the_secret(rule: str) -> None:
    for finding in scan_text(SECRETS[rule], where="t"):
        assert SECRETS[rule] not in str(finding)
        assert len(finding.hint.partition("…")[0]) <= 4


@pytest.mark.parametrize(
    "text",
    [
        "The capital of France is Paris. Contact: someone@example.com",
        "layers.15.post_attention_layernorm.weight is float32 [576]",
        "trlm_lab/backends/wasm/trlm_scalar.wasm rebuilt with rustc 1.63.0",
        "a = 0x3f800000, b = 0x7fc00000, 1.0e-38 and 16777216",
        "https://huggingface.co/HuggingFaceTB/SmolLM2-135M-Instruct/blob/main/README.md",
        "<|im_start|>user\nhello<|im_end|>",
        "",
    ],
)
def test_ordinary_evidence_is_no_secret(text: str) -> None:
    assert rules_of(text) == set()


def test_a_content_id_is_known_by_its_record() -> None:
    record = canon.encode({"file_sha256": DIGEST, "name": f"trace:{DIGEST}"})
    assert content_ids(record) == {DIGEST}
    assert [f.rule for f in scan_text(f"see {DIGEST}", where="t")] == ["Hex Entropy"]
    assert not list(scan_text(f"see {DIGEST}", where="t", known=content_ids(record)))


def test_a_git_id_is_known_where_the_hubs_record_or_the_pin_names_it() -> None:
    first, second = DIGEST[:40], DIGEST[24:]
    record = canon.encode({"hub": {"commit": first}, "pin": f"hf:ada/tiny@{second}"})
    assert content_ids(record) == {first, second}
    elsewhere = canon.encode({"token": first, "hub": f"key {second}", "other": {"pin": first[:39]}})
    assert content_ids(elsewhere) == frozenset()


def test_hex_that_a_prompt_holds_is_no_content_id() -> None:
    record = canon.encode({"text": DIGEST})
    assert content_ids(record) == frozenset()
    assert [f.rule for f in scan_bytes(record, where="r")] == ["Hex Entropy"]


@pytest.mark.parametrize("rule", ["Hugging Face Token", "E-mail Address"])
@pytest.mark.parametrize("form", ["cbor", "cbor bytes", "cbor key", "json", "text", "notebook"])
def test_every_form_of_evidence_is_searched(rule: str, form: str) -> None:
    secret = SECRETS[rule]
    data = {
        "cbor": lambda: canon.encode({"a": [1, {"b": secret}]}),
        "cbor bytes": lambda: canon.encode({"a": secret.encode()}),
        "cbor key": lambda: canon.encode({secret: 1}),
        "json": lambda: json.dumps({"a": {"b": [secret]}}).encode(),
        "text": lambda: f"line one\n{secret}\n".encode(),
        "notebook": lambda: json.dumps(
            {"cells": [{"outputs": [{"data": {"text/html": ["<p>", secret]}}]}]}
        ).encode(),
    }[form]()
    found = list(scan_bytes(data, where="evidence"))
    assert rule in {f.rule for f in found}
    assert all(f.where.startswith("evidence") for f in found)


def test_line_numbers_are_those_of_the_text() -> None:
    (finding,) = scan_text(f"one\ntwo\n{SECRETS['E-mail Address']}", where="t")
    assert finding.line == 3


def test_pictures_and_arrays_hold_no_texts() -> None:
    picture = "data:image/png;base64," + letters(60) * 20
    assert rules_of(f"<img src='{picture}'>") == set()
    assert not list(scan_bytes(bytes(range(256)) * 16, where="array"))
    notebook = {"cells": [{"outputs": [{"data": {"image/png": letters(60) * 20}}]}]}
    assert not list(scan_bytes(json.dumps(notebook).encode(), where="n"))


def test_a_secret_beside_a_picture_is_found() -> None:
    picture = "data:image/png;base64," + letters(60) * 20
    found = rules_of(f"<img src='{picture}'> {SECRETS['GitHub Token']}")
    assert "GitHub Token" in found


def test_the_project_itself_holds_none(tmp_path: Path) -> None:
    """Its own code and documents pass its own rules; pins and digests are the evidence's ids."""
    root = Path(__file__).parents[2]
    # Packed tables are dense by nature; their own test unpacks them and holds them to a hash.
    code = [
        p
        for p in root.glob("trlm_lab/**/*.py")
        if p.parent.name != "tables" and p.name != "table_data.py"
    ]
    files = [*root.glob("docs/**/*.md"), *code, root / "README.md"]
    digests = {"Hex Entropy"}
    found = [f for p in files for f in scan_bytes(p.read_bytes(), where=str(p.relative_to(root)))]
    assert [f for f in found if f.rule not in digests] == []


AWS = SECRETS["AWS Access Key"]
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 2).decode()


def packed(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    "text",
    [
        packed(f"my key is {AWS}"),
        packed(f"lorem ipsum {AWS} " * 40),
        packed(packed(f"in two layers {AWS}")),
        f"data:text/plain;charset=utf-8;base64,{packed(AWS)}",
        f"data:image/png;base64,{PNG} {AWS}",
        f"data:image/png;base64,{PNG}\n{AWS}",
        f"data:image/svg+xml;base64,{packed(f'<text>{AWS}</text>')}",
        f"data:image/png;base64,{packed(AWS)}",
        AWS[:8] + "\u200b" + AWS[8:],
        "".join(chr(ord(c) + 0xFEE0) for c in AWS),
        "".join(f"%{b:02x}" for b in AWS.encode()),
        f"&#65;{AWS[1:]}",
        rf"\u0041{AWS[1:]}",
    ],
)
def test_a_disguise_hides_nothing(text: str) -> None:
    assert "AWS Access Key" in rules_of(text)


@pytest.mark.parametrize(
    "data",
    [
        b"caf\xe9 " + AWS.encode(),
        f'{{"a": "{AWS}", "a": "x"}}'.encode(),
        json.dumps({"data": {"image/png": AWS}}).encode(),
        json.dumps({"data": {"image/png": f"{PNG}\n{AWS}\n"}}).encode(),
        json.dumps({"data": {"image/jpeg": [AWS]}}).encode(),
    ],
)
def test_no_corner_of_a_document_is_dark(data: bytes) -> None:
    assert "AWS Access Key" in {f.rule for f in scan_bytes(data, where="t")}


@pytest.mark.parametrize("text", ["été", "Ġw", "中文" * 40, "\ud800" * 3, "=" * 9, "\x00"])
def test_no_text_is_too_odd_to_search(text: str) -> None:
    assert not list(scan_text(text, where="t"))
    row = {"a": text.encode("utf-8", "replace").decode(), "b": [text.encode("utf-8", "replace")]}
    assert not list(scan_bytes(canon.encode(row), where="r"))
    assert content_ids(canon.encode(row)) == frozenset()


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_picture_says_nothing(end: str) -> None:
    row = {"data": {"image/png": PNG + end}, "html": f'<img src="data:image/png;base64,{PNG}">'}
    assert not list(scan_bytes(json.dumps(row).encode(), where="t"))


def test_a_place_shows_no_secret() -> None:
    found = list(scan_bytes(json.dumps({AWS: SECRETS["GitHub Token"]}).encode(), where="t"))
    assert {f.rule for f in found} >= {"AWS Access Key", "GitHub Token"}
    assert AWS not in str(found)


def test_a_command_line_names_no_content_id() -> None:
    assert content_ids(canon.encode({"name": f"process:run --seed={DIGEST}"})) == frozenset()


@pytest.mark.parametrize("option", ["--token=", "--password ", "--api-key=", "--hf-token "])
def test_a_secret_on_a_command_line(option: str) -> None:
    assert "Command Line Secret" in rules_of(f"process:./run {option}correcthorse")
    assert rules_of("--eos-token </s> --tokens 128 --token 5 --max-token 100000000") == set()
