"""docs/formats/identity.md says what the code does: tables, bytes and ids."""

import hashlib
import re
from pathlib import Path

from trlm_lab.base import canon
from trlm_lab.base.records import Node
from trlm_lab.base.records.node_kinds import KINDS
from trlm_lab.base.records.node_schema import RESERVED, SCHEMAS
from trlm_lab.receipts.receipt_file import receipt_text
from trlm_lab.receipts.store import LARGEST_NODE

PAGE = Path(__file__).resolve().parents[2] / "docs" / "formats" / "identity.md"


def kind_rows() -> str:
    """The table of kinds as the page shows it."""
    rows = [f"| `{name}` | {kind.words} |" for name, kind in KINDS.items()]
    return "\n".join(["| kind | value |", "|---|---|", *rows])


def schema_rows() -> str:
    """The table of schemas as the page shows it."""
    rows = ["| type | metadata | rests on |", "|---|---|---|"]
    for name, shapes in SCHEMAS.items():
        for shape in shapes:
            keys = ", ".join(f"`{key}` {kind}" for key, kind in shape.keys.items())
            below = [f"`{_in_words(part)}`" for part in shape.children.split(" / ") if part]
            rows.append(f"| `{name}` | {keys} | {'; or '.join(below) or 'nothing'} |")
    reserved = ", ".join(f"`{name}`" for name in sorted(RESERVED))
    return "\n".join(
        [*rows, "", f"Reserved, not to be stored before they have a schema: {reserved}."]
    )


def _in_words(children: str) -> str:
    """A bar would end the cell of a table."""
    return re.sub(r"\w+(?:\|\w+)+", lambda m: f"({m[0].replace('|', ' or ')})", children)


def example(name: str) -> dict[str, bytes]:
    """The parts of a worked example by name, from their hex."""
    part = PAGE.read_text().split(f"\n`{name}`:\n", 1)[1].split("\n`", 1)[0]
    found = re.findall(r"^    (\w+)\n((?:        [0-9a-f]+\n)+)", part + "\n", re.MULTILINE)
    return {key: bytes.fromhex("".join(lines.split())) for key, lines in found}


def test_the_tables_are_those_of_the_code() -> None:
    text = PAGE.read_text()
    assert kind_rows() in text
    assert schema_rows() in text


def test_the_example_by_the_page_alone() -> None:
    """The ids follow from the hex on the page and SHA-256, without any code of ours."""
    domain = b"tinyrustlm-conformance-node-v1"
    assert len(domain) == 30
    for name in ("file", "source_tree"):
        parts = example(name)
        assert set(parts) == {"type", "metadata", "children", "id", "file"}
        whole = domain + parts["type"] + parts["metadata"] + parts["children"]
        assert hashlib.sha256(whole).digest() == parts["id"]
        stored = [b"\x64type" + parts["type"], b"\x68children" + parts["children"],
                  b"\x68metadata" + parts["metadata"]]  # fmt: skip
        assert b"\xa3" + b"".join(stored) == parts["file"]


def test_the_example_is_what_the_code_makes() -> None:
    said = hashlib.sha256(b"{}").hexdigest()
    file = Node("file", {"path": b"config.json", "size": 704, "sha256": said})
    tree = Node("source_tree", {"files": 1, "snapshot_id": "00" * 32}, (file.id,))
    for node in (file, tree):
        parts = example(node.type)
        assert parts["id"].hex() == node.id
        assert parts["file"] == node.encode()
        assert parts["type"] == canon.encode(node.type)
        assert parts["metadata"] == canon.encode(node.metadata)
        assert Node.decode(parts["file"]) == node
    shown = "".join(f"    {line}\n" for line in receipt_text(tree.id).splitlines())
    assert shown in PAGE.read_text()


def test_limits_on_the_page() -> None:
    text = PAGE.read_text()
    assert f"{LARGEST_NODE:,} bytes" in text
    assert f"At most {canon.MAX_DEPTH} levels" in text
    assert canon.NODE_DOMAIN.decode() in text


def test_rules_of_the_encoding() -> None:
    assert canon.encode({"bb": 1, "a": 2, "aa": 3}).hex() == "a3616102626161036262620 1".replace(
        " ", ""
    )
    assert canon.encode([1, 1.0, -0.0, 1.5, 0.1]).hex() == (
        "8501f93c00f98000f93e00fb3fb999999999999a"
    )
