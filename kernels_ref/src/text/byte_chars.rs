//! The visible characters that byte-level tokenizers write bytes with.

/// Whether a byte is written with the scalar of its own number.
const fn shown(byte: u8) -> bool {
    matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff)
}

const CHARS: [u16; 256] = chars();

const fn chars() -> [u16; 256] {
    let mut chars = [0; 256];
    let mut next = 0x100;
    let mut byte = 0;
    while byte < 256 {
        if shown(byte as u8) {
            chars[byte] = byte as u16;
        } else {
            chars[byte] = next;
            next += 1;
        }
        byte += 1;
    }
    chars
}

/// The character of a byte.
#[inline]
pub fn visible(byte: u8) -> u32 {
    CHARS[usize::from(byte)].into()
}

/// The byte of a character.
pub fn byte_of(code: u32) -> Option<u8> {
    match code {
        0..=0xff => shown(code as u8).then_some(code as u8),
        _ => (0..=255).find(|&byte| visible(byte) == code),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_a_character_of_its_own() {
        for byte in 0..=255 {
            assert_eq!(byte_of(visible(byte)), Some(byte));
        }
        assert_eq!((visible(b' '), visible(0xad)), (0x120, 0x143));
        assert_eq!((byte_of(0x144), byte_of(0x20)), (None, None));
    }
}
