//! The package's own embedder: a table of vectors, without network access or a neural network.
//!
//! A text's vector is the weighted mean of its tokens' vectors. The token vectors were distilled
//! from all-MiniLM-L6-v2 by `tools/distill_table.py`; their norms encode how rare a token is (SIF).
//! Words outside the vocabulary get pseudo-random directions from a hash, see
//! [`features`](super::features). The same text gives the same bits on every machine.
//!
//! The table also serves late interaction (MaxSim): [`StaticTable::token_ids`] and
//! [`StaticTable::token_vector`].

use episodica_simd::add_scaled;
use ndarray::Array2;
use rayon::prelude::*;
use safetensors::SafeTensors;

use super::Embedder;
use super::features::{FeatureWeight, VOCABULARY, feature_ids};
use super::wordpiece::WordPiece;
use crate::error::Result;
use crate::fork::ForkLazy;
use crate::text::hash::mix;

/// Dimension of a vector.
pub const STATIC_DIMENSION: usize = 256;

/// Maximum number of tokens that are read from a text. Far more than people write in a message, but
/// a bound on the time that a pasted file can take.
pub const STATIC_MAX_TOKENS: usize = 4_096;

/// Name and version of the table and the features; raised whenever the vector of any text changes.
pub const STATIC_MODEL: &str = "episodica-static-minilm-256-v2";

/// Norm of a rare word's vector: the median over the last third of the vocabulary (a test compares
/// it with the table).
const RARE_NORM: f32 = 7.0;

/// Number of texts that one task embeds: enough to amortise the cost of scheduling.
const TEXTS_PER_TASK: usize = 64;

static TABLE: &[u8] = include_bytes!("../../assets/static_table.safetensors");
static VOCABULARY_TEXT: &str = include_str!("../../assets/vocab.txt");

/// Signs of the hashed vectors. The vector of bucket b has the [`STATIC_DIMENSION`] signs that
/// start at b. Windows of one random sequence are as orthogonal as independent sequences (cosine 0
/// ± 1/16), and one sequence fits the processor's cache.
static SIGNS: [i8; BUCKETS + STATIC_DIMENSION] = hash_signs();
const BUCKETS: usize = 65_536 - VOCABULARY as usize;

const fn hash_signs() -> [i8; BUCKETS + STATIC_DIMENSION] {
    let mut signs = [0; BUCKETS + STATIC_DIMENSION];
    let mut at = 0;
    while at < signs.len() {
        signs[at] = if mix(at as u64) & 1 == 0 { 1 } else { -1 };
        at += 1;
    }
    signs
}

/// The vector of one token: `row * scale`.
#[derive(Debug, Clone, Copy)]
pub struct TokenVector {
    /// Direction, in units of `scale`.
    pub row: &'static [i8; STATIC_DIMENSION],
    /// One unit of `row`; 0 for reserved tokens.
    pub scale: f32,
    /// Norm of the vector, which is its weight in a mean (SIF). The unit vector is `row * (scale /
    /// norm)`. 0 for reserved tokens.
    pub norm: f32,
}

/// The table and its tokenizer; one per process.
pub struct StaticTable {
    pieces: WordPiece,
    rows: &'static [[i8; STATIC_DIMENSION]],
    scales: Vec<f32>,
    norms: Vec<f32>,
    median_norm: f32,
}

