//! Products in ascending order: a tile of rows x tokens at once.
//!
//! Each output keeps its own single ascending chain, so the bits are those of the plain form, and
//! the independent chains fill the vector or the scalar units. A weight row is decoded once and
//! then used by every token.

use super::matmul::Rows;
use crate::bytes::reserve;
use crate::error::Result;
use crate::quant::Matrix;

/// Weight rows of a panel. Native code holds them in vector registers; a WebAssembly engine has
/// scalar chains only, and more than eight of them spill.
const ROWS: usize = if cfg!(target_arch = "wasm32") { 2 } else { 8 };

/// Tokens of a full tile.
const TOKENS: usize = 4;

/// Buffers of a product; kept, so that running allocates nothing.
#[derive(Default)]
pub struct Tiles {
    tiles: Vec<f32>,
    panel: Vec<f32>,
    row: Vec<f32>,
}

impl Tiles {
    /// Make room for inputs of `tokens` rows and `cols` columns.
    pub fn fit(&mut self, tokens: usize, cols: usize) -> Result<()> {
        reserve(&mut self.tiles, tokens.saturating_mul(cols))?;
        reserve(&mut self.panel, cols.saturating_mul(ROWS))?;
        reserve(&mut self.row, cols)
    }
}

/// `y[t][r] = sum over c of x[t][c] * w[r][c]`; row t of `y` begins at `t * y_stride`.
pub fn product(x: Rows<'_>, w: &Matrix<'_>, y: &mut [f32], y_stride: usize, buffers: &mut Tiles) {
    let Tiles { tiles, panel, row } = buffers;
    pack_tiles(x, tiles);
    row.resize(x.cols, 0.0);
    let mut r = 0;
    while r + ROWS <= w.rows() {
        pack_panel::<ROWS>(w, r, row, panel);
        multiply_panel::<ROWS>(x.rows, x.cols, tiles, panel, y, y_stride, r);
        r += ROWS;
    }
    while r < w.rows() {
        pack_panel::<1>(w, r, row, panel);
        multiply_panel::<1>(x.rows, x.cols, tiles, panel, y, y_stride, r);
        r += 1;
    }
}

/// Interleave the tokens: full tiles as `[c][TOKENS]`, the tokens left over as plain rows.
fn pack_tiles(x: Rows<'_>, tiles: &mut Vec<f32>) {
    tiles.clear();
    let full = x.rows / TOKENS * TOKENS;
    for first in (0..full).step_by(TOKENS) {
        let rows: [&[f32]; TOKENS] =
            [x.row(first), x.row(first + 1), x.row(first + 2), x.row(first + 3)];
        for c in 0..x.cols {
            tiles.extend(rows.iter().map(|row| row[c]));
        }
    }
    for t in full..x.rows {
        tiles.extend_from_slice(x.row(t));
    }
}

/// Decode rows `first..first + R` and interleave them as `[c][R]`.
fn pack_panel<const R: usize>(w: &Matrix<'_>, first: usize, row: &mut [f32], panel: &mut Vec<f32>) {
    panel.resize(row.len() * R, 0.0);
    for r in 0..R {
        w.decode_row(first + r, row);
        for (slot, &value) in panel.chunks_exact_mut(R).zip(row.iter()) {
            slot[r] = value;
        }
    }
}

/// All tokens against one panel.
fn multiply_panel<const R: usize>(
    tokens: usize,
    cols: usize,
    tiles: &[f32],
    panel: &[f32],
    y: &mut [f32],
    y_stride: usize,
    first_row: usize,
) {
    let full = tokens / TOKENS * TOKENS;
    let (tiles, rest) = tiles.split_at(full * cols);
    for (i, tile) in tiles.chunks_exact(TOKENS * cols).enumerate() {
        let sums = multiply_tile::<TOKENS, R>(tile, panel);
        store(&sums, y, y_stride, i * TOKENS, first_row);
    }
    for (i, tile) in rest.chunks_exact(cols).enumerate() {
        let sums = multiply_tile::<1, R>(tile, panel);
        store(&sums, y, y_stride, full + i, first_row);
    }
}

/// T x R sums, each one chain over ascending columns.
#[inline(always)]
fn multiply_tile<const T: usize, const R: usize>(tile: &[f32], panel: &[f32]) -> [[f32; R]; T] {
    let mut sums = [[0.0f32; R]; T];
    for (x, w) in tile.chunks_exact(T).zip(panel.chunks_exact(R)) {
        for t in 0..T {
            for r in 0..R {
                sums[t][r] += x[t] * w[r];
            }
        }
    }
    sums
}

#[inline(always)]
fn store<const T: usize, const R: usize>(
    sums: &[[f32; R]; T],
    y: &mut [f32],
    y_stride: usize,
    first_token: usize,
    first_row: usize,
) {
    for (t, sums) in sums.iter().enumerate() {
        let start = (first_token + t) * y_stride + first_row;
        y[start..start + R].copy_from_slice(sums);
    }
}
