//! One tensor descriptor of 128 bytes, and the rules that it must satisfy alone.

use super::header::Header;
use super::numbers as n;
use super::pieces::PIECE;
use crate::bytes::{all_zero, u16_at, u32_at, u64_at, Span};
use crate::error::{ensure, Code, Error, Result};
use crate::quant::grouped::Form;
use crate::quant::scales::Encoding;

/// Bytes of a descriptor.
pub const SIZE: usize = 128;

/// `alias_of` of a tensor that aliases nothing.
pub const NO_ALIAS: u32 = 0xffff_ffff;

/// The fields, undigested; offsets are absolute.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    pub name_id: u32,
    pub role: u16,
    pub dtype: u16,
    pub layout: u16,
    pub scale_encoding: u16,
    pub flags: u32,
    pub rank: u8,
    pub dim_count: u8,
    pub dims: [u32; 6],
    pub logical_nbytes: u64,
    pub data_off: u64,
    pub data_len: u64,
    pub aux_off: u64,
    pub aux_len: u32,
    pub alias_of: u32,
    pub first_piece: u32,
    pub piece_count: u32,
    pub sha256: [u8; 16],
    pub row_stride: u32,
}

/// Sizes that dimensions and dtype ask for.
pub(super) struct Sizes {
    pub row_stride: u64,
    pub data_len: u64,
    pub aux_len: u64,
}

fn err(code: Code, name: &str, got: impl std::fmt::Display, rule: impl std::fmt::Display) -> Error {
    Error::new(code, name, format!("{}, expected {}", got, rule))
}

fn same(code: Code, name: &str, got: u64, expected: u64) -> Result<()> {
    ensure(got == expected, || err(code, name, got, expected))
}

impl Descriptor {
    /// Decode `SIZE` bytes.
    pub fn decode(raw: &[u8]) -> Descriptor {
        let mut dims = [0; 6];
        for (i, dim) in dims.iter_mut().enumerate() {
            *dim = u32_at(raw, 20 + 4 * i);
        }
        let mut sha256 = [0; 16];
        sha256.copy_from_slice(&raw[96..112]);
        Descriptor {
            name_id: u32_at(raw, 0),
            role: u16_at(raw, 4),
            dtype: u16_at(raw, 6),
            layout: u16_at(raw, 8),
            scale_encoding: u16_at(raw, 10),
            flags: u32_at(raw, 12),
            rank: raw[16],
            dim_count: raw[17],
            dims,
            logical_nbytes: u64_at(raw, 48),
            data_off: u64_at(raw, 56),
            data_len: u64_at(raw, 64),
            aux_off: u64_at(raw, 72),
            aux_len: u32_at(raw, 80),
            alias_of: u32_at(raw, 84),
            first_piece: u32_at(raw, 88),
            piece_count: u32_at(raw, 92),
            sha256,
            row_stride: u32_at(raw, 112),
        }
    }

    /// The used dimensions.
    pub fn shape(&self) -> &[u32] {
        self.dims.get(..usize::from(self.rank)).unwrap_or(&self.dims)
    }

    /// Rows (the product of the leading dimensions) and columns.
    pub fn matrix_shape(&self) -> Option<(u64, u64)> {
        let (last, leading) = self.shape().split_last()?;
        let rows = leading.iter().try_fold(1u64, |all, &dim| all.checked_mul(dim.into()))?;
        Some((rows, u64::from(*last)))
    }

    /// Data and scales as spans.
    pub fn planes(&self) -> Result<[Span; 2]> {
        Ok([
            Span::new("data_off", self.data_off, self.data_len)?,
            Span::new("aux_off", self.aux_off, self.aux_len.into())?,
        ])
    }

    /// Everything that needs no other descriptor; `raw` are the descriptor's bytes.
    pub fn check(&self, raw: &[u8], header: &Header) -> Result<()> {
        for (start, end) in [(18, 20), (44, 48), (116, 128)] {
            all_zero(&raw[start..end], "reserved", start as u64)?;
        }
        self.check_numbers()?;
        self.check_dims()?;
        match self.layout {
            n::LAYOUT_ALIAS => self.check_alias(),
            // The header of a residual lies in the body: see `residual`.
            n::LAYOUT_RESIDUAL => Ok(()),
            _ => self.check_dense(header),
        }
    }

    fn check_numbers(&self) -> Result<()> {
        let known = [
            ("role", self.role, n::ROLES.len() as u16 - 1, 0),
            ("dtype", self.dtype, n::DTYPE_LAST, 1),
            ("layout", self.layout, n::LAYOUT_LAST, 0),
            ("scale_encoding", self.scale_encoding, n::SCALE_LAST, 0),
        ];
        for (name, number, last, first) in known {
            ensure((first..=last).contains(&number), || {
                err(Code::UnknownNumber, name, number, format!("{} to {}", first, last))
            })?;
        }
        let flags = n::FLAG_TIED | n::FLAG_OPTIONAL | n::FLAG_COMPRESSED;
        ensure(self.flags & !flags == 0, || err(Code::Flags, "flags", self.flags, "known bits"))?;
        let computed = [
            ("flags", self.flags & n::FLAG_COMPRESSED == 0),
            ("layout", self.layout <= n::LAYOUT_RESIDUAL),
        ];
        for (name, ok) in computed {
            ensure(ok, || err(Code::Unsupported, name, "reserved", "what 2.0 reads"))?;
        }
        Ok(())
    }

