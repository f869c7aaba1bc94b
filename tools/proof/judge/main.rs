//! Judge a pinned elementary function on a range of float32 bit patterns.
//!
//! `judge FUNCTION START COUNT [--results]`, the tables of `tables.py` on standard input and behind
//! them, with `--results`, the bits that another engine computed; else the runtime's own source is
//! run. One JSON object goes to standard output: counts, the worst inputs, and the inputs that only
//! more digits can decide. Why the bound holds stands in docs/elementary-proof.md.
//!
//! `judge FUNCTION --truth` reads patterns behind the tables and writes the float64 that it takes
//! for the true value of each, NaN where it knows none.

mod candidate;
#[allow(dead_code)]
#[path = "../../../kernels_ref/src/ops/elementary.rs"]
mod elementary;
mod tables;
mod truth;
mod verdict;

use std::io::{self, Read, Write};
use std::process::ExitCode;

use candidate::Candidate;
use tables::Tables;
use truth::Truth;
use verdict::Tally;

/// Patterns that are computed before they are judged: the loop over them has no other work.
const BLOCK: usize = 1024;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.as_slice() {
        [function, flag] if flag == "--truth" => show_truth(function),
        _ => run(&arguments).map(|json| println!("{}", json)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("judge: {}", reason);
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &[String]) -> Result<String, String> {
    let (function, start, count, given) = match arguments {
        [function, start, count] => (function, start, count, false),
        [function, start, count, flag] if flag == "--results" => (function, start, count, true),
        _ => return Err("usage: judge FUNCTION START COUNT [--results]".into()),
    };
    let (start, count): (u64, u64) = (number(start)?, number(count)?);
    if count == 0 || start.checked_add(count).map_or(true, |end| end > 1 << 32) {
        return Err("the patterns are 0 to 2^32".into());
    }
    let mut input = io::stdin().lock();
    let tables = Tables::read(&mut input)?;
    let truth = truth::of_name(function)?;
    let candidate = if given { None } else { Some(Candidate::of_name(function)?) };
    let mut tally = Tally::default();
    let mut results = [0.0f32; BLOCK];
    for first in (start..start + count).step_by(BLOCK) {
        let size = BLOCK.min((start + count - first) as usize);
        let block = &mut results[..size];
        match &candidate {
            Some(one) => one.fill(first as u32, block),
            None => read_bits(&mut input, block)?,
        }
        for (i, &got) in block.iter().enumerate() {
            let bits = first as u32 + i as u32;
            tally.add(bits, got, truth(&tables, f32::from_bits(bits)));
        }
    }
    Ok(tally.json(function, start, count))
}

fn show_truth(function: &str) -> Result<(), String> {
    let mut input = io::stdin().lock();
    let tables = Tables::read(&mut input)?;
    let truth = truth::of_name(function)?;
    let (mut patterns, mut answers) = (Vec::new(), Vec::new());
    input.read_to_end(&mut patterns).map_err(|error| error.to_string())?;
    for bits in patterns.chunks_exact(4) {
        let x = f32::from_le_bytes([bits[0], bits[1], bits[2], bits[3]]);
        let value = match truth(&tables, x) {
            Truth::Near(value) => value,
            Truth::Undefined | Truth::Unknown => f64::NAN,
        };
        answers.extend_from_slice(&value.to_le_bytes());
    }
    io::stdout().lock().write_all(&answers).map_err(|error| error.to_string())
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{} is no number", text))
}

fn read_bits(input: &mut impl Read, block: &mut [f32]) -> Result<(), String> {
    let mut bytes = [0u8; 4 * BLOCK];
    let wanted = &mut bytes[..4 * block.len()];
    input.read_exact(wanted).map_err(|error| format!("results: {}", error))?;
    for (value, bits) in block.iter_mut().zip(wanted.chunks_exact(4)) {
        *value = f32::from_le_bytes([bits[0], bits[1], bits[2], bits[3]]);
    }
    Ok(())
}
