//! Links of everyday sentences, and inputs that no careful caller gives.

use proptest::prelude::*;
use sha2::{Digest, Sha256};

use super::features::{PairFeatures, SentencePieces, add_cosine, compare};
use super::weights::{FILE, score_pair, score_sentence};
use super::*;

fn link(earlier: &str, later: &str) -> Option<SentenceLink> {
    LinkableQuote::of(earlier).link_with(&LinkableQuote::of(later))
}

#[test]
fn what_was_said_later_about_the_same_thing_is_linked() {
    for (earlier, later) in [
        ("The gate code is 7712.", "The gate code is 3390 now."),
        ("My favourite tea is green jasmine tea.", "My favourite tea is black jasmine tea now."),
        ("The plumber comes on Monday at nine.", "Correction: the plumber comes on Monday at ten."),
        ("My exam is on 3 June.", "They may move my exam to 10 June, nothing is fixed yet."),
        ("Mein Zug fährt um 7:42 Uhr.", "Mein Zug fährt jetzt um 8:05 Uhr."),
        ("The bakery opens on 8 March.", "The bakery opens on 15 March."),
        ("Mein Kurs beginnt am 13. November.", "Mein Kurs beginnt am 20. November."),
        ("Die Miete beträgt 310 Euro.", "Die Miete beträgt 345 Euro."),
        ("My dog weighs 8.2 kg.", "So my dog weighs 8.9 kg, not 8.2."),
        ("My backup contact is my uncle.", "I replaced my uncle by my aunt as my backup contact."),
        ("My locker number is 4417.", "Actually my locker number is 4471, not 4417."),
        ("Mon numéro de casier est le 4417.", "Mon numéro de casier est le 4471 maintenant."),
        ("Mi jefe es Andrés.", "Mi jefe ya no es Andrés, ahora es Lola."),
        ("ロッカーは218番です。", "ロッカーは305番に変わりました。"),
        ("我的储物柜是218号。", "我的储物柜换成305号了。"),
    ] {
        let found = link(earlier, later).unwrap_or_else(|| panic!("not linked: {later}"));
        assert_eq!((found.old, found.new), (0..earlier.len(), 0..later.len()));
        let least = LINKED_ODDS / (1.0 + LINKED_ODDS);
        assert!(found.score > least && found.score < 1.0, "{later}: {}", found.score);
    }
}

#[test]
fn other_talk_is_not_linked() {
    for (earlier, later) in [
        ("My cat weighs 4 kilos.", "The bridge was closed for repairs."),
        ("My sister lives in Porto.", "I bought a lamp for the hall."),
        ("My sister lives in Porto.", "My sister plays the cello."),
        ("Meine Tochter studiert in Graz.", "Der Kuchen war schnell gegessen."),
        ("我姐姐在银行上班。", "昨天下了一场大雨。"),
        ("I start at eight.", "Thanks, that helps!"),
        ("Wow, Soraya, that's rough.", "Wow Soraya, that's impressive!"),
        ("Awesome, Wendeline!", "Congrats, Wendeline!"),
        ("The gate code is 7712.", "What is the gate code?"),
    ] {
        assert_eq!(link(earlier, later), None, "{later}");
    }
}

#[test]
fn the_same_again_is_not_linked() {
    for (earlier, later) in [
        ("The choir meets on Tuesdays.", "The choir meets on Tuesdays."),
        ("The choir meets on Tuesdays.", "So the choir meets on Tuesdays!"),
        ("Mein Kurs beginnt am 13. November.", "Am 13. November beginnt mein Kurs."),
        ("我的储物柜是218号。", "我的储物柜是218号。"),
    ] {
        assert_eq!(link(earlier, later), None, "{later}");
    }
}

#[test]
fn the_sentence_that_is_meant_is_linked() {
    let (earlier, later) = (
        "I'm allergic to peanuts. The choir meets on Tuesdays in the old school.",
        "It rained all day. The choir meets on Thursdays in the old school now.",
    );
    let found = link(earlier, later).expect("linked");
    assert_eq!(&earlier[found.old], "The choir meets on Tuesdays in the old school.");
    assert_eq!(&later[found.new], "The choir meets on Thursdays in the old school now.");
}

#[test]
fn features_and_scores_are_those_of_the_recipe() {
    let pairs: [(&str, &str, PairFeatures, [f32; 2]); 3] = [
        (
            "My cello teacher lives in Porto.",
            "My cello teacher plays in Braga.",
            [
                0.7969, 0.5403, 0.6764, 0.9875, 0.6062, 0.0, 0.0, 0.0, 0.0, 1.0, 0.4286, 0.3333,
                0.0, 0.7987, 0.195,
            ],
            [1.386, -2.703],
        ),
        (
            "The gate code is 7712.",
            "New gate code: 3390, not 7712.",
            [
                1.0562, 1.0, 0.6828, 0.8, 0.7875, 0.525, 1.0, 1.0, 0.0, 1.0, 0.5, 0.3, 1.0, 0.8497,
                0.0,
            ],
            [2.767, 2.0],
        ),
        (
            "我的储物柜是218号。",
            "我的储物柜换成305号了。",
            [
                1.2844, 0.7625, 0.7038, 1.0375, 0.7063, 0.4437, 0.0, 1.0, 0.0, 1.0, 0.4444, 0.3636,
                0.0, 0.8257, 0.0,
            ],
            [2.346, 1.142],
        ),
    ];
    for (earlier, later, features, [pair, sentence]) in pairs {
        let [old, new] = [earlier, later].map(SentencePieces::of);
        let vectors = CompactEmbedder.embed_texts(&[earlier, later]).unwrap();
        let mut found = compare(&old, &new).expect("they share words");
        add_cosine(&mut found, vectors.row(0).dot(&vectors.row(1)));
        for (found, expected) in found.iter().zip(features) {
            assert!((found - expected).abs() < 1e-3, "{later}: {found} {expected}");
        }
        let found = [score_pair(&found), score_sentence(&new, &vectors.row(1).to_vec())];
        for (found, expected) in found.iter().zip([pair, sentence]) {
            assert!((found - expected).abs() < 0.02, "{later}: {found} {expected}");
        }
    }
}

#[test]
fn the_file_is_the_one_of_the_recipe() {
    let digest = Sha256::digest(FILE);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(include_str!("../../../../../tools/train_links.py").contains(&hex), "{hex}");
}

proptest! {
    #[test]
    fn any_text_is_read(earlier in any::<String>(), later in any::<String>()) {
        for (old, new) in [(&earlier, &later), (&later, &earlier), (&earlier, &earlier)] {
            if let Some(found) = link(old, new) {
                prop_assert!(found.score.is_finite());
                prop_assert!(old.get(found.old).is_some() && new.get(found.new).is_some());
            }
        }
    }
}
