//! CRC-32 as in zlib, carried on byte by byte: the hash of the token index.

const TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut value = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            value = value >> 1 ^ (0xedb8_8320 & (value & 1).wrapping_neg());
            bit += 1;
        }
        table[byte] = value;
        byte += 1;
    }
    table
}

/// A sum under way.
#[derive(Clone, Copy)]
pub struct Crc(u32);

impl Crc {
    /// The sum of nothing.
    pub fn new() -> Crc {
        Crc(u32::MAX)
    }

    /// One byte more.
    #[inline]
    pub fn with(self, byte: u8) -> Crc {
        Crc(TABLE[usize::from(self.0 as u8 ^ byte)] ^ self.0 >> 8)
    }

    /// The sum so far.
    #[inline]
    pub fn value(self) -> u32 {
        !self.0
    }

    /// The sum of some bytes.
    pub fn of(bytes: &[u8]) -> u32 {
        bytes.iter().fold(Crc::new(), |crc, &byte| crc.with(byte)).value()
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_check_value_of_the_standard() {
        assert_eq!(super::Crc::of(b"123456789"), 0xcbf4_3926);
        assert_eq!(super::Crc::of(b""), 0);
    }
}
