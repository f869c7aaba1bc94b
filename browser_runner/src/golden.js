// The golden container `tinyrustlm.golden.v1` in the browser, written from docs/formats/golden.md.

import { FILE_BYTES, decode, encode } from "./golden_cbor.js";
import { GoldenRefusal, finding } from "./golden_finding.js";
import { readCase } from "./golden_schema.js";
import { sha256Hex } from "./sha256.js";

/** Judge the bytes of a document; its fields, and its bytes encoded again. */
export function readGolden(bytes) {
  const document = decode(bytes);
  return { case: readCase(document), bytes: encode(document) };
}

/**
 * Verify a case. `files` maps paths inside the directory to Blobs (a File is one).
 * Answers `{verdict, observations, findings, case, reserialized}`; the last two only where the
 * document is sound, `reserialized` saying whether encoding again gave the same bytes.
 */
export async function verifyGolden(files, onProgress = () => {}) {
  try {
    const bytes = await documentBytes(files);
    const golden = readGolden(bytes);
    const { observations } = golden.case;
    const findings = await checkBlobs(files, observations, onProgress);
    findings.push(...foreign(files, observations));
    return {
      verdict: findings.every(({ level }) => level === "note") ? "accept" : "refuse",
      observations: observations.length,
      findings,
      case: golden.case,
      reserialized: sameBytes(bytes, golden.bytes),
    };
  } catch (error) {
    if (!(error instanceof GoldenRefusal)) throw error;
    return { verdict: "refuse", observations: 0, findings: [error.finding] };
  }
}

async function documentBytes(files) {
  const file = files.get("case.cbor");
  const missing = finding("GOLDEN_CASE_MISSING", "case.cbor", "there is no such file");
  if (file === undefined) throw new GoldenRefusal(missing.code, missing.where, missing.detail);
  // One byte more than allowed is enough for the reader to refuse; no more is ever read.
  return new Uint8Array(await file.slice(0, FILE_BYTES + 1).arrayBuffer());
}

function sameBytes(left, right) {
  return left.length === right.length && left.every((byte, i) => byte === right[i]);
}

async function checkBlobs(files, observations, onProgress) {
  const found = new Map();
  const hashes = new Map();
  for (const [done, { blob, length }] of observations.entries()) {
    onProgress(done, observations.length);
    const where = `blobs/${blob}`;
    const file = files.get(where);
    let code = null;
    if (file === undefined) {
      code = "GOLDEN_BLOB_MISSING";
    } else if (file.size !== length) {
      code = "GOLDEN_BLOB_LENGTH";
    } else {
      if (!hashes.has(blob)) {
        hashes.set(blob, await sha256Hex(new Uint8Array(await file.arrayBuffer())));
      }
      if (hashes.get(blob) !== blob) code = "GOLDEN_BLOB_HASH";
    }
    const detail = "the blob is not what the document says";
    if (code !== null) found.set(`${code} ${where}`, finding(code, where, detail));
  }
  return [...found.values()];
}

function foreign(files, observations) {
  const named = new Set(observations.map(({ blob }) => `blobs/${blob}`));
  const entries = new Set([...files.keys()].filter((path) => path !== "case.cbor").map(entryOf));
  return [...entries].filter((path) => !named.has(path)).sort()
    .map((path) => finding("GOLDEN_FOREIGN", path, "the document does not speak of it", "note"));
}

/** A file deeper down stands for the entry of the directory that holds it. */
function entryOf(path) {
  const parts = path.split("/");
  return parts.slice(0, parts[0] === "blobs" ? 2 : 1).join("/");
}
