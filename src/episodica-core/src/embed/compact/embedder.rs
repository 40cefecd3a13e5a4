//! The [`Embedder`] over the encoder in the package.

use std::cmp::Reverse;

use ndarray::Array2;
use rayon::prelude::*;

use super::forward::{CompactEncoder, DIMENSION};
use super::pieces::PieceVocabulary;
use crate::control::CallControl;
use crate::embed::Embedder;
use crate::error::Result;
use crate::fork::ForkLazy;
use crate::parallel::{FEW_TEXTS, map_items, run_in_pool};

/// Name and version: raised whenever any text gets another vector.
pub const COMPACT_MODEL: &str = "episodica-compact-256-v1";

/// Maximum number of tokens that are read from a text, as in the static table.
const MAX_TOKENS: usize = 4_096;

/// Longer texts are split into parts of about equal length; the vector is the mean of the parts'
/// vectors.
const MAX_PART: usize = 112;

/// A call can be cancelled each time that texts of this length are embedded: some tenths of a
/// second.
const BYTES_BETWEEN_CHECKS: usize = 1 << 16;

/// Tokens that one thread computes at once.
const TOKENS_PER_PACK: usize = 512;

static ENCODER: &[u8] = include_bytes!("../../../assets/compact.safetensors");
static PIECES: &str = include_str!("../../../assets/pieces.txt");

/// The multilingual sentence encoder inside the package.
#[derive(Debug, Clone, Copy, Default)]
pub struct CompactEmbedder;

struct Compact {
    encoder: CompactEncoder,
    pieces: PieceVocabulary,
}

/// Read at the first call (some ten milliseconds).
fn shared_encoder() -> &'static Compact {
    static SHARED: ForkLazy<Compact> = ForkLazy::new(|| Compact {
        encoder: CompactEncoder::new(ENCODER),
        pieces: PieceVocabulary::new(PIECES),
    });
    &SHARED
}

impl CompactEmbedder {
    /// The rows of a text in the table of pieces: the mean of all, of the first two and of the last
    /// two, each of length 1; `None` for a text without pieces. Costs a thousandth of a vector.
    pub(crate) fn table_means(text: &str) -> Option<[f32; 3 * DIMENSION]> {
        let compact = shared_encoder();
        compact.encoder.table_means(&compact.pieces.piece_ids(text, MAX_TOKENS))
    }
}

/// The pieces of a text in order, as the encoder reads it.
pub(crate) fn piece_ids(text: &str) -> Vec<u16> {
    shared_encoder().pieces.piece_ids(text, MAX_TOKENS)
}

impl Embedder for CompactEmbedder {
    fn model_name(&self) -> &str {
        COMPACT_MODEL
    }

    fn dimension(&self) -> Option<usize> {
        Some(DIMENSION)
    }

    fn is_local(&self) -> bool {
        true
    }

    fn is_own(&self) -> bool {
        true
    }

    fn embed_controlled(&self, texts: &[&str], control: &dyn CallControl) -> Result<Array2<f32>> {
        let mut rows = Vec::with_capacity(texts.len() * DIMENSION);
        for batch in split_packs(texts, BYTES_BETWEEN_CHECKS, |text| text.len()) {
            control.check()?;
            rows.extend(self.embed_texts(batch)?);
        }
        Ok(Array2::from_shape_vec((texts.len(), DIMENSION), rows)
            .expect("invariant: each text has a row"))
    }

