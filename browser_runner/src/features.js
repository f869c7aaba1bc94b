// What this browser is and can do, found by asking it rather than by its name.

/** Smallest modules that use one feature each; a browser without it calls them invalid. */
const MODULES = {
  // () -> v128: i8x16.splat of a constant, i8x16.popcnt
  simd: [0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0,
    253, 15, 253, 98, 11],
  // (v128, v128) -> v128: i8x16.relaxed_swizzle
  relaxed_simd: [0, 97, 115, 109, 1, 0, 0, 0, 1, 7, 1, 96, 2, 123, 123, 1, 123, 3, 2, 1, 0, 10, 11,
    1, 9, 0, 32, 0, 32, 1, 253, 128, 2, 11],
  // a shared memory, and an atomic load from it
  threads: [0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 5, 4, 1, 3, 1, 1, 10, 11,
    1, 9, 0, 65, 0, 254, 16, 2, 0, 26, 11],
  // memory.copy
  bulk_memory: [0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 5, 3, 1, 0, 1, 10, 14,
    1, 12, 0, 65, 0, 65, 0, 65, 0, 252, 10, 0, 0, 11],
  // a memory with 64-bit addresses
  memory64: [0, 97, 115, 109, 1, 0, 0, 0, 5, 3, 1, 4, 1],
};

/** The WebAssembly features this browser accepts, by name. */
export function wasmFeatures() {
  const probes = Object.entries(MODULES);
  return Object.fromEntries(
    probes.map(([name, bytes]) => [name, WebAssembly.validate(Uint8Array.from(bytes))]),
  );
}

/** Name and full version of the browser, such as "Chromium 140.0.7339.80". */
async function browserVersion() {
  const data = navigator.userAgentData;
  if (data === undefined) return navigator.userAgent;
  const { fullVersionList = [] } = await data.getHighEntropyValues(["fullVersionList"]);
  const known = fullVersionList.find(({ brand }) => brand === "Chromium");
  return known ? `${known.brand} ${known.version}` : navigator.userAgent;
}

/** Rendering engine by the browser's own description. */
function engineName() {
  const agent = navigator.userAgent;
  if (/Chrom(e|ium)\//.test(agent)) return "Blink, V8";
  if (/Firefox\//.test(agent)) return "Gecko, SpiderMonkey";
  return /AppleWebKit\//.test(agent) ? "WebKit, JavaScriptCore" : "unknown";
}

/** The environment as the report states it. */
export async function environment() {
  return {
    browser: await browserVersion(),
    engine: engineName(),
    user_agent: navigator.userAgent,
    cross_origin_isolated: globalThis.crossOriginIsolated === true,
    shared_array_buffer: typeof SharedArrayBuffer !== "undefined",
    dedicated_worker: typeof WorkerGlobalScope !== "undefined",
    wasm_features: wasmFeatures(),
    hardware_concurrency: navigator.hardwareConcurrency ?? null,
  };
}
