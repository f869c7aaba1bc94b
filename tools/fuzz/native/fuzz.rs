//! Mutate `.slm` files in the runtime's own process: `fuzz SEEDS KEPT SECONDS SEED`.
//!
//! Built with debug assertions and overflow checks, or run under valgrind (see `native.py`). A panic,
//! an allocation beyond four times the file and 16 MiB while a file is opened and verified, and an
//! input that takes longer than ten seconds are failures: the input is kept, and the run goes on.
//! Prints one JSON document.

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeMap;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use trlm_ref::model::Model;
use trlm_ref::runtime::{Case, Runtime};
use trlm_ref::sha256::digest;
use trlm_ref::slm1::checksum;

/// Bytes in use and the most of them since the last reset.
struct Counting;

static USED: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let used = USED.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(used, Relaxed);
        System.alloc(layout)
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Relaxed);
        System.dealloc(pointer, layout)
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const EVERY_HASH: u32 = 15;
const SLACK: usize = 16 << 20;
const SLOWEST: Duration = Duration::from_secs(10);
const LONGEST: usize = 1 << 21;
const EDGES: [u64; 20] = [
    0, 1, 2, 7, 63, 64, 127, 128, 255, 256, 4095, 4096, 1 << 16, 1 << 20, (1 << 31) - 1, 1 << 31,
    (1 << 32) - 1, 1 << 32, 1 << 63, u64::MAX,
];

/// xorshift64*: numbers for mutations, nothing else.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, end: usize) -> usize {
        ((self.next() >> 11) as usize) % end.max(1)
    }
}

/// One to four edits; a changed length is often written into the header.
fn mutated(data: &[u8], other: &[u8], draw: &mut Draw) -> Vec<u8> {
    let mut out = data.to_vec();
    for _ in 0..1 + draw.below(4) {
        edit(&mut out, other, draw);
    }
    out.truncate(LONGEST);
    if out.starts_with(b"SLM2") && out.len() >= 136 && draw.below(4) > 0 {
        let length = (out.len() as u64).to_le_bytes();
        out[128..136].copy_from_slice(&length);
    }
    seal(out)
}

fn edit(out: &mut Vec<u8>, other: &[u8], draw: &mut Draw) {
    // The front matter of the larger files is a small part of them, and the more telling one.
    let reach = if draw.below(3) > 0 { out.len().min(6144) } else { out.len() };
    let at = draw.below(reach);
    let size = [1, 2, 4, 8][draw.below(4)];
    match draw.below(7) {
        0 if !out.is_empty() => out[at] ^= 1 << draw.below(8),
        1 if !out.is_empty() => out[at] = draw.next() as u8,
        2 | 3 if at + size <= out.len() => {
            let old = out[at..at + size].iter().rev().fold(0, |n, &byte| n << 8 | u64::from(byte));
            let steps = [1u64, 2, 16, 64, 4096].map(|step| [old.wrapping_add(step), old.wrapping_sub(step)]);
            let word = match draw.below(2) {
                0 => EDGES[draw.below(EDGES.len())],
                _ => steps[draw.below(5)][draw.below(2)],
            };
            out[at..at + size].copy_from_slice(&word.to_le_bytes()[..size]);
        }
        4 => {
            let end = (at + 1 + draw.below(64)).min(out.len());
            out.drain(at.min(end)..end);
        }
        5 => {
            let from = draw.below(other.len());
            let part = &other[from..(from + 1 + draw.below(128)).min(other.len())];
            let end = (at + part.len()).min(out.len());
            out.splice(at..end, part.iter().copied());
        }
        _ => {
            let end = (at + 64).min(out.len());
            let part = out[at.min(end)..end].to_vec();
            out.splice(at..at, part);
        }
    }
}

