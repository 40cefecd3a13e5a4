//! The vectors of episodes: each the mean of its messages' vectors. They are computed from these
//! and never stored.

use ndarray::{Array1, Array2, Axis};

use crate::engine::memory::indexing::IndexingSettings;
use crate::engine::memory::view::UserView;
use crate::error::Result;

impl UserView {
    /// Gives all episodes of a new view their vectors.
    pub(super) fn fill_episode_vectors(&mut self, to: &IndexingSettings<'_>) -> Result<()> {
        let (labels, rows) = self.episode_means(self.episodes.current_slots());
        let rows = rows.unwrap_or_else(|| Array2::zeros((0, 0)));
        self.narratives.restore_vectors(to.factory, labels, rows.into())
    }

    /// Gives these episodes their vectors, or new ones. An episode with a message that lacks a
    /// vector gets one when that arrives.
    pub(super) fn add_episode_vectors(
        &mut self,
        slots: &[u32],
        to: &IndexingSettings<'_>,
    ) -> Result<()> {
        let (labels, rows) = self.episode_means(slots.iter().copied());
        match rows {
            Some(rows) => self.narratives.add_vectors(to.factory, &labels, rows.view()).map(drop),
            None => Ok(()),
        }
    }

    /// The means of those episodes whose messages all have vectors; `None` if there is none.
    fn episode_means(&self, slots: impl Iterator<Item = u32>) -> (Vec<u64>, Option<Array2<f32>>) {
        let mean = |slot| Some((u64::from(slot), self.mean_vector(self.members.get(slot))?));
        let found = slots.filter_map(mean);
        let (labels, rows): (Vec<u64>, Vec<Array1<f32>>) = found.unzip();
        let views: Vec<_> = rows.iter().map(|row| row.view()).collect();
        (labels, ndarray::stack(Axis(0), &views).ok())
    }

    /// The mean of the vectors of messages, of length 1; `None` if one is missing, or without
    /// messages.
    pub fn mean_vector(&self, messages: &[u32]) -> Option<Array1<f32>> {
        let vectors = self.messages.field.vector_index().filter(|_| !messages.is_empty())?;
        let mut sum = Array1::zeros(vectors.dimension());
        for message in messages {
            sum += &vectors.vector_of(u64::from(*message))?;
        }
        let length = sum.dot(&sum).sqrt();
        if length > 0.0 {
            sum /= length;
        }
        Some(sum)
    }
}
