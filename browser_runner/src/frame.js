// Sends observations to the driver: bounded frames of raw bytes behind a small JSON header.
//
// A frame is a 32-bit little-endian header length, the header, then the bytes of its parts in
// order. A part is bytes [start, stop) of one array; arrays above the limit come in several.

import { Problem } from "./problem.js";

const FRAME_LIMIT = 16 * 1024 * 1024;

/** Divide observations into groups of parts, each group of at most FRAME_LIMIT bytes. */
function* groups(observations) {
  let parts = [];
  let held = 0;
  for (const { bytes, ...row } of observations) {
    for (let start = 0; start < bytes.length; ) {
      const stop = Math.min(bytes.length, start + FRAME_LIMIT - held);
      parts.push({ head: { ...row, start, stop }, bytes: bytes.subarray(start, stop) });
      held += stop - start;
      start = stop;
      if (held === FRAME_LIMIT) {
        yield parts;
        parts = [];
        held = 0;
      }
    }
  }
  if (parts.length > 0) yield parts;
}

/** The frame as a Blob: a debugger that watches requests copies array bodies, but not blobs. */
function encode(parts) {
  const header = new TextEncoder().encode(JSON.stringify({ parts: parts.map((p) => p.head) }));
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, header.length, true);
  return new Blob([length, header, ...parts.map((part) => part.bytes)]);
}

/**
 * Send observations `{name, dtype, shape, sha256, bytes}`. Each frame waits until the driver has
 * room for it. False where the driver wants no more.
 */
export async function send(channel, observations) {
  for (const parts of groups(observations)) {
    let answer;
    try {
      answer = await fetch(channel, { method: "POST", body: encode(parts) });
    } catch (error) {
      throw new Problem("HTTP", channel, error.message, "see whether the driver still runs");
    }
    if (!answer.ok) throw new Problem("HTTP", channel, `status ${answer.status}`, "");
    if ((await answer.json()).more !== true) return false;
  }
  return true;
}