impl StaticTable {
    /// Returns the table; the first call reads it (a few milliseconds).
    pub fn shared() -> &'static Self {
        static SHARED: ForkLazy<StaticTable> = ForkLazy::new(StaticTable::read_asset);
        &SHARED
    }

    fn read_asset() -> Self {
        let tensors = SafeTensors::deserialize(TABLE)
            .expect("invariant: the table in the package is the one a test has checked");
        let data =
            |name| tensors.tensor(name).expect("invariant: the table has both tensors").data();
        let (rows, _) =
            bytemuck::cast_slice::<u8, i8>(data("embeddings")).as_chunks::<STATIC_DIMENSION>();
        let scales: Vec<f32> =
            data("scales").as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        let norms: Vec<f32> =
            rows.iter().zip(&scales).map(|(row, scale)| row_norm(row) * scale).collect();
        let mut sorted = norms.clone();
        let (_, median_norm, _) = sorted.select_nth_unstable_by(norms.len() / 2, f32::total_cmp);
        let median_norm = *median_norm;
        Self { pieces: WordPiece::new(VOCABULARY_TEXT), rows, scales, norms, median_norm }
    }

    /// The tokens of `text` in order, repetitions included, at most [`STATIC_MAX_TOKENS`].
    ///
    /// Ids below 30,522 are lines of the vocabulary; higher ids are hashed words and character
    /// n-grams. Function words and punctuation are included, with short vectors. Empty for a text
    /// without letters, digits or symbols.
    pub fn token_ids(&self, text: &str) -> Vec<u16> {
        feature_ids(&self.pieces, text, STATIC_MAX_TOKENS)
    }

    /// Median norm of the vocabulary's vectors.
    pub(crate) fn median_norm(&self) -> f32 {
        self.median_norm
    }

    /// The vector of a token; every `u16` has one.
    pub fn token_vector(&self, id: u16) -> TokenVector {
        match FeatureWeight::from_id(id) {
            None => {
                let at = usize::from(id);
                TokenVector { row: &self.rows[at], scale: self.scales[at], norm: self.norms[at] }
            }
            Some(weight) => {
                let window = &SIGNS[usize::from(id - VOCABULARY)..];
                let norm = RARE_NORM * weight.relative_norm();
                let row = window
                    .first_chunk()
                    .expect("invariant: there is a window from every bucket on");
                TokenVector { row, scale: norm / (STATIC_DIMENSION as f32).sqrt(), norm }
            }
        }
    }

    /// The vector of a tokenised text: length 1, or all zeros without tokens.
    pub(crate) fn embed_ids(&self, ids: &[u16]) -> [f32; STATIC_DIMENSION] {
        let mut sum = [0.0; STATIC_DIMENSION];
        for id in ids {
            let token = self.token_vector(*id);
            add_scaled(&mut sum, token.row, token.scale);
        }
        let length = sum.iter().map(|x| x * x).sum::<f32>().sqrt();
        if length > 0.0 {
            sum.iter_mut().for_each(|x| *x /= length);
        }
        sum
    }

    /// The vector of a text: length 1, or all zeros without tokens. Only the first
    /// [`STATIC_MAX_TOKENS`] tokens count.
    pub(crate) fn embed_text(&self, text: &str) -> [f32; STATIC_DIMENSION] {
        self.embed_ids(&self.token_ids(text))
    }
}

/// The [`Embedder`] that uses [`StaticTable`].
#[derive(Debug, Clone, Copy, Default)]
pub struct StaticEmbedder;

impl Embedder for StaticEmbedder {
    fn model_name(&self) -> &str {
        STATIC_MODEL
    }

    fn dimension(&self) -> Option<usize> {
        Some(STATIC_DIMENSION)
    }

    fn is_local(&self) -> bool {
        true
    }

    fn is_own(&self) -> bool {
        true
    }

    fn embed_texts(&self, texts: &[&str]) -> Result<Array2<f32>> {
        let table = StaticTable::shared();
        Ok(rows_of(texts, |text| table.embed_text(text)))
    }

    fn embed_tokens(&self, tokens: &[&[u16]]) -> Option<Array2<f32>> {
        let table = StaticTable::shared();
        Some(rows_of(tokens, |ids| table.embed_ids(ids)))
    }
}

