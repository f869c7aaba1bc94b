"""The readers side by side, each behind `answer(directory)`: findings and the bytes again."""

import base64
import contextlib
import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from trlm_lab.backends.native_command import golden_reserialize, golden_verify
from trlm_lab.base import canon
from trlm_lab.errors import NativeCommandError
from trlm_lab.golden import check_golden
from trlm_lab.golden.cbor import decode

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Answer:
    """Refusals and notes as (code, place); SHA-256 of the document encoded again."""

    findings: tuple[tuple[str, str], ...]
    notes: tuple[tuple[str, str], ...]
    again: str | None


class GoldenReader(Protocol):
    def answer(self, directory: Path) -> Answer: ...


def _answer(rows: list[dict[str, Any]], again: str | None) -> Answer:
    def chosen(level: str) -> tuple[tuple[str, str], ...]:
        return tuple((r["code"], r["where"]) for r in rows if r.get("level", "error") == level)

    return Answer(chosen("error"), chosen("note"), again)


class PythonReader:
    def answer(self, directory: Path) -> Answer:
        rows = check_golden(directory)
        again = None
        if all("BLOB" in row["code"] or "level" in row for row in rows):
            again = canon.sha256_hex(canon.encode(decode((directory / "case.cbor").read_bytes())))
        return _answer(rows, again)


class RustReader:
    def answer(self, directory: Path) -> Answer:
        rows = golden_verify(directory)["findings"]
        again = None
        with contextlib.suppress(NativeCommandError):
            again = canon.sha256_hex(golden_reserialize(directory))
        return _answer(rows, again)


class NodeReader:
    """One process, one directory a line."""

    def __init__(self) -> None:
        node = shutil.which("node")
        assert node is not None
        script = HERE / "node_reader.mjs"
        self.process = subprocess.Popen(
            [node, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def answer(self, directory: Path) -> Answer:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{directory}\n")
        self.process.stdin.flush()
        row = json.loads(self.process.stdout.readline())
        return _answer(row["findings"], row["again"])

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        assert self.process.wait(timeout=60) == 0
        self.process.stdout.close()


_IN_PAGE = """async (rows) => {
  const { readGolden, verifyGolden } = await import("/src/golden.js");
  const { sha256Hex } = await import("/src/sha256.js");
  const bytes = (text) => Uint8Array.from(atob(text), (symbol) => symbol.charCodeAt(0));
  const files = new Map(rows.map(([path, text]) => [path, new Blob([bytes(text)])]));
  const { findings, reserialized } = await verifyGolden(files);
  if (reserialized === undefined) return { findings, again: null };
  const document = new Uint8Array(await files.get("case.cbor").arrayBuffer());
  return { findings, again: await sha256Hex(readGolden(document).bytes) };
}"""


class PageReader:
    """The page's modules in Chromium."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def answer(self, directory: Path) -> Answer:
        rows = [
            [p.relative_to(directory).as_posix(), base64.b64encode(p.read_bytes()).decode()]
            for p in sorted(directory.rglob("*"))
            if p.is_file() and not p.is_symlink()
        ]
        row = self.page.evaluate(_IN_PAGE, rows)
        return _answer(row["findings"], row["again"])
