//! BTOK and BPE1, the tokenizers of SLM1, from docs/formats/slm1-tokenizers.md.
//!
//! A sound one is written as the TOK2 block that it stands for, and that is opened like any other:
//! there is one reader, one way to encode and to decode, and a block whose bytes can be held
//! against those of another writer. Tables made beside TOK2 would be a second way to all of that.

mod bpe1;
mod btok;
mod compile;
mod hidden;

use super::tok2::section::Section;
use crate::bytes::u32_at;
use crate::error::{Code, Error, Result};

/// The ids BOS, EOS, PAD and UNK, in the order of both headers.
type Specials = [u32; 4];

/// Where the special ids stand in both headers.
const SPECIALS: usize = 12;

/// What a file of either kind says.
struct Source<'a> {
    specials: Specials,
    /// Bytes by ascending id.
    tokens: Vec<(u32, &'a [u8])>,
    /// Left, right and made, by rank.
    merges: Vec<[u32; 3]>,
}

/// The TOK2 block of a BTOK or BPE1; None where the bytes begin otherwise.
pub fn compiled(bytes: &[u8]) -> Result<Option<Vec<u8>>> {
    let source = match bytes.get(..4) {
        Some(b"BTOK") => btok::read(bytes)?,
        Some(b"BPE1") => bpe1::read(bytes)?,
        _ => return Ok(None),
    };
    compile::block(&source).map(Some)
}

/// Check a BTOK or BPE1, and nothing else; the size of its vocabulary.
pub fn vocabulary(bytes: &[u8]) -> Result<u32> {
    match bytes.get(..4) {
        Some(b"BTOK") => btok::read(bytes)?,
        Some(b"BPE1") => bpe1::read(bytes)?,
        _ => return Err(Error::new(Code::Bpe1, "byte 0", "neither BTOK nor BPE1")),
    };
    // A sound one is longer.
    Ok(u32_at(bytes, 8))
}

/// The special ids of a header: at least `least`, below `limit`, no two alike.
fn specials(section: &Section, least: u32, limit: u32) -> Result<Specials> {
    let mut ids = [0; 4];
    for i in 0..ids.len() {
        let id = section.u32(SPECIALS + 4 * i);
        let sound = (least..limit).contains(&id) && !ids[..i].contains(&id);
        section.ensure(sound, SPECIALS + 4 * i, "no special id of its own")?;
        ids[i] = id;
    }
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sha256;
    use crate::text::decode::Mode;
    use crate::text::state::{Request, State};
    use crate::text::Tokenizer;

    const BTOK: [u32; 7] = [u32::from_le_bytes(*b"BTOK"), 1, 260, 256, 257, 258, 259];

    fn little_endian(numbers: &[u32]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    /// Tokens a, b, c, ab, bc, abc with ids from 4 on; special ids 0 to 3.
    fn bpe1() -> Vec<u8> {
        let tokens = ["a", "b", "c", "ab", "bc", "abc"];
        let merges = [[5, 6, 8, 0], [4, 5, 7, 1], [4, 8, 9, 2]];
        let mut out = b"BPE1".to_vec();
        out.extend(little_endian(&[1, 10, 0, 1, 2, 3, tokens.len() as u32, merges.len() as u32]));
        for (token, id) in tokens.iter().zip(4..) {
            out.extend(little_endian(&[id, token.len() as u32]));
            out.extend(token.as_bytes());
        }
        merges.iter().for_each(|merge| out.extend(little_endian(merge)));
        out
    }

    /// Ids with BOS and EOS, and what they are decoded to.
    fn both_ways(bytes: &[u8], text: &str) -> (Vec<u32>, Vec<u8>) {
        let block = compiled(bytes).unwrap().unwrap();
        let tokenizer = Tokenizer::open(&block).unwrap();
        let mut state = State::default();
        let request = Request { text: text.as_bytes(), content: &[] };
        tokenizer.encode(&request, true, &mut state).unwrap();
        let decoded = tokenizer.decode(&state.ids, Mode::Raw).unwrap();
        (state.ids, decoded.bytes)
    }

    fn refusal(bytes: &[u8]) -> (Code, String) {
        let error = compiled(bytes).unwrap_err();
        (error.code, error.place)
    }

    #[test]
    fn bytes_with_bos_and_eos() {
        let (ids, bytes) = both_ways(&little_endian(&BTOK), "a\0\u{e9}");
        assert_eq!(ids, [256, 97, 0, 0xc3, 0xa9, 257]);
        assert_eq!(bytes, "a\0\u{e9}".as_bytes());
    }

    #[test]
    fn the_block_is_the_one_of_the_page() {
        let block = compiled(&little_endian(&BTOK)).unwrap().unwrap();
        let digest: String =
            sha256::digest(&[&block]).iter().map(|byte| format!("{:02x}", byte)).collect();
        assert_eq!(digest, "8417af80f2b1fb3d9ac7c2e1f39274d27d8396f8757d5b547ad0da1cbc598535");
    }

    #[test]
    fn merges_by_rank_and_unknown_bytes() {
        let (ids, bytes) = both_ways(&bpe1(), "abcxabb");
        assert_eq!(ids, [0, 9, 3, 7, 5, 1]);
        assert_eq!(bytes, b"abcabb");
    }

    #[test]
    fn every_field_of_a_btok_is_held() {
        for (field, number) in [(1, 2), (2, 261), (3, 255), (4, 256), (5, 260), (6, 258)] {
            let mut numbers = BTOK;
            numbers[field] = number;
            let place = format!("byte {}", 4 * field);
            assert_eq!(refusal(&little_endian(&numbers)), (Code::Btok, place));
        }
        assert_eq!(refusal(b"BTOK"), (Code::Btok, "byte 0".into()));
    }

    #[test]
    fn a_token_that_is_there_comes_before_a_fault_behind_it() {
        let mut bytes = bpe1();
        // The second token says "a" too, the third has no length.
        bytes[36 + 9 + 8] = b'a';
        bytes[36 + 18 + 4] = 0;
        assert_eq!(refusal(&bytes), (Code::Bpe1, "byte 53".into()));
        bytes[36 + 9 + 8] = b'b';
        assert_eq!(refusal(&bytes), (Code::Bpe1, "byte 58".into()));
    }

    #[test]
    fn no_changed_byte_makes_it_panic() {
        let sound = bpe1();
        for at in 4..sound.len() {
            for value in [0, 1, 4, 9, 0x7f, 0xff] {
                let mut bytes = sound.clone();
                bytes[at] = value;
                match compiled(&bytes) {
                    Ok(block) => assert!(Tokenizer::open(&block.unwrap()).is_ok(), "byte {}", at),
                    Err(error) => assert_eq!(error.code, Code::Bpe1),
                }
            }
            assert_eq!(refusal(&sound[..at]).0, Code::Bpe1);
        }
    }

    #[test]
    fn a_token_longer_than_tok2_holds() {
        let mut bytes = bpe1();
        let at = 36 + 9 + 9;
        let long = vec![b' '; 32_768];
        bytes[at + 4..at + 8].copy_from_slice(&(long.len() as u32).to_le_bytes());
        bytes.splice(at + 8..at + 9, long);
        // Nothing is made of it by a merge.
        bytes[32] = 0;
        bytes.truncate(bytes.len() - 48);
        assert_eq!(refusal(&bytes).0, Code::Tok2Compile);
    }
}