    fn embed_texts(&self, texts: &[&str]) -> Result<Array2<f32>> {
        let compact = shared_encoder();
        let ids =
            map_items(texts.to_vec(), FEW_TEXTS, |text| compact.pieces.piece_ids(text, MAX_TOKENS));
        let mut parts: Vec<(usize, &[u16])> = Vec::new();
        for (at, ids) in ids.iter().enumerate().filter(|(_, ids)| !ids.is_empty()) {
            let length = ids.len().div_ceil(ids.len().div_ceil(MAX_PART));
            parts.extend(ids.chunks(length).map(|part| (at, part)));
        }
        // Longest first, so that the largest pack does not start last and delay the end.
        parts.sort_by_key(|(_, part)| Reverse(part.len()));
        let embed = |pack: &'_ [(usize, &[u16])]| {
            let sequences: Vec<&[u16]> = pack.iter().map(|(_, part)| *part).collect();
            compact.encoder.embed_sequences(&sequences)
        };
        let packs = split_packs(&parts, TOKENS_PER_PACK, |(_, part)| part.len());
        let vectors: Vec<Array2<f32>> = if packs.len() > 1 {
            run_in_pool(|| packs.par_iter().map(|pack| embed(pack)).collect())
        } else {
            packs.iter().map(|pack| embed(pack)).collect()
        };
        let mut rows = Array2::zeros((texts.len(), DIMENSION));
        for (pack, vectors) in packs.iter().zip(&vectors) {
            for ((at, _), vector) in pack.iter().zip(vectors.rows()) {
                rows.row_mut(*at).scaled_add(1.0, &vector);
            }
        }
        for mut row in rows.rows_mut() {
            let length = row.dot(&row).sqrt();
            if length > 0.0 {
                row /= length;
            }
        }
        Ok(rows)
    }
}

