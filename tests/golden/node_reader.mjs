// Answers for golden directories, one path a line on standard input, one JSON document a line out.

import { createHash } from "node:crypto";
import { lstatSync, readFileSync, readdirSync } from "node:fs";
import { createInterface } from "node:readline";
import { readGolden, verifyGolden } from "../../browser_runner/src/golden.js";

function filesOf(root, inside = "") {
  return readdirSync(root + inside).flatMap((name) => {
    const path = `${inside}/${name}`;
    const found = lstatSync(root + path);
    if (found.isDirectory()) return filesOf(root, path);
    return found.isFile() ? [[path.slice(1), new Blob([readFileSync(root + path)])]] : [];
  });
}

async function answer(root) {
  const files = new Map(filesOf(root));
  const { findings, reserialized } = await verifyGolden(files);
  if (reserialized === undefined) return { findings, again: null };
  const document = new Uint8Array(await files.get("case.cbor").arrayBuffer());
  const again = createHash("sha256").update(readGolden(document).bytes).digest("hex");
  return { findings, again };
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await answer(line))}\n`);
}
