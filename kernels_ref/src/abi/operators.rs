//! Single operators on arrays of the host.

use super::errors::status;
use super::{copied, null};
use crate::error::{ensure, Code, Error, Result};
use crate::operators::{
    self,
    array::{elements, Array, Kind, MAX_RANK},
};

/// Words of an operand's descriptor: element type, address, rank, three axes.
const DESCRIPTOR: usize = 3 + MAX_RANK;

/// Run one operator on arrays of the host.
///
/// # Safety
/// Each address covers the elements that its descriptor names; see the module.
#[no_mangle]
pub unsafe extern "C" fn trlm_op(
    name: *const u8,
    name_len: usize,
    inputs: *const usize,
    input_count: usize,
    outputs: *const usize,
    output_count: usize,
) -> i32 {
    status(operator((name, name_len), (inputs, input_count), (outputs, output_count)).map(|()| 0))
}

unsafe fn operator(
    name: (*const u8, usize),
    inputs: (*const usize, usize),
    outputs: (*const usize, usize),
) -> Result<()> {
    let name = copied(name.0, name.1)?.ok_or_else(|| null("name"))?;
    let name = String::from_utf8_lossy(&name);
    let inputs = operands(inputs, "inputs")?;
    let inputs: Vec<Array> = inputs.into_iter().map(|(array, _)| array).collect();
    let (mut answers, addresses): (Vec<Array>, Vec<*mut u8>) =
        operands(outputs, "outputs")?.into_iter().unzip();
    operators::run(&name, &inputs, &mut answers)?;
    for (answer, address) in answers.iter().zip(addresses) {
        std::ptr::copy_nonoverlapping(answer.bytes.as_ptr(), address, answer.bytes.len());
    }
    Ok(())
}

/// The operands of a table of descriptors, copied, and where each lies.
unsafe fn operands(table: (*const usize, usize), what: &str) -> Result<Vec<(Array, *mut u8)>> {
    ensure(table.1 <= 16, || {
        Error::new(Code::Argument, what, format!("{} operands, at most 16", table.1))
    })?;
    let words = copied(table.0, table.1 * DESCRIPTOR)?.ok_or_else(|| null(what))?;
    let mut found = Vec::new();
    for (i, row) in words.chunks_exact(DESCRIPTOR).enumerate() {
        let place = format!("{}[{}]", what, i);
        let kind = Kind::from_number(row[0], &place)?;
        let shape = row[3..].get(..row[2]).ok_or_else(|| {
            Error::new(Code::Argument, &place, format!("rank {}, at most {}", row[2], MAX_RANK))
        })?;
        let length = elements(kind, shape, &place)? * kind.size();
        let address = row[1] as *mut u8;
        let bytes = copied(address as *const u8, length)?.ok_or_else(|| null(&place))?;
        found.push((Array { kind, shape: shape.to_vec(), bytes }, address));
    }
    Ok(found)
}