/// Runs of items whose lengths add up to at most `most`; a longer item is a run of its own.
fn split_packs<T>(items: &[T], most: usize, length: impl Fn(&T) -> usize) -> Vec<&[T]> {
    let mut packs = Vec::new();
    let mut rest = items;
    while !rest.is_empty() {
        let mut total = 0;
        let fitting = rest.iter().take_while(|item| {
            total += length(item);
            total <= most
        });
        let (pack, tail) = rest.split_at(fitting.count().max(1));
        packs.push(pack);
        rest = tail;
    }
    packs
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;
    use crate::control::CancelFlag;

    fn vector(text: &str) -> Vec<f32> {
        CompactEmbedder.embed_texts(&[text]).unwrap().row(0).to_vec()
    }

    fn cosine(a: &str, b: &str) -> f32 {
        vector(a).iter().zip(vector(b)).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn the_assets_are_those_of_the_recipe() {
        for (data, expected) in [
            (ENCODER, "3d62cda310787f285d6932ed9a8518e9b357bb2e5f2efc7b72e44f4cfce918f2"),
            (PIECES.as_bytes(), "a67584a82c5730edaaf13a957a5d2f42b1709a00c4422100c39181751a586b14"),
        ] {
            let digest: String =
                Sha256::digest(data).iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(digest, expected);
        }
    }

    #[test]
    fn a_translation_is_nearer_than_another_subject() {
        for (text, translation, other) in [
            ("I adopted a cat yesterday", "Ayer adopté un gato", "La reunión es el martes"),
            ("My sister is a doctor", "我姐姐是医生", "我们周末去海边钓鱼"),
            ("We moved to a new flat", "新しいアパートに引っ越しました", "母の誕生日に花を贈った"),
            ("Ich habe mir das Bein gebrochen", "I broke my leg", "The train leaves at nine"),
            ("Моя кошка спит на диване", "My cat sleeps on the sofa", "The report is late"),
            ("J'ai peur des chiens", "무서운 강아지", "회사 회의가 있습니다"),
        ] {
            let (near, far) = (cosine(text, translation), cosine(text, other));
            assert!(near > far + 0.1, "{text}: {translation} {near}, {other} {far}");
        }
    }

    #[test]
    fn vectors_equal_those_of_the_training_program() {
        // Text, then the first four values of its vector as the training program computes them in
        // float64 from the same files.
        for (text, expected) in REFERENCE {
            let found = vector(text);
            for (found, expected) in found.iter().zip(expected) {
                assert!((found - expected).abs() < 2e-4, "{text}: {found} {expected}");
            }
        }
    }

    const REFERENCE: [(&str, [f32; 4]); 10] = [
        ("I adopted a puppy last week", [-0.290_470, 0.023_048, -0.108_158, -0.121_916]),
        (
            "How long does the train to Hamburg take?",
            [-0.181_997, 0.010_069, 0.083_679, -0.065_838],
        ),
        ("我昨天领养了一只小猫", [-0.152_606, 0.148_844, -0.148_195, 0.042_194]),
        ("週末に京都のお寺を見に行きました", [-0.141_850, 0.264_870, -0.136_047, -0.168_292]),
        ("어제 고양이를 입양했어요", [-0.075_363, 0.156_489, -0.123_593, -0.147_771]),
        (
            "Ich habe mir beim Skifahren das Bein gebrochen.",
            [-0.193_244, 0.116_261, -0.222_794, -0.060_300],
        ),
        ("Mi hermana vive en Valencia desde 2019", [-0.179_079, 0.196_375, -0.015_903, -0.003_332]),
        ("Квартальный отчёт опять опаздывает", [-0.068_319, -0.032_095, -0.049_044, -0.110_008]),
        ("lol idk 😂 ask mum, she's at home", [-0.353_999, -0.122_254, -0.087_322, -0.011_491]),
        (
            "No me digas! Das ist ja toll, congrats 🎉",
            [-0.263_292, 0.174_550, -0.044_077, -0.117_505],
        ),
    ];

    #[test]
    fn a_text_without_pieces_is_all_zeros_and_ugly_ones_have_length_one() {
        for text in ["", " \n\t", "\u{200b}", "\u{3000}", "▁"] {
            assert_eq!(vector(text), vec![0.0; DIMENSION], "{text:?}");
        }
        assert!(CompactEmbedder.embed_texts(&[]).unwrap().is_empty());
        for text in ["a\0b", "ﬃ ＮＨＫ ½", "e\u{301}\u{301}\u{301}", "\u{fffd}x", "İ", "a▁b"]
        {
            let length: f32 = vector(text).iter().map(|x| x * x).sum();
            assert!((length - 1.0).abs() < 1e-4, "{text:?} {length}");
        }
    }

    #[test]
    fn case_width_and_spacing_do_not_matter() {
        for (a, b) in [("My CAT\n sleeps", "my cat sleeps"), ("ＮＨＫ　２０２４", "nhk 2024")]
        {
            assert!(cosine(a, b) > 0.999, "{a}");
        }
    }

    #[test]
    fn a_huge_text_is_judged_by_its_beginning() {
        for unit in ["word and ", "猫", "x"] {
            let text = unit.repeat(300_000);
            assert!(shared_encoder().pieces.piece_ids(&text, MAX_TOKENS).len() <= MAX_TOKENS);
        }
        let start = "a harvest of winter apples ".repeat(MAX_TOKENS);
        assert_eq!(vector(&start), vector(&(start.clone() + "unread")));
    }

    #[test]
    fn an_embedding_of_many_texts_can_be_cancelled() {
        let (flag, text) = (CancelFlag::default(), "some words and ".repeat(1_000));
        let texts = vec![&*text; 12];
        let rows = CompactEmbedder.embed_controlled(&texts, &flag).unwrap();
        assert_eq!(rows, CompactEmbedder.embed_texts(&texts).unwrap());
        flag.cancel();
        let error = CompactEmbedder.embed_controlled(&texts, &flag).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Interrupted);
    }

    #[test]
    fn a_text_has_the_same_vector_in_every_batch() {
        // To the last bit: a fact must not depend on the messages that are read with it.
        let words = ["I", "moved", "to", "猫", "Lyon", "im", "März", "with", "my", "sister", "😂"];
        let text = |i: usize| -> String {
            (0..1 + i * 7 % 23)
                .map(|at| words[(i * 5 + at * at) % words.len()])
                .collect::<Vec<_>>()
                .join(" ")
        };
        let texts: Vec<String> = (0..60).map(text).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        for size in [2, 7, 60] {
            for batch in texts.chunks(size) {
                let rows = CompactEmbedder.embed_texts(batch).unwrap();
                for (row, text) in rows.rows().into_iter().zip(batch) {
                    assert_eq!(row.to_vec(), vector(text), "{text}");
                }
            }
        }
    }

    #[test]
    fn a_batch_equals_its_texts() {
        let texts: Vec<String> =
            (0..200).map(|i| format!("message {i} 猫 ").repeat(1 + i % 40)).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let rows = CompactEmbedder.embed_texts(&texts).unwrap();
        for (row, text) in rows.rows().into_iter().zip(&texts) {
            let cosine: f32 = row.iter().zip(vector(text)).map(|(a, b)| a * b).sum();
            assert!(cosine > 0.9999, "{text}");
        }
    }
}
