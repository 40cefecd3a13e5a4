//! The data of the date grammars per language: names of days and months, expressions of time,
//! tenses, and date formats. Data only; `patterns` and `tense` read it.

pub(super) mod chinese;
pub(super) mod english;
pub(super) mod french;
pub(super) mod german;
pub(super) mod spanish;
