"""The page finds the tokenizer section of artifacts of either version, outside a browser."""

import json
import shutil
import subprocess
from pathlib import Path

from tests.backends.tiny_slm import tiny_config, tiny_weights, write_slm
from tests.skips import lacking
from tests.slm1.made import BTOK, made

MODULE = Path(__file__).resolve().parents[2] / "browser_runner" / "src" / "tokenizer.js"
SCRIPT = """
import { readFileSync } from "node:fs";
const { sectionOf } = await import(process.argv[1]);
const found = process.argv.slice(2).map((path) => sectionOf(new Uint8Array(readFileSync(path))));
console.log(JSON.stringify(found));
"""


def test_the_tokenizer_of_either_version(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        lacking("node", "none on the path")
    config = tiny_config()
    weights = tiny_weights(config)
    files = {
        "one.slm": made(),
        "two.slm": write_slm(config, weights, tokenizer=b"TOK2" + bytes(60)),
        "json.slm": write_slm(config, weights, tokenizer=b"{}      "),
        "none.slm": write_slm(config, weights, tokenizer=b""),
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    command = [node, "--input-type=module", "-e", SCRIPT, MODULE.as_uri()]
    done = subprocess.run(
        [*command, *(str(tmp_path / name) for name in files)],
        capture_output=True,
        text=True,
        check=True,
    )
    one, two, *others = json.loads(done.stdout)
    assert one == {"start": 108, "length": len(BTOK)}
    assert files["two.slm"][two["start"] :][:4] == b"TOK2"
    assert others == [None, None]
