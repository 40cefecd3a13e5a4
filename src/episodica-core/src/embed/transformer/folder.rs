//! Reads and checks the files of a sentence-transformers folder.
//!
//! ```text
//! config.json                 the architecture
//! model.safetensors           the parameters
//! tokenizer.json              text to ids
//! modules.json                steps after the encoder: pooling, normalisation
//! 1_Pooling/config.json       how states are combined into one vector
//! sentence_bert_config.json   maximum input (optional)
//! ```

use std::fmt::Display;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokenizers::{Tokenizer, TruncationParams};

use crate::error::{Error, ErrorKind, Result};

/// `config.json`; the names are those of the transformers library.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct TransformerConfig {
    pub model_type: String,
    pub vocab_size: usize,
    pub hidden_size: usize,
    pub num_hidden_layers: usize,
    pub num_attention_heads: usize,
    pub intermediate_size: usize,
    pub max_position_embeddings: usize,
    pub type_vocab_size: usize,
    pub hidden_act: String,
    #[serde(default = "bert_layer_norm_eps")]
    pub layer_norm_eps: f32,
    #[serde(default)]
    pub position_embedding_type: Option<String>,
}

fn bert_layer_norm_eps() -> f32 {
    1e-12
}

/// How the tokens' states are combined into the vector of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenPooling {
    /// Their mean.
    Mean,
    /// The state of the first token, `[CLS]`.
    Cls,
}

/// The settings of a model folder, without the parameters.
pub(super) struct ModelFolder {
    pub config: TransformerConfig,
    pub pooling: TokenPooling,
    pub tokenizer: Tokenizer,
    /// Maximum input in tokens, including `[CLS]` and `[SEP]`.
    pub max_tokens: usize,
    /// True if texts are lower-cased (`str::to_lowercase`) before tokenising.
    pub lower_case: bool,
}