/// SLM1's checksum is looked at before stored values are; SLM2 has no hash that opening minds.
fn seal(mut out: Vec<u8>) -> Vec<u8> {
    if out.starts_with(b"SLM1") && out.len() >= 108 && out.len() % 4 == 0 {
        let sum = checksum::of(&out).to_le_bytes();
        out[100..108].copy_from_slice(&sum);
    }
    out
}

/// What the runtime says: the name of an error, or `run` after a short case.
fn attempt(data: &[u8]) -> Result<String, String> {
    let before = USED.load(Relaxed);
    PEAK.store(before, Relaxed);
    let opened = Model::open(data);
    let held = opened.as_ref().map(|model| model.file.verify(EVERY_HASH));
    let most = PEAK.load(Relaxed) - before;
    if most > 4 * data.len() + SLACK {
        return Err(format!("{} bytes for a file of {}", most, data.len()));
    }
    drop(held);
    let model = match opened {
        Ok(model) => model,
        Err(error) => return Ok(error.code.name().into()),
    };
    if model.config.vocab < 2 {
        return Ok("run".into());
    }
    let mut runtime = Runtime::new(model);
    let case = Case { tokens: &[1, 0], positions: None, mask: None, flags: 0 };
    match runtime.begin(&case) {
        Ok(()) => while let Ok(true) = runtime.step() {},
        Err(error) => return Ok(format!("case: {}", error.code.name())),
    }
    Ok("run".into())
}

fn keep(kept: &Path, data: &[u8]) {
    let name: String = digest(&[data])[..8].iter().map(|byte| format!("{:02x}", byte)).collect();
    std::fs::create_dir_all(kept).expect("the folder of failures");
    std::fs::write(kept.join(name), data).expect("a failing input");
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let kept = PathBuf::from(&arguments[2]);
    let limit = Duration::from_secs_f64(arguments[3].parse().expect("seconds"));
    let mut draw = Draw(arguments[4].parse::<u64>().expect("a seed").wrapping_mul(2) | 1);
    let mut paths: Vec<_> =
        std::fs::read_dir(&arguments[1]).expect("seeds").map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut pool: Vec<Vec<u8>> = paths.iter().map(|path| std::fs::read(path).unwrap()).collect();
    let seeds = pool.len();
    std::panic::set_hook(Box::new(|_| ()));
    let (mut seen, mut inputs, mut failures) = (BTreeMap::new(), 0u64, 0u64);
    let (started, mut slowest) = (Instant::now(), Duration::ZERO);
    while started.elapsed() < limit {
        let (one, other) = (draw.below(pool.len()), draw.below(pool.len()));
        let data = mutated(&pool[one], &pool[other], &mut draw);
        let at = Instant::now();
        inputs += 1;
        let said = match catch_unwind(AssertUnwindSafe(|| attempt(&data))) {
            Ok(said) => said,
            Err(_) => Err("a panic".into()),
        };
        let took = at.elapsed();
        slowest = slowest.max(took);
        let said = if took > SLOWEST { Err(format!("{:?}", took)) } else { said };
        match said {
            Ok(name) => {
                if name == "run" && data.len() < 1 << 16 {
                    // What loads is mutated again; the youngest make room.
                    if pool.len() > seeds + 500 {
                        pool.swap_remove(seeds + draw.below(pool.len() - seeds));
                    }
                    pool.push(data);
                }
                *seen.entry(name).or_insert(0u64) += 1;
            }
            Err(what) => {
                failures += 1;
                eprintln!("FAILURE {}", what);
                keep(&kept, &data);
            }
        }
    }
    let rows: Vec<String> = seen.iter().map(|(name, count)| format!("\"{}\": {}", name, count)).collect();
    println!(
        "{{\"inputs\": {}, \"failures\": {}, \"seconds\": {:.0}, \"slowest_ms\": {:.1}, \"said\": {{{}}}}}",
        inputs,
        failures,
        started.elapsed().as_secs_f64(),
        slowest.as_secs_f64() * 1000.0,
        rows.join(", ")
    );
}
