//! Sets of Unicode scalars: ASCII as bits, large sets with a bit for each of the first 65,536.

/// First and last scalar of a range.
pub type Range = (u32, u32);

/// Words of the table, and the fewest ranges beyond ASCII that are worth one.
const WORDS: usize = 0x1_0000 / 64;
const MANY: usize = 4;

/// A set, made once.
pub struct ScalarSet {
    ascii: [u64; 2],
    table: Option<Box<[u64]>>,
    ranges: Vec<Range>,
}

impl ScalarSet {
    /// The set of these ranges, ascending and apart.
    pub fn new(ranges: Vec<Range>) -> ScalarSet {
        let ascii = [bits(&ranges, 0), bits(&ranges, 1)];
        let many = ranges.iter().filter(|range| range.1 >= 0x80).count() >= MANY;
        let table = many.then(|| table(&ranges));
        ScalarSet { ascii, table, ranges }
    }

    /// Whether an ASCII byte is in it.
    #[inline]
    pub fn has_ascii(&self, byte: u8) -> bool {
        self.ascii[usize::from(byte >> 6 & 1)] >> (byte & 63) & 1 != 0
    }

    /// Whether a scalar is in it.
    #[inline]
    pub fn has(&self, code: u32) -> bool {
        match &self.table {
            _ if code < 0x80 => self.has_ascii(code as u8),
            Some(words) if code < 0x1_0000 => words[code as usize / 64] >> (code % 64) & 1 != 0,
            _ => within(&self.ranges, code),
        }
    }

    /// Its ASCII members, one bit each.
    pub fn ascii(&self) -> u128 {
        u128::from(self.ascii[0]) | u128::from(self.ascii[1]) << 64
    }

    /// Whether it has members beyond ASCII.
    pub fn beyond_ascii(&self) -> bool {
        self.ranges.last().map_or(false, |range| range.1 >= 0x80)
    }

    /// Whether no scalar is in both.
    pub fn apart(&self, other: &ScalarSet) -> bool {
        let meets = |&(low, high): &Range| {
            let at = other.ranges.partition_point(|&(first, _)| first <= high);
            at > 0 && other.ranges[at - 1].1 >= low
        };
        !self.ranges.iter().any(meets)
    }
}

fn within(ranges: &[Range], code: u32) -> bool {
    let at = ranges.partition_point(|&(low, _)| low <= code);
    at > 0 && code <= ranges[at - 1].1
}

fn bits(ranges: &[Range], word: u32) -> u64 {
    let inside = (0..64).filter(|bit| within(ranges, 64 * word + bit));
    inside.fold(0, |sum, bit| sum | 1 << bit)
}

fn table(ranges: &[Range]) -> Box<[u64]> {
    let mut words = vec![0u64; WORDS];
    for &(low, high) in ranges {
        for code in low..=high.min(0xffff) {
            words[code as usize / 64] |= 1 << (code % 64);
        }
    }
    words.into_boxed_slice()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found() {
        let ranges = [(0x41, 0x5a), (0x7f, 0x90), (0xff00, 0x1_0010), (0x10_fff0, 0x10_ffff)];
        let set = ScalarSet::new(ranges.to_vec());
        for code in (0..0x11_0000).step_by(7).chain([0x41, 0x5a, 0x7f, 0x90, 0xffff, 0x1_0010]) {
            let inside = ranges.iter().any(|&(low, high)| low <= code && code <= high);
            assert_eq!(set.has(code), inside, "{:x}", code);
        }
    }

    #[test]
    fn sets_apart() {
        let letters = ScalarSet::new(vec![(0x41, 0x5a), (0x1_0000, 0x1_00ff)]);
        for (range, apart) in [((0x30, 0x39), true), ((0x5a, 0x5b), false)] {
            assert_eq!(letters.apart(&ScalarSet::new(vec![range])), apart);
        }
        for (range, apart) in [((0x1_0100, 0x1_0200), true), ((0x1_00ff, 0x1_0200), false)] {
            assert_eq!(letters.apart(&ScalarSet::new(vec![range])), apart);
        }
    }
}
