//! `trlm-ref golden verify|reserialize DIR`: the golden container, read without Python.
//!
//! `verify` prints one JSON document; `reserialize` the bytes of the document, encoded again.
//! Exit status: 0 accepted, 2 wrong usage, 3 refused, 4 the answer could not be written.

#![deny(missing_docs)]
#![forbid(unsafe_code)]

#[path = "../golden.rs"]
mod golden;
// The command needs less of it than the library.
#[allow(dead_code)]
#[path = "../sha256.rs"]
mod sha256;

use std::io::Write;
use std::path::Path;

const USAGE: &str = "usage: trlm-ref golden verify|reserialize DIR";

fn main() {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let words: Vec<_> = arguments.iter().map(|word| word.to_str().unwrap_or("")).collect();
    let (status, answer) = match (words.as_slice(), arguments.last()) {
        (["golden", "verify", _], Some(root)) => verify(Path::new(root)),
        (["golden", "reserialize", _], Some(root)) => reserialize(Path::new(root)),
        _ => {
            eprintln!("{}", USAGE);
            (2, Vec::new())
        }
    };
    let mut out = std::io::stdout();
    let written = out.write_all(&answer).and_then(|()| out.flush());
    std::process::exit(if written.is_ok() { status } else { 4 });
}

fn verify(root: &Path) -> (i32, Vec<u8>) {
    let report = golden::verify(root);
    (if report.accepted() { 0 } else { 3 }, format!("{}\n", report.json()).into_bytes())
}

fn reserialize(root: &Path) -> (i32, Vec<u8>) {
    match golden::reserialize(root) {
        Ok(bytes) => (0, bytes),
        Err(finding) => {
            eprintln!("{}", finding.json());
            (3, Vec::new())
        }
    }
}
