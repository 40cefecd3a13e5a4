//! The only door to language models.