/// Returns one row per item; computes many items on all cores.
fn rows_of<T: Copy + Sync>(
    items: &[T],
    row: impl Fn(T) -> [f32; STATIC_DIMENSION] + Sync,
) -> Array2<f32> {
    let mut rows = Array2::zeros((items.len(), STATIC_DIMENSION));
    let (cells, _) = rows
        .as_slice_mut()
        .expect("invariant: a new array is contiguous")
        .as_chunks_mut::<STATIC_DIMENSION>();
    let fill = |(cells, items): (&mut [[f32; STATIC_DIMENSION]], &[T])| {
        cells.iter_mut().zip(items).for_each(|(cell, item)| *cell = row(*item));
    };
    if items.len() <= TEXTS_PER_TASK {
        fill((cells, items));
    } else {
        crate::parallel::run_in_pool(|| {
            cells
                .par_chunks_mut(TEXTS_PER_TASK)
                .zip(items.par_chunks(TEXTS_PER_TASK))
                .for_each(fill);
        });
    }
    rows
}

fn row_norm(row: &[i8; STATIC_DIMENSION]) -> f32 {
    // Exact: the sum of 256 squares of i8 stays below 2^24.
    (row.iter().map(|x| i32::from(*x) * i32::from(*x)).sum::<i32>() as f32).sqrt()
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    fn sha256(data: &[u8]) -> String {
        Sha256::digest(data).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn cosine(a: &str, b: &str) -> f32 {
        let table = StaticTable::shared();
        table.embed_text(a).iter().zip(table.embed_text(b)).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn the_assets_are_those_of_the_recipe() {
        assert_eq!(
            sha256(TABLE),
            "e1c69a8a62f5c5db7c2e3c8e8e816f9ff9b5214db029522c8b8603d7086358f9"
        );
        assert_eq!(
            sha256(VOCABULARY_TEXT.as_bytes()),
            "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
        );
    }

    #[test]
    fn every_id_has_a_vector_and_hashed_words_weigh_as_rare_ones() {
        let table = StaticTable::shared();
        assert_eq!(table.rows.len(), usize::from(VOCABULARY));
        for id in 0..=u16::MAX {
            let token = table.token_vector(id);
            let length =
                token.row.iter().map(|x| (f32::from(*x) * token.scale).powi(2)).sum::<f32>().sqrt();
            assert!((length - token.norm).abs() <= 1e-4 * token.norm, "{id}");
            assert_eq!(token.norm == 0.0, id < 999, "{id}");
        }
        let mut norms = table.norms[20_000..].to_vec();
        norms.sort_by(f32::total_cmp);
        assert!((norms[norms.len() / 2] - RARE_NORM).abs() < 0.1);
    }

    #[test]
    fn hashed_vectors_are_nearly_orthogonal() {
        let table = StaticTable::shared();
        let dot = |a: u16, b: u16| -> i32 {
            table
                .token_vector(a)
                .row
                .iter()
                .zip(table.token_vector(b).row)
                .map(|(a, b)| i32::from(*a) * i32::from(*b))
                .sum()
        };
        for lag in 1..2_000 {
            let cosine = dot(VOCABULARY, VOCABULARY + lag) as f32 / STATIC_DIMENSION as f32;
            assert!(cosine.abs() < 0.3, "{lag} {cosine}");
        }
    }

    #[test]
    fn related_texts_are_nearer_than_unrelated_ones_in_every_script() {
        let mut gaps = Vec::new();
        for (text, related, unrelated) in [
            (
                "I adopted a puppy last week",
                "her new dog is very young",
                "the quarterly tax report is late",
            ),
            ("我昨天领养了一只小猫", "小猫今天第一次洗澡", "公司下个月要搬到新的办公楼"),
            ("她在北京大学学习物理", "北京大学的物理系很有名", "我们周末去海边钓鱼"),
            (
                "週末に京都のお寺を見に行きました",
                "京都のお寺はとても静かだった",
                "新しいパソコンの調子が悪い",
            ),
            ("新しいパソコンを買いました", "パソコンの画面が割れた", "母の誕生日に花を贈った"),
            (
                "어제 고양이를 입양했어요",
                "고양이가 소파에서 자고 있어요",
                "다음 주에 회사 회의가 있습니다",
            ),
            (
                "Вчера я взял из приюта кошку",
                "Моя кошка спит на диване",
                "Квартальный отчёт опять опаздывает",
            ),
            ("Я работаю учителем в школе", "учитель пришёл в школу", "купили билеты на поезд"),
            ("تبنيت قطة صغيرة بالأمس", "القطة الصغيرة نائمة", "الاجتماع القادم في الشركة"),
            ("ฉันรับแมวมาเลี้ยง", "แมวนอนบนโซฟา", "ประชุมบริษัทสัปดาห์หน้า"),
            ("Η γάτα μου κοιμάται", "Αγαπώ τη γάτα μου", "Το τρένο φεύγει αύριο"),
            ("🎉🎂 party tonight", "🎂🎉", "🚗🔧"),
            ("so proud 👩‍🎓", "👩🏽‍🎓", "😴"),
        ] {
            let (near, far) = (cosine(text, related), cosine(text, unrelated));
            gaps.push(near - far);
            assert!(near > far + 0.05, "{text}: {related} {near}, {unrelated} {far}");
        }
        assert!(gaps.iter().sum::<f32>() / gaps.len() as f32 > 0.35, "{gaps:?}");
    }

    #[test]
    fn spacing_case_accents_and_width_hardly_matter() {
        for (a, b) in [
            ("CAFÉ  Zürich", "cafe zurich"),
            ("ＮＨＫ　２０２４", "NHK 2024"),
            ("👍🏽", "👍"),
            ("한국어", "\u{1112}\u{1161}\u{11ab}국어"),
        ] {
            assert!(cosine(a, b) > 0.999, "{a} {b} {}", cosine(a, b));
        }
    }

    #[test]
    fn a_text_without_content_is_all_zeros() {
        for text in ["", " \n\t", "\u{200b}\u{fe0f}"] {
            assert!(StaticTable::shared().token_ids(text).is_empty(), "{text:?}");
            assert_eq!(StaticTable::shared().embed_text(text), [0.0; STATIC_DIMENSION]);
        }
        assert!(StaticEmbedder.embed_texts(&[]).unwrap().is_empty());
    }

    #[test]
    fn a_huge_text_is_judged_by_its_beginning() {
        let table = StaticTable::shared();
        for unit in ["word and ", "猫", "кошка ", "😀", "é", "x"] {
            let text = unit.repeat(2_000_000);
            assert!(table.token_ids(&text).len() <= STATIC_MAX_TOKENS);
        }
        let start = "a harvest of winter apples ".repeat(STATIC_MAX_TOKENS);
        assert_eq!(table.embed_text(&start), table.embed_text(&(start.clone() + "unread")));
    }

    #[test]
    fn a_batch_equals_its_texts_and_is_the_same_every_time() {
        let texts: Vec<String> =
            (0..300).map(|i| format!("message {i} about 猫 and кот number {}", i * 7)).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let rows = StaticEmbedder.embed_texts(&texts).unwrap();
        assert_eq!(rows.dim(), (300, StaticEmbedder.dimension().unwrap()));
        for (row, text) in rows.rows().into_iter().zip(&texts) {
            assert_eq!(row.as_slice().unwrap(), StaticTable::shared().embed_text(text));
            assert!((row.dot(&row) - 1.0).abs() < 1e-5);
        }
    }

    #[test]
    fn vectors_stay_what_they_are() {
        // Other figures mean another model: raise STATIC_MODEL, or stores would mix two of them.
        let digest = |text: &str| -> String {
            let ids: Vec<u8> = StaticTable::shared()
                .token_ids(text)
                .iter()
                .flat_map(|id| id.to_le_bytes())
                .collect();
            sha256(&ids)[..12].to_owned()
        };
        assert_eq!(digest("Anna met Léon at the café; it was 8°C 😀"), "851339323469");
        assert_eq!(
            digest("我昨天买了一只小猫 パソコンを買った 고양이가 кошка القطة แมวนอนบน"),
            "d092e4dc7635"
        );
    }
}
