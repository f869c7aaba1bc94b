"""The page names the storage form of every file that the runtime opens, outside a browser."""

import json
import shutil
import subprocess
from pathlib import Path

from tests.backends.coded_model import coded_model
from tests.skips import lacking
from tests.slm1.made import made
from trlm_lab.backends.wasm_module import MODULE
from trlm_lab.quant import GROUPED
from trlm_lab.slm.numbers import DType, ScaleEncoding
from trlm_lab.slm1 import codecs

RUNTIME = Path(__file__).resolve().parents[2] / "browser_runner" / "src" / "runtime.js"
SCRIPT = """
import { readFileSync } from "node:fs";
const { Runtime } = await import(process.argv[1]);
const [module, ...files] = process.argv.slice(2).map((path) => readFileSync(path));
const names = [];
for (const data of files) {
  const runtime = await Runtime.start(module);
  const address = runtime.reserve(data.length, "file");
  runtime.bytes(address, data.length).set(data);
  runtime.openModel(address, data.length);
  names.push(runtime.info().weights);
}
console.log(JSON.stringify(names));
"""


def test_every_form_has_its_name(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        lacking("node", "none on the path")
    files = {f"slm1 {dtype.name}": (dtype.name, made(dtype)) for dtype in codecs.DType}
    for name in GROUPED:
        files[name] = name, coded_model(DType[name], ScaleEncoding.fp16)
    for dtype in (DType.f16, DType.bf16):
        files[dtype.name] = dtype.name, coded_model(dtype, ScaleEncoding.none)
    for name, (_, data) in files.items():
        (tmp_path / name).write_bytes(data)
    command = [node, "--input-type=module", "-e", SCRIPT, RUNTIME.as_uri(), str(MODULE)]
    paths = [str(tmp_path / name) for name in files]
    done = subprocess.run([*command, *paths], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [form for form, _ in files.values()]
