// SHA-256 of bytes at hand through WebCrypto, for the module and the checkpoints.

import { toHex } from "./hex.js";

/** Lower-case hex of the SHA-256 of a Uint8Array. */
export async function sha256Hex(bytes) {
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}
