use std::fs;
use std::path::{Path, PathBuf};

use safetensors::serialize_to_file;
use safetensors::tensor::{Dtype, TensorView};
use serde_json::{Value, json};

use super::TransformerEmbedder;
use crate::embed::Embedder;
use crate::error::ErrorKind;

const HIDDEN: usize = 12;
const HEADS: usize = 3;
const INNER: usize = 20;
const LAYERS: usize = 2;
const POSITIONS: usize = 10;
const WORDS: [&str; 12] = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "red", "green", "blue", "##ish", "sea", "sky",
    ".",
];

/// A folder with a BERT of random weights, and the weights by name.
struct Tiny {
    folder: tempfile::TempDir,
    tensors: Vec<(String, Vec<usize>, Vec<f32>)>,
}

impl Tiny {
    fn new() -> Self {
        let mut shapes = vec![
            ("embeddings.word_embeddings.weight".to_owned(), vec![WORDS.len(), HIDDEN]),
            ("embeddings.position_embeddings.weight".to_owned(), vec![POSITIONS, HIDDEN]),
            ("embeddings.token_type_embeddings.weight".to_owned(), vec![2, HIDDEN]),
        ];
        let mut pair = |name: String, shape: Vec<usize>| {
            shapes.push((format!("{name}.bias"), vec![shape[0]]));
            shapes.push((format!("{name}.weight"), shape));
        };
        pair("embeddings.LayerNorm".into(), vec![HIDDEN]);
        for layer in (0..LAYERS).map(|number| format!("encoder.layer.{number}")) {
            for part in [
                "attention.self.query",
                "attention.self.key",
                "attention.self.value",
                "attention.output.dense",
            ] {
                pair(format!("{layer}.{part}"), vec![HIDDEN, HIDDEN]);
            }
            pair(format!("{layer}.intermediate.dense"), vec![INNER, HIDDEN]);
            pair(format!("{layer}.output.dense"), vec![HIDDEN, INNER]);
            pair(format!("{layer}.attention.output.LayerNorm"), vec![HIDDEN]);
            pair(format!("{layer}.output.LayerNorm"), vec![HIDDEN]);
        }
        let mut state = 7u64;
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            ((state >> 40) as f32 / (1u64 << 24) as f32 - 0.5) * 2.0
        };
        let tensors: Vec<_> = shapes
            .into_iter()
            .map(|(name, shape)| {
                let values = (0..shape.iter().product()).map(|_| random()).collect();
                (name, shape, values)
            })
            .collect();
        let tiny = Self { folder: tempfile::tempdir().unwrap(), tensors };
        tiny.write("config.json", &config());
        tiny.write("modules.json", &modules());
        tiny.write(
            "1_Pooling/config.json",
            &json!({"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": false}),
        );
        tiny.write(
            "sentence_bert_config.json",
            &json!({"max_seq_length": 8, "do_lower_case": false}),
        );
        tiny.write("tokenizer.json", &tokenizer());
        tiny.write_weights(Dtype::F32, "");
        tiny
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, value: &Value) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), value.to_string()).unwrap();
    }

    fn write_weights(&self, dtype: Dtype, prefix: &str) {
        let size = if dtype == Dtype::F32 { 4 } else { 2 };
        let bytes: Vec<Vec<u8>> = self
            .tensors
            .iter()
            .map(|(_, _, values)| {
                values.iter().flat_map(|x| x.to_le_bytes()[4 - size..].to_vec()).collect()
            })
            .collect();
        let views = self.tensors.iter().zip(&bytes).map(|((name, shape, _), data)| {
            (format!("{prefix}{name}"), TensorView::new(dtype, shape.clone(), data).unwrap())
        });
        serialize_to_file(views, None, &self.path("model.safetensors")).unwrap();
    }

    fn open(&self) -> TransformerEmbedder {
        TransformerEmbedder::open(self.folder.path()).unwrap()
    }

    /// The error of opening, with the folder's path taken out.
    fn error(&self) -> String {
        let error = TransformerEmbedder::open(self.folder.path()).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Embedding);
        error.to_string().replace(&self.folder.path().display().to_string(), "FOLDER")
    }

    fn tensor(&self, name: &str) -> (usize, Vec<f64>) {
        let (_, shape, values) = self.tensors.iter().find(|(other, ..)| other == name).unwrap();
        (*shape.last().unwrap(), values.iter().map(|x| f64::from(*x)).collect())
    }
}