#[derive(Deserialize)]
struct ModelModule {
    path: String,
    r#type: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct PoolingConfig {
    pooling_mode_cls_token: bool,
    pooling_mode_mean_tokens: bool,
    pooling_mode_max_tokens: bool,
    pooling_mode_mean_sqrt_len_tokens: bool,
    pooling_mode_weightedmean_tokens: bool,
    pooling_mode_lasttoken: bool,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct InputConfig {
    max_seq_length: Option<usize>,
    do_lower_case: bool,
}

impl ModelFolder {
    /// Reads the settings below `root`.
    pub(super) fn read(root: &Path) -> Result<Self> {
        let config = read_config(&root.join("config.json"))?;
        let (encoder, pooling) = read_modules(root)?;
        if encoder != root {
            return Err(unsupported_error(
                "the encoder must be at the top of the folder, not in",
                encoder.display(),
                &root.join("modules.json"),
            ));
        }
        let input_path = root.join("sentence_bert_config.json");
        let input: InputConfig =
            if input_path.exists() { read_json(&input_path)? } else { InputConfig::default() };
        let max_tokens =
            input.max_seq_length.unwrap_or(usize::MAX).min(config.max_position_embeddings);
        if max_tokens < 3 {
            return Err(unsupported_error(
                "no room between [CLS] and [SEP] for max_seq_length",
                max_tokens,
                &input_path,
            ));
        }
        let tokenizer = read_tokenizer(&root.join("tokenizer.json"), &config, max_tokens)?;
        Ok(Self { config, pooling, tokenizer, max_tokens, lower_case: input.do_lower_case })
    }
}

fn read_config(path: &Path) -> Result<TransformerConfig> {
    let config: TransformerConfig = read_json(path)?;
    if config.model_type != "bert" {
        return Err(unsupported_error(
            "only `bert` can be computed here, not the architecture",
            &config.model_type,
            path,
        )
        .with_hint(
            "serve other models behind an OpenAI-compatible endpoint, or pass a Python callable",
        ));
    }
    if config.hidden_act != "gelu" {
        return Err(unsupported_error("hidden_act must be `gelu`, not", &config.hidden_act, path));
    }
    if let Some(kind) = config.position_embedding_type.as_deref().filter(|kind| *kind != "absolute")
    {
        return Err(unsupported_error(
            "position_embedding_type must be `absolute`, not",
            kind,
            path,
        ));
    }
    let sizes = [
        config.vocab_size,
        config.hidden_size,
        config.num_attention_heads,
        config.intermediate_size,
        config.type_vocab_size,
    ];
    if sizes.contains(&0) || !config.hidden_size.is_multiple_of(config.num_attention_heads) {
        return Err(unsupported_error(
            "no size may be 0, and num_attention_heads must divide hidden_size:",
            config.hidden_size,
            path,
        ));
    }
    Ok(config)
}

/// Returns the encoder's folder and the pooling. Vectors are always normalised, even without a
/// `Normalize` module.
fn read_modules(root: &Path) -> Result<(PathBuf, TokenPooling)> {
    let path = root.join("modules.json");
    let modules: Vec<ModelModule> = read_json(&path)?;
    let (mut encoder, mut pooling) = (None, None);
    for module in modules {
        let place = if module.path.is_empty() { root.to_owned() } else { root.join(&module.path) };
        match module.r#type.rsplit('.').next() {
            Some("Transformer") => encoder = Some(place),
            Some("Pooling") => pooling = Some(read_pooling(&place.join("config.json"))?),
            Some("Normalize") => {}
            _ => return Err(unsupported_error("cannot compute the module", &module.r#type, &path)),
        }
    }
    match (encoder, pooling) {
        (Some(encoder), Some(pooling)) => Ok((encoder, pooling)),
        _ => Err(folder_error("a Transformer and a Pooling module are needed", &path)),
    }
}

fn read_pooling(path: &Path) -> Result<TokenPooling> {
    let config: PoolingConfig = read_json(path)?;
    let others = config.pooling_mode_max_tokens
        || config.pooling_mode_mean_sqrt_len_tokens
        || config.pooling_mode_weightedmean_tokens
        || config.pooling_mode_lasttoken;
    match (config.pooling_mode_mean_tokens, config.pooling_mode_cls_token, others) {
        (true, false, false) => Ok(TokenPooling::Mean),
        (false, true, false) => Ok(TokenPooling::Cls),
        _ => Err(folder_error(
            "exactly one of pooling_mode_mean_tokens and pooling_mode_cls_token must be on, and no \
             other mode",
            path,
        )),
    }
}

fn read_tokenizer(path: &Path, config: &TransformerConfig, max_tokens: usize) -> Result<Tokenizer> {
    let bytes = fs_err::read(path).map_err(|error| io_error(path, error))?;
    let mut tokenizer = Tokenizer::from_bytes(bytes)
        .map_err(|error| folder_error("not a tokenizer", path).caused_by(error))?;
    // Sequences are computed without padding. The limit in the tokenizer's file comes from its
    // training, so it is replaced.
    tokenizer.with_padding(None);
    let truncation = TruncationParams { max_length: max_tokens, ..TruncationParams::default() };
    tokenizer
        .with_truncation(Some(truncation))
        .map_err(|error| folder_error("cannot shorten texts", path).caused_by(error))?;
    let tokens = tokenizer.get_vocab_size(true);
    if tokens > config.vocab_size {
        let context =
            format!("the tokenizer has {tokens} tokens, the model `{}`", config.vocab_size);
        return Err(folder_error(context, path));
    }
    Ok(tokenizer)
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let bytes = fs_err::read(path).map_err(|error| io_error(path, error))?;
    serde_json::from_slice(&bytes).map_err(|error| {
        folder_error("not the JSON that a sentence-transformers folder has", path).caused_by(error)
    })
}

fn unsupported_error(what: &str, value: impl Display, path: &Path) -> Error {
    folder_error(format!("{what} `{value}`"), path)
}

pub(super) fn folder_error(context: impl Into<String>, path: &Path) -> Error {
    Error::new(ErrorKind::Embedding, context).at_path(path, None)
}

pub(super) fn io_error(path: &Path, error: std::io::Error) -> Error {
    folder_error("cannot read a file of the embedding model", path).caused_by(error).with_hint(
        "the folder must hold config.json, model.safetensors, tokenizer.json, \
            modules.json and 1_Pooling/config.json",
    )
}
