//! From query to ranked, explained hits and packed context.
