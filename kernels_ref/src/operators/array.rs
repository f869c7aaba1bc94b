//! Operands of an operator: owned values of a known type, and the shape they are checked against.

use crate::bytes::reserve;
use crate::error::{ensure, Code, Error, Result};

/// Largest rank of an operand.
pub const MAX_RANK: usize = 3;

/// Element types by their number in the ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 1: f32.
    F32,
    /// 2: the 16 bits of a binary16.
    F16,
    /// 3: u32.
    U32,
    /// 4: u8; masks hold 0 and 1.
    U8,
    /// 5: i8.
    I8,
}

impl Kind {
    /// The type of a number.
    pub fn from_number(number: usize, place: &str) -> Result<Kind> {
        match number {
            1 => Ok(Kind::F32),
            2 => Ok(Kind::F16),
            3 => Ok(Kind::U32),
            4 => Ok(Kind::U8),
            5 => Ok(Kind::I8),
            _ => Err(Error::new(Code::Argument, place, format!("no element type {}", number))),
        }
    }

    /// Bytes of an element.
    pub fn size(self) -> usize {
        match self {
            Kind::F32 | Kind::U32 => 4,
            Kind::F16 => 2,
            Kind::U8 | Kind::I8 => 1,
        }
    }
}

/// An operand: little-endian elements in C order.
#[derive(Clone, Debug)]
pub struct Array {
    /// Element type.
    pub kind: Kind,
    /// Lengths of the axes; none for a scalar.
    pub shape: Vec<usize>,
    /// Product of the lengths, times the element's size.
    pub bytes: Vec<u8>,
}

/// Number of elements of a shape whose bytes an address space can hold.
pub fn elements(kind: Kind, shape: &[usize], place: &str) -> Result<usize> {
    let count = shape.iter().try_fold(1usize, |all, &length| all.checked_mul(length));
    let bytes = count.and_then(|count| count.checked_mul(kind.size()));
    match (count, bytes) {
        (Some(count), Some(bytes)) if count > 0 && bytes <= isize::MAX as usize => Ok(count),
        _ => Err(Error::new(Code::Argument, place, format!("the shape {:?}", shape))),
    }
}

fn decoded<T, const N: usize>(bytes: &[u8], read: impl Fn([u8; N]) -> T) -> Result<Vec<T>> {
    let mut values = Vec::new();
    reserve(&mut values, bytes.len() / N)?;
    values.extend(bytes.chunks_exact(N).map(|raw| {
        let mut word = [0; N];
        word.copy_from_slice(raw);
        read(word)
    }));
    Ok(values)
}

impl Array {
    /// Refuse another type or another shape; `what` names the operand.
    pub fn expect(&self, kind: Kind, shape: &[usize], what: &str) -> Result<()> {
        ensure(self.kind == kind && self.shape == shape, || {
            let got = format!("{:?} {:?}", self.kind, self.shape);
            Error::new(Code::Argument, what, format!("{}, needed is {:?} {:?}", got, kind, shape))
        })
    }

    /// The axes of a float operand of rank `N`.
    pub fn axes<const N: usize>(&self, what: &str) -> Result<[usize; N]> {
        ensure(self.shape.len() == N, || {
            Error::new(Code::Argument, what, format!("rank {}, needed is {}", self.shape.len(), N))
        })?;
        let mut axes = [0; N];
        axes.copy_from_slice(&self.shape);
        Ok(axes)
    }

    /// The values of an f32 operand of this shape.
    pub fn f32s(&self, shape: &[usize], what: &str) -> Result<Vec<f32>> {
        self.expect(Kind::F32, shape, what)?;
        decoded(&self.bytes, f32::from_le_bytes)
    }

    /// The values of a u32 operand of this shape.
    pub fn u32s(&self, shape: &[usize], what: &str) -> Result<Vec<u32>> {
        self.expect(Kind::U32, shape, what)?;
        decoded(&self.bytes, u32::from_le_bytes)
    }

    /// A mask of this shape: u8, 0 or 1.
    pub fn mask(&self, shape: &[usize], what: &str) -> Result<Vec<bool>> {
        self.expect(Kind::U8, shape, what)?;
        ensure(self.bytes.iter().all(|&byte| byte <= 1), || {
            Error::new(Code::Argument, what, "a byte is neither 0 nor 1")
        })?;
        decoded(&self.bytes, |[byte]: [u8; 1]| byte == 1)
    }

    /// A scalar of type f32.
    pub fn number(&self, what: &str) -> Result<f32> {
        Ok(self.f32s(&[], what)?[0])
    }

    /// Overwrite the values; their number is known to fit.
    pub fn store<T: Copy, const N: usize>(&mut self, values: &[T], write: impl Fn(T) -> [u8; N]) {
        for (raw, &value) in self.bytes.chunks_exact_mut(N).zip(values) {
            raw.copy_from_slice(&write(value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_checked_before_anything_is_made() {
        assert_eq!(elements(Kind::F32, &[2, 3], "x").unwrap(), 6);
        assert_eq!(elements(Kind::U8, &[], "x").unwrap(), 1);
        for shape in [vec![0], vec![usize::MAX, 2], vec![usize::MAX / 2]] {
            assert_eq!(elements(Kind::F32, &shape, "x").unwrap_err().code, Code::Argument);
        }
    }

    #[test]
    fn types_and_shapes_are_refused_by_name() {
        let array = Array { kind: Kind::U8, shape: vec![2], bytes: vec![1, 2] };
        assert_eq!(array.mask(&[2], "mask").unwrap_err().place, "mask");
        assert!(array.f32s(&[2], "x").is_err());
        assert!(array.axes::<2>("x").is_err());
    }
}
