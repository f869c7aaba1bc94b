//! Recomputing the hashes that a container promises.

use super::pieces::{PIECE, PIECE_DESC};
use super::{numbers as n, Container};
use crate::error::{ensure, Code, Error, Result};
use crate::sha256::{digest, Sha256};

/// Verify `self_sha256`.
pub const SELF: u32 = 1;
/// Verify the pieces and the Merkle root.
pub const PIECES: u32 = 2;
/// Verify each tensor's truncated hash.
pub const TENSORS: u32 = 4;
/// Verify the shard's hash.
pub const SHARD: u32 = 8;

type Check = fn(&Container<'_>) -> Result<()>;

/// Recompute the hashes that the bits of `what` name.
pub fn verify(container: &Container<'_>, what: u32) -> Result<()> {
    ensure(what & !(SELF | PIECES | TENSORS | SHARD) == 0, || {
        Error::new(Code::Argument, "what", format!("{} has unknown bits", what))
    })?;
    let checks: [(u32, Check); 4] =
        [(SELF, self_hash), (PIECES, pieces), (TENSORS, tensors), (SHARD, shard)];
    checks.iter().filter(|(bit, _)| what & bit != 0).try_for_each(|(_, check)| check(container))
}

fn same(place: String, got: &[u8], promised: &[u8]) -> Result<()> {
    ensure(got == promised, || {
        let hex = |hash: &[u8]| hash.iter().map(|byte| format!("{:02x}", byte)).collect::<String>();
        Error::new(Code::Hash, place, format!("{}, the file promises {}", hex(got), hex(promised)))
    })
}

fn self_hash(container: &Container<'_>) -> Result<()> {
    let bytes = container.bytes;
    let got = digest(&[&bytes[..136], &[0; 72], &bytes[208..]]);
    same("self_sha256".into(), &got, &container.header.self_sha256)
}

fn pieces(container: &Container<'_>) -> Result<()> {
    let body = container.header.body.of(container.bytes, "body")?;
    let table = container.header.pieces.of(container.bytes, "piece table")?;
    let mut root = Root::default();
    for (i, (piece, row)) in
        body.chunks(PIECE as usize).zip(table.chunks_exact(PIECE_DESC)).enumerate()
    {
        same(format!("piece {}", i), &digest(&[piece]), &row[24..56])?;
        root.push(digest(&[&[0], piece]));
    }
    same("merkle_root".into(), &root.finish(), &container.header.merkle_root)
}

fn tensors(container: &Container<'_>) -> Result<()> {
    for i in 0..container.len() {
        let tensor = container.descriptor(i)?;
        if tensor.layout != n::LAYOUT_ALIAS {
            let [data, aux] = tensor.planes()?;
            let (data, aux) =
                (data.of(container.bytes, "data")?, aux.of(container.bytes, "scales")?);
            same(format!("tensor {}", i), &digest(&[data, aux])[..16], &tensor.sha256)?;
        }
    }
    Ok(())
}

fn shard(container: &Container<'_>) -> Result<()> {
    let mut hash = Sha256::default();
    hash.update(container.header.body.of(container.bytes, "body")?);
    let row = container.header.shards.of(container.bytes, "shard table")?;
    same("shard_sha256".into(), &hash.finish(), &row[20..52])
}

/// RFC 9162 tree over leaves that arrive one by one: complete subtrees wait, largest first.
#[derive(Default)]
struct Root {
    waiting: Vec<(u32, [u8; 32])>,
}

fn parent(left: &[u8; 32], right: &[u8; 32]) -> [u8; 32] {
    digest(&[&[1], left, right])
}

impl Root {
    fn push(&mut self, leaf: [u8; 32]) {
        let (mut height, mut hash) = (0, leaf);
        while let Some(&(h, left)) = self.waiting.last() {
            if h != height {
                break;
            }
            self.waiting.pop();
            hash = parent(&left, &hash);
            height += 1;
        }
        self.waiting.push((height, hash));
    }

    /// Joining from the smallest up splits each level at the largest power of two below n.
    fn finish(mut self) -> [u8; 32] {
        let mut hash = match self.waiting.pop() {
            Some((_, hash)) => hash,
            None => return digest(&[]),
        };
        while let Some((_, left)) = self.waiting.pop() {
            hash = parent(&left, &hash);
        }
        hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root_of(leaves: &[[u8; 32]]) -> [u8; 32] {
        let mut root = Root::default();
        leaves.iter().for_each(|&leaf| root.push(leaf));
        root.finish()
    }

    fn by_definition(leaves: &[[u8; 32]]) -> [u8; 32] {
        match leaves.len() {
            0 => digest(&[]),
            1 => leaves[0],
            n => {
                let (left, right) = leaves.split_at((n as u32).next_power_of_two() as usize / 2);
                parent(&by_definition(left), &by_definition(right))
            }
        }
    }

    #[test]
    fn the_running_root_is_the_recursive_one() {
        let leaves: Vec<[u8; 32]> = (0..19).map(|i| digest(&[&[i]])).collect();
        for n in 0..=leaves.len() {
            assert_eq!(root_of(&leaves[..n]), by_definition(&leaves[..n]), "{} leaves", n);
        }
    }
}
