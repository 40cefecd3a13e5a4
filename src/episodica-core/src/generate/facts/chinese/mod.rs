//! Chinese sentences.

use super::RejectReason;
use super::extract::{Draft, Talk};

pub(super) fn read(_sentence: &str, _talk: &Talk) -> Vec<Result<Draft, RejectReason>> {
    Vec::new()
}
pub(super) fn procedure(_sentence: &str) -> bool {
    false
}
pub(super) fn is_problem(_sentence: &str) -> bool {
    false
}
pub(super) fn is_solution(_sentence: &str) -> bool {
    false
}
