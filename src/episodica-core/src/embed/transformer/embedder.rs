//! The [`Embedder`] for a sentence-transformers folder.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::path::Path;

use ndarray::Array2;
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use tokenizers::Tokenizer;

use super::folder::{ModelFolder, io_error};
use super::forward::BertEncoder;
use super::weights::EncoderWeights;
use crate::embed::Embedder;
use crate::error::{Error, ErrorKind, Result};
use crate::parallel::run_in_pool;

/// Number of tokens that one thread computes at once: enough for full speed of the matrix products,
/// few enough for their results to stay in the cache.
const TOKENS_PER_PACK: usize = 512;

/// Number of bytes that the tokenizer reads per token of the model's maximum. Words are shorter;
/// the limit only avoids tokenising all of a pasted file.
const BYTES_PER_TOKEN: usize = 64;

/// A sentence encoder of the BERT family, run on the CPU in this process.
///
/// Texts longer than the model's maximum input are cut, as in sentence-transformers. Vectors always
/// have length 1.
pub struct TransformerEmbedder {
    encoder: BertEncoder,
    tokenizer: Tokenizer,
    max_tokens: usize,
    lower_case: bool,
    model: String,
}

impl TransformerEmbedder {
    /// Reads a folder in the format of sentence-transformers: `config.json` (`model_type` `bert`),
    /// `model.safetensors` (float32), `tokenizer.json`, `modules.json`, `1_Pooling/config.json`
    /// (mean or `[CLS]`), and `sentence_bert_config.json` if it exists.
    ///
    /// # Errors
    /// `Embedding`, with the path: for a missing or malformed file; for an unsupported
    /// architecture, activation, pooling or module; and for parameters whose shape differs from
    /// `config.json`.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self> {
        let root = folder.as_ref();
        let ModelFolder { config, pooling, tokenizer, max_tokens, lower_case } =
            ModelFolder::read(root)?;
        let path = root.join("model.safetensors");
        let bytes = fs_err::read(&path).map_err(|error| io_error(&path, error))?;
        let encoder =
            BertEncoder::new(EncoderWeights::from_bytes(&bytes, &path, &config)?, &config, pooling);
        let model = model_name(root, &bytes, &encoder, [max_tokens, usize::from(lower_case)])?;
        Ok(Self { encoder, tokenizer, max_tokens, lower_case, model })
    }

    /// Token ids with `[CLS]` and `[SEP]`; empty for a text without tokens.
    fn token_ids(&self, text: &str) -> Result<Vec<u32>> {
        let limit = self.max_tokens.saturating_mul(BYTES_PER_TOKEN).min(text.len());
        let end = (0..=limit).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let text = &text[..end];
        let text =
            if self.lower_case { Cow::Owned(text.to_lowercase()) } else { Cow::Borrowed(text) };
        let encoding = self.tokenizer.encode_fast(text, true).map_err(|error| {
            Error::new(ErrorKind::Embedding, "the tokenizer failed on a text").caused_by(error)
        })?;
        let blank = encoding.get_special_tokens_mask().iter().all(|special| *special == 1);
        Ok(if blank { Vec::new() } else { encoding.get_ids().to_vec() })
    }
}

impl Embedder for TransformerEmbedder {
    fn model_name(&self) -> &str {
        &self.model
    }

    fn dimension(&self) -> Option<usize> {
        Some(self.encoder.dimension())
    }

    fn is_local(&self) -> bool {
        true
    }

    fn is_own(&self) -> bool {
        true
    }

    fn embed_texts(&self, texts: &[&str]) -> Result<Array2<f32>> {
        let read = |text: &&str| self.token_ids(text);
        let sequences = run_in_pool(|| texts.par_iter().map(read).collect::<Result<Vec<_>>>())?;
        // Longest first, so that the largest pack does not start last and delay the end. Empty
        // sequences keep their zero rows.
        let mut order: Vec<usize> =
            (0..texts.len()).filter(|at| !sequences[*at].is_empty()).collect();
        order.sort_by_key(|at| Reverse(sequences[*at].len()));
        let embed = |pack: &'_ [usize]| {
            let pack_sequences: Vec<&[u32]> =
                pack.iter().map(|at| sequences[*at].as_slice()).collect();
            self.encoder.embed_sequences(&pack_sequences)
        };
        let packs = split_packs(&order, &sequences);
        let vectors: Vec<(&[usize], Array2<f32>)> =
            run_in_pool(|| packs.into_par_iter().map(|pack| (pack, embed(pack))).collect());
        let mut rows = Array2::zeros((texts.len(), self.encoder.dimension()));
        for (pack, vectors) in vectors {
            for (at, vector) in pack.iter().zip(vectors.rows()) {
                rows.row_mut(*at).assign(&vector);
            }
        }
        Ok(rows)
    }
}

/// Splits `order` into runs of at most [`TOKENS_PER_PACK`] tokens and at least one sequence each;
/// at least one run per thread if there are that many sequences.
fn split_packs<'a>(order: &'a [usize], sequences: &[Vec<u32>]) -> Vec<&'a [usize]> {
    let total: usize = order.iter().map(|at| sequences[*at].len()).sum();
    let limit = TOKENS_PER_PACK.min(total.div_ceil(rayon::current_num_threads()));
    let mut packs = Vec::new();
    let mut rest = order;
    while !rest.is_empty() {
        let mut tokens = 0;
        let fitting = rest.iter().take_while(|at| {
            tokens += sequences[**at].len();
            tokens <= limit
        });
        let (pack, tail) = rest.split_at(fitting.count().max(1));
        packs.push(pack);
        rest = tail;
    }
    packs
}

/// A name that does not depend on the folder's path: the dimension, and a digest of everything that
/// affects the vectors.
fn model_name(
    root: &Path,
    weights: &[u8],
    encoder: &BertEncoder,
    settings: [usize; 2],
) -> Result<String> {
    let mut digest = Sha256::new();
    for name in ["config.json", "tokenizer.json"] {
        let path = root.join(name);
        digest.update(fs_err::read(&path).map_err(|error| io_error(&path, error))?);
    }
    digest.update(weights);
    digest.update([encoder.pooling as u8]);
    settings.iter().for_each(|setting| digest.update((*setting as u64).to_le_bytes()));
    let short: String =
        digest.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("sentence-transformers-{}@{short}", encoder.dimension()))
}