    fn check_dims(&self) -> Result<()> {
        ensure((1..=6).contains(&self.rank), || err(Code::Tensor, "rank", self.rank, "1 to 6"))?;
        same(Code::Tensor, "dim_count", self.dim_count.into(), self.rank.into())?;
        let (used, unused) = self.dims.split_at(self.rank.into());
        ensure(!used.contains(&0), || err(Code::Tensor, "dims", 0, "a used dimension above 0"))?;
        ensure(unused.iter().all(|&dim| dim == 0), || {
            err(Code::Tensor, "dims", "a nonzero unused dimension", 0)
        })
    }

    fn check_alias(&self) -> Result<()> {
        let zeros = [
            ("data_off", self.data_off),
            ("data_len", self.data_len),
            ("aux_off", self.aux_off),
            ("aux_len", self.aux_len.into()),
            ("row_stride", self.row_stride.into()),
            ("scale_encoding", self.scale_encoding.into()),
            ("first_piece", self.first_piece.into()),
            ("piece_count", self.piece_count.into()),
        ];
        for (name, got) in zeros {
            same(Code::Alias, name, got, 0)?;
        }
        Ok(())
    }

    fn sizes(&self) -> Option<Sizes> {
        let (rows, cols) = self.matrix_shape()?;
        let (stride, scales) = match self.grouped() {
            Some((form, encoding)) => {
                (form.row_bytes(cols), form.row_groups(cols) * encoding.size() as u64)
            }
            None if self.dtype == n::DTYPE_F32 => (cols * 4, 0),
            None => (cols * 2, 0),
        };
        Some(Sizes {
            row_stride: stride,
            data_len: rows.checked_mul(stride)?,
            aux_len: rows.checked_mul(scales)?,
        })
    }

    /// Format and scale encoding of a grouped tensor.
    pub fn grouped(&self) -> Option<(Form, Encoding)> {
        Some((Form::from_number(self.dtype)?, Encoding::from_number(self.scale_encoding)?))
    }

    fn check_dense(&self, header: &Header) -> Result<()> {
        let scaled = Form::from_number(self.dtype).is_some();
        ensure((self.scale_encoding != n::SCALE_NONE) == scaled, || {
            err(Code::Tensor, "scale_encoding", self.scale_encoding, "scales of a grouped dtype")
        })?;
        same(Code::Alias, "alias_of", self.alias_of.into(), NO_ALIAS.into())?;
        let sizes = self
            .sizes()
            .ok_or_else(|| err(Code::Tensor, "dims", "their product overflows", "64 bits"))?;
        self.check_payload(header, &sizes)
    }

    /// Lengths, places and pieces of a stored tensor.
    pub(super) fn check_payload(&self, header: &Header, sizes: &Sizes) -> Result<()> {
        same(Code::Length, "row_stride", self.row_stride.into(), sizes.row_stride)?;
        same(Code::Length, "data_len", self.data_len, sizes.data_len)?;
        same(Code::Length, "logical_nbytes", self.logical_nbytes, self.data_len)?;
        same(Code::Length, "aux_len", self.aux_len.into(), sizes.aux_len)?;
        if self.aux_len == 0 {
            same(Code::Tensor, "aux_off", self.aux_off, 0)?;
        }
        let data = inside(self.data_off, self.data_len, "data_off", header.body)?;
        let mut end = data.end();
        if self.aux_len > 0 {
            end = inside(self.aux_off, self.aux_len.into(), "aux_off", header.body)?.end();
        }
        // Scales that stand before their data are out of order: the walk over the body says so.
        let first = (data.start - header.body.start) / PIECE;
        let last = (end - header.body.start - 1) / PIECE;
        let count = (last + 1).wrapping_sub(first);
        same(Code::Tensor, "first_piece", self.first_piece.into(), first)?;
        same(Code::Tensor, "piece_count", self.piece_count.into(), count)
    }
}

/// The range of a payload, which lies in the body and is aligned.
pub(super) fn inside(start: u64, len: u64, name: &str, body: Span) -> Result<Span> {
    let span = Span::new(name, start, len)?;
    ensure(span.start >= body.start && span.end() <= body.end(), || {
        let got = format!("{}..{}", span.start, span.end());
        err(Code::Range, name, got, format!("{}..{}", body.start, body.end()))
    })?;
    span.aligned(name, 64)?;
    Ok(span)
}
