// SHA-256 of bytes at hand through WebCrypto, for the module and the checkpoints.

/** Lower-case hex of the SHA-256 of a Uint8Array. */
export async function sha256Hex(bytes) {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