fn config() -> Value {
    json!({
        "model_type": "bert", "hidden_act": "gelu", "hidden_size": HIDDEN,
        "num_attention_heads": HEADS, "num_hidden_layers": LAYERS,
        "intermediate_size": INNER, "max_position_embeddings": POSITIONS, "type_vocab_size": 2,
        "vocab_size": WORDS.len(),
        "layer_norm_eps": 1e-5, "position_embedding_type": "absolute",
    })
}

fn modules() -> Value {
    json!([
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {
            "idx": 1, "name": "1", "path": "1_Pooling",
            "type": "sentence_transformers.models.Pooling",
        },
        {
            "idx": 2, "name": "2", "path": "2_Normalize",
            "type": "sentence_transformers.models.Normalize",
        },
    ])
}

fn tokenizer() -> Value {
    let vocabulary: serde_json::Map<String, Value> =
        WORDS.iter().zip(0..).map(|(word, id)| ((*word).to_owned(), json!(id))).collect();
    let special = |id: usize| {
        json!({
            "id": id, "content": WORDS[id], "special": true, "single_word": false,
            "lstrip": false, "rstrip": false, "normalized": false,
        })
    };
    let token = |name: &str| json!({"SpecialToken": {"id": name, "type_id": 0}});
    json!({
        "version": "1.0",
        "truncation": {
            "max_length": 4, "strategy": "LongestFirst", "stride": 0, "direction": "Right",
        },
        "padding": {
            "strategy": {"Fixed": 6}, "direction": "Right", "pad_to_multiple_of": null, "pad_id": 0,
            "pad_type_id": 0, "pad_token": "[PAD]",
        },
        "added_tokens": [special(0), special(1), special(2), special(3), special(4)],
        "normalizer": {
            "type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
            "strip_accents": null, "lowercase": true,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [token("[CLS]"), {"Sequence": {"id": "A", "type_id": 0}}, token("[SEP]")],
            "pair": [
                token("[CLS]"), {"Sequence": {"id": "A", "type_id": 0}}, token("[SEP]"),
                {"Sequence": {"id": "B", "type_id": 1}},
            ],
            "special_tokens": {
                "[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]},
                "[SEP]": {"id": "[SEP]", "ids": [3], "tokens": ["[SEP]"]},
            },
        },
        "decoder": null,
        "model": {
            "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": vocabulary,
        },
    })
}

