//! Extracts JSON from any model output: plain JSON, a fenced block, JSON inside prose, or item by
//! item.
//!
//! Nothing here fails: unreadable parts are dropped and counted, and an unreadable item does not
//! affect the others. The cost is linear in the length of the text (a budget limits every
//! look-ahead). Nesting beyond 128 levels is dropped, and of a text longer than [`MAX_TEXT_BYTES`]
//! only the start is read. The caller validates the values.

mod read;
mod repair;
mod scan;
#[cfg(test)]
mod tests;

pub use read::{
    MAX_TEXT_BYTES, SalvagedList, SalvagedObject, answer_of, object_with, read_items, read_numbers,
    read_object,
};
