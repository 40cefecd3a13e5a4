//! JSON out of whatever a model wrote: as it is, out of a fence, out of prose, at last item by
//! item.
//!
//! Nothing here fails: what can't be read is lost and counted, and one bad item never loses the
//! others. Work is linear in the length of the text (a budget pays for each look ahead), nesting
//! beyond 128 levels is lost, and of a text beyond [`MAX_TEXT_BYTES`] only the beginning is read.
//! What the values mean, and whether they are any good, is for the caller to check.

mod read;
mod repair;
mod scan;
#[cfg(test)]
mod tests;

pub use read::{Items, MAX_TEXT_BYTES, Salvaged, items, object};
