//! Extracts JSON from any model output: the plain text, a fence, surrounding prose, or item by
//! item.
//!
//! Nothing here fails: unreadable parts are lost and counted, and one bad item never loses the
//! others. Work is linear in the length of the text (a budget limits every scan ahead), nesting
//! beyond 128 levels is lost, and of a text longer than [`MAX_TEXT_BYTES`] only the start is read.
//! The caller checks what the values mean and whether they are valid.

mod read;
mod repair;
mod scan;
#[cfg(test)]
mod tests;

pub use read::{
    MAX_TEXT_BYTES, SalvagedList, SalvagedObject, answer_of, items, numbers, object, object_with,
};
