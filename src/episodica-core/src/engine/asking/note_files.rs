//! A user's files with questions and answers of models.

use crate::store::{AnswerCache, UserTrace};

/// The open files; each is opened at its first use.
#[derive(Default)]
pub(crate) struct NoteFiles {
    pub answers: Option<AnswerCache>,
    pub trace: Option<UserTrace>,
    /// How often the files were closed, because records were about to be erased.
    closings: u64,
    /// True once the user is deleted: nothing may be written any more.
    gone: bool,
}

impl NoteFiles {
    /// Closes the files; the next use opens them again.
    pub fn close_files(&mut self) {
        (self.answers, self.trace) = (None, None);
        self.closings += 1;
    }

    pub fn close_count(&self) -> u64 {
        self.closings
    }

    /// Closes the files for good: the user is deleted.
    pub fn close_for_good(&mut self) {
        self.close_files();
        self.gone = true;
    }

    pub fn is_gone(&self) -> bool {
        self.gone
    }
}
