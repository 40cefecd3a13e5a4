//! Parses and checks the body of an embeddings response.

use serde::Deserialize;

use crate::remote::{CallFailure, FailureCause};

#[derive(Debug, Deserialize)]
pub(super) struct EmbeddingBody {
    data: Vec<EmbeddingRow>,
    usage: Option<EmbeddingUsage>,
}

#[derive(Debug, Deserialize)]
struct EmbeddingRow {
    index: Option<usize>,
    embedding: Vec<f32>,
}

#[derive(Debug, Deserialize)]
struct EmbeddingUsage {
    prompt_tokens: Option<u64>,
    total_tokens: Option<u64>,
}

impl EmbeddingBody {
    /// Tokens as counted by the server, if it reports them.
    pub(super) fn token_count(&self) -> Option<u64> {
        let usage = self.usage.as_ref()?;
        usage.prompt_tokens.or(usage.total_tokens).filter(|tokens| *tokens > 0)
    }

    /// Returns `count` normalised rows in the order of the texts. All rows are finite and of one
    /// dimension: `dimension`, if it is known.
    pub(super) fn into_rows(
        self,
        count: usize,
        dimension: Option<usize>,
    ) -> Result<Vec<Vec<f32>>, CallFailure> {
        let fail = |what: String| CallFailure::new(FailureCause::Unusable, what);
        if self.data.len() != count {
            return Err(fail(format!(
                "server gave another number of vectors than the {count} asked for: `{}`",
                self.data.len()
            )));
        }
        let mut rows: Vec<Option<Vec<f32>>> = vec![None; count];
        let mut expected = dimension;
        for (place, row) in self.data.into_iter().enumerate() {
            let index = row.index.unwrap_or(place);
            let length = row.embedding.len();
            match expected {
                _ if length == 0 => {
                    return Err(fail(format!(
                        "server gave an empty vector for item `{}`",
                        index + 1
                    )));
                }
                Some(dimension) if dimension != length => {
                    return Err(fail(format!(
                        "server gave a vector of another dimension than {dimension}: `{length}`"
                    )));
                }
                _ => expected = Some(length),
            }
            match rows.get_mut(index) {
                Some(slot @ None) => {
                    *slot = Some(normalised_row(row.embedding, index).map_err(fail)?)
                }
                _ => {
                    return Err(fail(format!(
                        "server gave an index twice or out of range: `{index}`"
                    )));
                }
            }
        }
        Ok(rows.into_iter().flatten().collect())
    }
}

/// Scales to length 1, in `f64` so that large values do not overflow.
fn normalised_row(mut row: Vec<f32>, index: usize) -> Result<Vec<f32>, String> {
    let length = row.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
    if !length.is_finite() {
        return Err(format!("server gave a vector that is not finite for item `{}`", index + 1));
    }
    if length > 0.0 {
        row.iter_mut().for_each(|x| *x = (f64::from(*x) / length) as f32);
    }
    Ok(row)
}
