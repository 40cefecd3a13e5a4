//! Text without meaning yet: sentences, scripts, terms, tokens, dates, near duplicates.