/// BERT by the book: f64, one number at a time, one sequence. Returns the states of the tokens.
fn straightforward(tiny: &Tiny, ids: &[usize]) -> Vec<Vec<f64>> {
    let row = |name: &str, at: usize| {
        let (width, values) = tiny.tensor(name);
        values[at * width..(at + 1) * width].to_vec()
    };
    let affine = |name: &str, x: &[f64]| -> Vec<f64> {
        let bias = tiny.tensor(&format!("{name}.bias")).1;
        bias.iter()
            .enumerate()
            .map(|(out, bias)| bias + dot(&row(&format!("{name}.weight"), out), x))
            .collect()
    };
    let norm = |name: &str, x: Vec<f64>| -> Vec<f64> {
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / x.len() as f64;
        let (gain, shift) =
            (tiny.tensor(&format!("{name}.weight")).1, tiny.tensor(&format!("{name}.bias")).1);
        (0..x.len())
            .map(|i| (x[i] - mean) / (variance + 1e-5).sqrt() * gain[i] + shift[i])
            .collect()
    };
    let add = |a: &[f64], b: &[f64]| -> Vec<f64> { a.iter().zip(b).map(|(a, b)| a + b).collect() };
    let mut states: Vec<Vec<f64>> = ids
        .iter()
        .enumerate()
        .map(|(position, id)| {
            let place = add(
                &row("embeddings.position_embeddings.weight", position),
                &row("embeddings.token_type_embeddings.weight", 0),
            );
            norm(
                "embeddings.LayerNorm",
                add(&row("embeddings.word_embeddings.weight", *id), &place),
            )
        })
        .collect();
    for layer in (0..LAYERS).map(|number| format!("encoder.layer.{number}")) {
        let project = |part: &str| -> Vec<Vec<f64>> {
            states.iter().map(|x| affine(&format!("{layer}.attention.self.{part}"), x)).collect()
        };
        let (query, key, value) = (project("query"), project("key"), project("value"));
        states = (0..states.len())
            .map(|token| {
                let mut mixed = Vec::new();
                for head in 0..HEADS {
                    let span = head * HIDDEN / HEADS..(head + 1) * HIDDEN / HEADS;
                    let scores: Vec<f64> = key
                        .iter()
                        .map(|key| {
                            (dot(&query[token][span.clone()], &key[span.clone()])
                                / ((HIDDEN / HEADS) as f64).sqrt())
                            .exp()
                        })
                        .collect();
                    let total: f64 = scores.iter().sum();
                    mixed.extend(span.map(|i| {
                        scores
                            .iter()
                            .zip(&value)
                            .map(|(score, value)| score / total * value[i])
                            .sum::<f64>()
                    }));
                }
                let x = add(
                    &states[token],
                    &affine(&format!("{layer}.attention.output.dense"), &mixed),
                );
                let x = norm(&format!("{layer}.attention.output.LayerNorm"), x);
                let inner: Vec<f64> = affine(&format!("{layer}.intermediate.dense"), &x)
                    .into_iter()
                    .map(|x| x * normal_distribution(x))
                    .collect();
                norm(
                    &format!("{layer}.output.LayerNorm"),
                    add(&x, &affine(&format!("{layer}.output.dense"), &inner)),
                )
            })
            .collect();
    }
    states
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// By Simpson's rule over the density from 0 to x.
fn normal_distribution(x: f64) -> f64 {
    let density = |t: f64| (-t * t / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let steps = 2_000;
    let h = x / f64::from(steps);
    let inside: f64 =
        (1..steps).map(|i| density(f64::from(i) * h) * if i % 2 == 1 { 4.0 } else { 2.0 }).sum();
    0.5 + h / 3.0 * (density(0.0) + inside + density(x))
}

fn assert_close(actual: &[f32], expected: &[f64]) {
    let length = dot(expected, expected).sqrt();
    for (actual, expected) in actual.iter().zip(expected) {
        assert!(
            (f64::from(*actual) - expected / length).abs() < 1e-5,
            "{actual} {}",
            expected / length
        );
    }
}

#[test]
fn vectors_equal_those_of_a_straightforward_loop() {
    let tiny = Tiny::new();
    let texts =
        ["red sea.", "Blueish", "green green sky. sea red blueish sky", "", "sky blue red."];
    // The third text is cut to eight tokens; the tokenizer's own limit of four and its padding are
    // not obeyed.
    let ids: [&[usize]; 5] =
        [&[2, 5, 9, 11, 3], &[2, 7, 8, 3], &[2, 6, 6, 10, 11, 9, 5, 3], &[], &[2, 10, 7, 5, 11, 3]];
    for pooling in ["mean_tokens", "cls_token"] {
        tiny.write("1_Pooling/config.json", &json!({format!("pooling_mode_{pooling}"): true}));
        let rows = tiny.open().embed_texts(&texts).unwrap();
        for (row, ids) in rows.rows().into_iter().zip(ids) {
            let states = straightforward(&tiny, ids);
            match states.first() {
                None => assert!(row.iter().all(|x| *x == 0.0)),
                Some(cls) if pooling == "cls_token" => assert_close(row.as_slice().unwrap(), cls),
                Some(_) => {
                    let sum: Vec<f64> =
                        (0..HIDDEN).map(|i| states.iter().map(|state| state[i]).sum()).collect();
                    assert_close(row.as_slice().unwrap(), &sum);
                }
            }
        }
    }
}

#[test]
fn large_batches_and_prefixed_weights_change_nothing() {
    let tiny = Tiny::new();
    let embedder = tiny.open();
    let texts: Vec<String> =
        (0..500).map(|i| ["red sky ", "blueish sea. "][i % 2].repeat(1 + i % 5)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let rows = embedder.embed_texts(&texts).unwrap();
    tiny.write_weights(Dtype::F32, "bert.");
    let prefixed = tiny.open();
    for (text, row) in texts.iter().zip(rows.rows()).take(20) {
        assert!(prefixed.embed_texts(&[*text]).unwrap().row(0).dot(&row) > 0.999_99);
    }
    assert!(embedder.embed_texts(&[]).unwrap().is_empty());
    assert_eq!(embedder.dimension(), Some(HIDDEN));
}

#[test]
fn the_name_follows_the_contents_not_the_place() {
    let (one, other) = (Tiny::new(), Tiny::new());
    assert_eq!(one.open().model_name(), other.open().model_name());
    other.write("1_Pooling/config.json", &json!({"pooling_mode_cls_token": true}));
    assert_ne!(one.open().model_name(), other.open().model_name());
}

#[test]
fn a_folder_that_cannot_be_used_says_why_and_where() {
    let with = |name: &str, value: Value| {
        let tiny = Tiny::new();
        tiny.write(name, &value);
        tiny.error()
    };
    let changed = |key: &str, value: Value| {
        let mut config = config();
        config[key] = value;
        with("config.json", config)
    };
    let without = |name: &str| {
        let tiny = Tiny::new();
        fs::remove_file(tiny.path(name)).unwrap();
        tiny.error()
    };
    for name in [
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "modules.json",
        "1_Pooling/config.json",
    ] {
        assert_eq!(
            without(name),
            format!("cannot read a file of the embedding model in `FOLDER/{name}`")
        );
    }
    assert_eq!(
        changed("model_type", json!("mpnet")),
        "only `bert` can be computed here, not the architecture `mpnet` in `FOLDER/config.json`"
    );
    assert_eq!(
        changed("hidden_act", json!("relu")),
        "hidden_act must be `gelu`, not `relu` in `FOLDER/config.json`"
    );
    assert_eq!(
        changed("position_embedding_type", json!("relative_key")),
        "position_embedding_type must be `absolute`, not `relative_key` in `FOLDER/config.json`"
    );
    assert_eq!(
        changed("hidden_size", json!(13)),
        "no size may be 0, and num_attention_heads must divide hidden_size: `13` in \
         `FOLDER/config.json`"
    );
    assert_eq!(
        changed("intermediate_size", json!(21)),
        "tensor `encoder.layer.0.intermediate.dense.weight` has shape [20, 12], config.json wants \
         `[21, 12]` in `FOLDER/model.safetensors`"
    );
    assert_eq!(
        changed("num_hidden_layers", json!(3)),
        "no tensor `encoder.layer.2.attention.self.query.weight` in `FOLDER/model.safetensors`"
    );
    assert_eq!(
        changed("vocab_size", json!(11)),
        "the tokenizer has 12 tokens, the model `11` in `FOLDER/tokenizer.json`"
    );
    assert_eq!(
        with("config.json", json!([])),
        "not the JSON that a sentence-transformers folder has in `FOLDER/config.json`"
    );
    assert_eq!(with("tokenizer.json", json!({})), "not a tokenizer in `FOLDER/tokenizer.json`");
    assert_eq!(
        with("modules.json", json!([])),
        "a Transformer and a Pooling module are needed in `FOLDER/modules.json`"
    );
    assert_eq!(
        with(
            "modules.json",
            json!([{"path": "2_Dense", "type": "sentence_transformers.models.Dense"}])
        ),
        "cannot compute the module `sentence_transformers.models.Dense` in `FOLDER/modules.json`"
    );
    assert_eq!(
        with("1_Pooling/config.json", json!({"pooling_mode_max_tokens": true})),
        "exactly one of pooling_mode_mean_tokens and pooling_mode_cls_token must be on, and no \
         other mode in `FOLDER/1_Pooling/config.json`"
    );
    assert_eq!(
        with("sentence_bert_config.json", json!({"max_seq_length": 2})),
        "no room between [CLS] and [SEP] for max_seq_length `2` in \
         `FOLDER/sentence_bert_config.json`"
    );
    assert_eq!(
        with("model.safetensors", json!("x")),
        "not a safetensors file in `FOLDER/model.safetensors`"
    );
    let half = Tiny::new();
    half.write_weights(Dtype::BF16, "");
    assert_eq!(
        half.error(),
        "tensor `embeddings.token_type_embeddings.weight` must be F32, not `BF16` in \
         `FOLDER/model.safetensors`"
    );
}

/// all-MiniLM-L6-v2 itself, if `EPISODICA_TEST_MODEL` says where it is;
/// `tools/reference_fixture.py` made the expected vectors.
#[test]
fn minilm_equals_its_reference() {
    let Some(folder) = std::env::var_os("EPISODICA_TEST_MODEL") else { return };
    let embedder = TransformerEmbedder::open(Path::new(&folder)).unwrap();
    let fixture: Value =
        serde_json::from_str(include_str!("../../../../../tests/fixtures/minilm_reference.json"))
            .unwrap();
    let cases = fixture["sentences"].as_array().unwrap();
    let texts: Vec<&str> = cases.iter().map(|case| case["text"].as_str().unwrap()).collect();
    let rows = embedder.embed_texts(&texts).unwrap();
    assert!(texts.len() >= 12 && rows.ncols() == 384);
    for (case, row) in cases.iter().zip(rows.rows()) {
        let expected: Vec<f32> =
            case["vector"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap() as f32).collect();
        let cosine: f32 = row.iter().zip(expected).map(|(a, b)| a * b).sum();
        assert!(cosine >= 0.999, "{cosine}: {}", case["text"]);
    }
}
