//! Turns texts into vectors, tokens and index entries.

use std::sync::atomic::Ordering;

use ndarray::{Array2, ArrayView2, Axis, concatenate};

use crate::config::MemoryConfig;
use crate::control::{CallControl, LONG_BYTES, run_cancellable};
use crate::embed::{Embedder, SHORTEST_CUT, shortened_text};
use crate::engine::counters::EngineCounters;
use crate::error::{Error, ErrorKind, Result};
use crate::index::{MessageReading, TextIndex, VectorIndexFactory};
use crate::parallel;
use crate::score::TokenTable;

/// Texts embedded between two checks for an interruption.
pub(crate) const EMBED_BATCH: usize = 1_024;

/// An embedder may refuse a text of more bytes than this because of its length.
const MAYBE_TOO_LONG: usize = 1_500;

/// Vectors for the records of one step, one row each; `None` if embedding failed or comes later.
pub(crate) type Rows<'a> = Option<ArrayView2<'a, f32>>;

/// A range of the rows.
pub(crate) fn rows_of(
    mut rows: ArrayView2<'_, f32>,
    range: std::ops::Range<usize>,
) -> ArrayView2<'_, f32> {
    rows.slice_axis_inplace(Axis(0), range.into());
    rows
}

#[derive(Clone, Copy)]
pub(crate) struct IndexingSettings<'a> {
    pub config: &'a MemoryConfig,
    pub factory: &'a dyn VectorIndexFactory,
    pub tokens: &'static dyn TokenTable,
    pub embedder: &'a dyn Embedder,
    pub counters: &'a EngineCounters,
    /// True if opening a user leaves missing vectors to background work.
    pub opens_without_embedding: bool,
}

impl IndexingSettings<'_> {
    /// Adds the vectors of slots to a field; `false`, and a counted failure, if their dimension
    /// differs from the field's.
    pub fn add_vectors(
        &self,
        field: &mut TextIndex,
        slots: &[u64],
        rows: Rows<'_>,
    ) -> Result<bool> {
        let Some(rows) = rows else { return Ok(true) };
        if field.add_vectors(self.factory, slots, rows)? {
            return Ok(true);
        }
        let known = field.vector_index().map_or(0, |vectors| vectors.dimension());
        self.counters.embedding_failures.fetch_add(1, Ordering::Relaxed);
        self.counters.note_failure(None, &other_dimension(rows.ncols(), known));
        Ok(false)
    }

    /// Reads the texts of messages for the index.
    ///
    /// # Errors
    /// `Interrupted` only.
    pub fn read_messages<'t>(
        &self,
        texts: impl Iterator<Item = &'t str> + Clone,
        control: &dyn CallControl,
    ) -> Result<Vec<MessageReading>> {
        let tokens = self.tokens;
        let read = |text: &str| MessageReading::from_content(text, tokens.ids(text));
        let bytes = texts.clone().map(str::len).sum();
        if bytes < LONG_BYTES {
            control.check()?;
            return Ok(parallel::map_items(texts.collect(), parallel::FEW_TEXTS, read));
        }
        let texts: Vec<String> = texts.map(str::to_owned).collect();
        run_cancellable(bytes, control, move || parallel::map_items(texts, 1, |text| read(&text)))
    }

    /// Embeds texts in batches, one row per text; `None`, and a counted failure, if the embedder
    /// fails.
    ///
    /// # Errors
    /// `Interrupted` only.
    pub fn embed_batches(
        &self,
        texts: &[&str],
        control: &dyn CallControl,
    ) -> Result<Option<Array2<f32>>> {
        let mut parts = Vec::new();
        for batch in texts.chunks(EMBED_BATCH) {
            control.check()?;
            match self.embedder.embed_controlled(batch, control) {
                Ok(rows) => parts.push(rows),
                Err(error) if error.kind() == ErrorKind::Interrupted => return Err(error),
                Err(error) => {
                    self.counters.embedding_failures.fetch_add(1, Ordering::Relaxed);
                    self.counters.note_failure(None, &error);
                    match self.embed_around_refused(batch, &error, control)? {
                        Some(rows) => parts.push(rows),
                        None => return Ok(None),
                    }
                }
            }
        }
        let views: Vec<_> = parts.iter().map(|rows| rows.view()).collect();
        match views.as_slice() {
            [] => Ok(None),
            [_] => Ok(parts.pop()),
            _ => Ok(concatenate(Axis(0), &views).ok()),
        }
    }
}

impl IndexingSettings<'_> {
    /// Embeds a batch with a long text that the embedder may have refused: shortens that text, or
    /// gives it a vector of zeros. `None` if the embedder accepts no text at all.
    fn embed_around_refused(
        &self,
        texts: &[&str],
        error: &Error,
        control: &dyn CallControl,
    ) -> Result<Option<Array2<f32>>> {
        let shortest = texts.iter().filter(|text| !text.trim().is_empty()).min_by_key(|t| t.len());
        let has_long = texts.iter().any(|text| text.len() > MAYBE_TOO_LONG);
        match shortest {
            Some(probe) if has_long && error.kind() == ErrorKind::Embedding => {
                if probe.len() <= MAYBE_TOO_LONG && self.try_embed(&[probe], control)?.is_none() {
                    return Ok(None);
                }
                self.embed_apart(texts, probe, control)
            }
            _ => Ok(None),
        }
    }

    /// Halves the list of texts until each refused text is alone, and shortens that. Embedding
    /// `probe` tells a refusal from an outage.
    fn embed_apart(
        &self,
        texts: &[&str],
        probe: &str,
        control: &dyn CallControl,
    ) -> Result<Option<Array2<f32>>> {
        if let [text] = texts {
            let mut rest = *text;
            loop {
                if let Some(rows) = self.try_embed(&[rest], control)? {
                    return Ok(Some(rows));
                }
                if rest.len() <= SHORTEST_CUT {
                    break;
                }
                rest = shortened_text(rest);
            }
            let known = self.try_embed(&[probe], control)?;
            return Ok(known.map(|rows| Array2::zeros((1, rows.ncols()))));
        }
        if let Some(rows) = self.try_embed(texts, control)? {
            return Ok(Some(rows));
        }
        let (first, second) = texts.split_at(texts.len() / 2);
        let Some(first) = self.embed_apart(first, probe, control)? else { return Ok(None) };
        let Some(second) = self.embed_apart(second, probe, control)? else { return Ok(None) };
        Ok(concatenate(Axis(0), &[first.view(), second.view()]).ok())
    }

    /// Embeds texts; `None` if the embedder fails.
    fn try_embed(&self, texts: &[&str], control: &dyn CallControl) -> Result<Option<Array2<f32>>> {
        control.check()?;
        match self.embedder.embed_controlled(texts, control) {
            Ok(rows) => Ok(Some(rows)),
            Err(error) if error.kind() == ErrorKind::Interrupted => Err(error),
            Err(_) => Ok(None),
        }
    }
}

/// The error for vectors whose dimension differs from that of the stored ones.
pub(crate) fn other_dimension(given: usize, stored: usize) -> Error {
    Error::new(
        ErrorKind::EmbeddingMismatch,
        format!(
            "the embedder gives vectors of dimension {given}, the stored ones are of dimension \
             `{stored}`; `rebuild_indices` computes them again"
        ),
    )
}
