//! A log from which lines can be removed: a file, or lines in memory.

use std::path::Path;

use crate::error::Result;
use crate::store::log::{LineRewrite, NoteCuts, RecordLog};
use crate::store::scan::RawLine;

/// A log from which lines can be removed.
pub(super) trait EditableLog {
    fn path(&self) -> &Path;

    /// Passes every line to `visit`, oldest first.
    fn for_each(&self, visit: &mut dyn FnMut(RawLine<'_>)) -> Result<()>;

    /// Decides about every line. If that changes the log, a line that notes the changes is
    /// appended.
    fn edit_lines(
        &mut self,
        note: NoteCuts<'_>,
        decide: &mut dyn FnMut(RawLine<'_>) -> LineRewrite,
    ) -> Result<()>;
}

impl EditableLog for RecordLog {
    fn path(&self) -> &Path {
        Self::path(self)
    }

    fn for_each(&self, visit: &mut dyn FnMut(RawLine<'_>)) -> Result<()> {
        Self::for_each(self, visit)
    }

    fn edit_lines(
        &mut self,
        note: NoteCuts<'_>,
        decide: &mut dyn FnMut(RawLine<'_>) -> LineRewrite,
    ) -> Result<()> {
        self.rewrite_noting(note, decide)
    }
}
