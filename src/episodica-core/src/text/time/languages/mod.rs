//! What the date grammars know of each language: its names of days and months, its expressions of
//! time, its tenses, and how it writes a date. Data only; `patterns` and `tense` read it.

pub(super) mod chinese;
pub(super) mod english;
pub(super) mod french;
pub(super) mod german;
pub(super) mod spanish;
