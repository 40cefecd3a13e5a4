//! Splits messages into clauses and lists the words that the support check looks for: negations,
//! speakers, relatives, and words that need literal support.

use std::collections::HashSet;

use super::support::{capitalised, keys};
use crate::model::Message;

/// A part of a message between two punctuation marks.
pub(super) struct Clause<'a> {
    pub(super) speaker: &'a str,
    pub(super) text: String,
    pub(super) keys: HashSet<String>,
    pub(super) negated: bool,
    pub(super) is_question: bool,
    /// The relative of the speaker whom the clause is about: "my sister Eva".
    pub(super) kin: Vec<String>,
}

pub(super) fn clauses_of(message: &Message) -> Vec<Clause<'_>> {
    const MARKS: [char; 18] = [
        '.', ',', ';', '!', '?', ':', '\n', '。', '，', '；', '！', '？', '：', '、', '—', '(',
        ')', '…',
    ];
    let parts = message.content.split(MARKS).filter(|part| part.chars().any(char::is_alphanumeric));
    let mut kin: Vec<String> = Vec::new();
    parts
        .map(|part| {
            let text = format!(" {} ", part.to_lowercase());
            if opens_with_kin(&text) {
                let head = part.char_indices().nth(KIN_CHARS).map_or(part, |(end, _)| &part[..end]);
                let names = capitalised(head).into_iter().map(str::to_lowercase);
                kin = KIN
                    .iter()
                    .filter(|one| text.contains(**one))
                    .map(|one| one.trim().to_owned())
                    .collect();
                kin.extend(names.filter(|name| !MINE.contains(&format!(" {name} ").as_str())));
            } else if has(&text, &FIRST) {
                kin.clear();
            }
            Clause {
                speaker: message.speaker(),
                is_question: message.content.contains(['?', '？']),
                keys: folded_keys(part).into_iter().collect(),
                negated: is_negated(&text),
                kin: kin.clone(),
                text,
            }
        })
        .collect()
}

/// [`keys`] without diacritics; keys of four letters lose one, so that "gatito" and "gato" have the
/// same key.
pub(super) fn folded_keys(text: &str) -> Vec<String> {
    let fold = |character: char| match character {
        'ä' | 'á' | 'à' | 'â' => 'a',
        'ö' | 'ó' | 'ô' => 'o',
        'ü' | 'ú' => 'u',
        'é' | 'è' | 'ê' => 'e',
        'í' => 'i',
        'ñ' => 'n',
        other => other,
    };
    let short = |key: String| {
        let key: String = key.chars().map(fold).collect();
        if key.chars().all(|one| one.is_ascii_alphabetic()) {
            key.chars().take(3).collect()
        } else {
            key
        }
    };
    keys(text).into_iter().map(short).collect()
}

pub(super) fn has(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.contains(word))
}

/// Words that a fact may use only if its messages use them.
pub(super) const WEIGHTY: [&[&str]; 12] = [
    &[" owe", "debt", "schulde", " debe ", "deuda", "欠"],
    &[
        " won ", " win ", " wins ", "winner", "champion", "gewann", "gewonnen", " ganó ", "campe",
        "冠军", "获胜", "赢",
    ],
    &["afraid", "scared", "fear", "angst", "miedo", "害怕", "恐"],
    &["married", "marries", "wedding", "heirat", "casó", "casad", "结婚"],
    &["divorce", "geschieden", "divorci", "离婚"],
    &["pregnant", "schwanger", "embaraz", "怀孕"],
    &[" died", " dead", "gestorben", "murió", "去世", "死"],
    &[" ill ", " sick", "disease", "krank ", "enfermó", "enfermedad", "生病", "失眠"],
    &["fired", "entlassen", "despid", "解雇"],
    &["arrest", "verhaftet", "detenid", "被捕"],
    &["stole", "steal", "gestohlen", "robó", "偷"],
    &[" hate", "hasst", " odia", "讨厌"],
];
/// Words for a birth.
pub(super) const BIRTHS: [&str; 4] = ["born", "geboren", "nació", "出生"];

pub(super) const NEGATIONS: [&str; 30] = [
    " not ",
    "n't ",
    "n’t ",
    " never ",
    " no ",
    " without ",
    " nobody ",
    " none ",
    " neither ",
    "dislike",
    " nicht ",
    " kein",
    " nie ",
    " niemals ",
    " ohne ",
    " nunca ",
    " sin ",
    " jamás ",
    " ni ",
    " ningun",
    "不",
    "没",
    "未",
    "别",
    "無",
    "gave up",
    "quit ",
    "stopped ",
    "aufgehört",
    "dej",
];
/// Phrases that look like a negation but are not.
pub(super) const NOT_NEGATIONS: [&str; 6] =
    ["不过", "没事", "不错", "no one knows", "not only", "不客气"];

/// True if the text (lower case, with spaces around it) denies something or says that it ended.
pub(super) fn is_negated(text: &str) -> bool {
    let mut text = text.to_owned();
    for harmless in NOT_NEGATIONS {
        text = text.replace(harmless, "");
    }
    NEGATIONS.iter().any(|word| text.contains(word))
        || text.contains("戒") && !text.contains("戒指")
}

/// Words for "I" and "my", for "you", and for "we".
pub(super) const FIRST: [&str; 24] = [
    " i ", " i'm ", " i've ", " i'd ", " i'll ", " my ", " me ", " we ", " we're ", " our ",
    " ich ", " mein", " mir ", " mich ", " wir ", " yo ", " mi ", " mis ", " me ", "我", " nos ",
    " uns", " us ", "we've ",
];
pub(super) const SECOND: [&str; 12] = [
    " you ", " your ", " you're ", " you've ", " du ", " dein", " dir ", " tú ", " tu ", " te ",
    "你", "您",
];
/// Words for relatives and other people of the speaker.
pub(super) const KIN: [&str; 72] = [
    "sister",
    "brother",
    "mother",
    "father",
    "mum",
    "mom",
    "dad",
    "husband",
    "wife",
    "son ",
    "daughter",
    "partner",
    "boyfriend",
    "girlfriend",
    "friend",
    "dog",
    "cat",
    "boss",
    "colleague",
    "uncle",
    "aunt",
    "schwester",
    "bruder",
    "mutter",
    "vater",
    "mann ",
    "frau ",
    "sohn",
    "tochter",
    "freund",
    "hund",
    "katze",
    "chef",
    "kolleg",
    "onkel",
    "tante",
    "hermana",
    "hermano",
    "madre",
    "padre",
    "marido",
    "esposa",
    "mujer",
    "hijo",
    "hija",
    "novio",
    "novia",
    "amig",
    "perro",
    "gato",
    "jefe",
    "tío",
    "tía",
    "妹",
    "姐",
    "弟",
    "哥",
    "妈",
    "爸",
    "丈夫",
    "妻",
    "老公",
    "老婆",
    "儿子",
    "女儿",
    "朋友",
    "狗",
    "猫",
    "老板",
    "同事",
    "叔",
    "姨",
];
pub(super) const MINE: [&str; 5] = [" my ", " mein", " mi ", " mis ", "我"];

/// Number of characters at the start of a clause in which a relative is looked for.
pub(super) const KIN_CHARS: usize = 26;

/// True if a clause begins with a relative, such as "my sister".
pub(super) fn opens_with_kin(clause: &str) -> bool {
    let head: String = clause.chars().take(KIN_CHARS).collect();
    MINE.iter().any(|mine| {
        head.find(mine).is_some_and(|at| {
            let after: String = head[at..].chars().take(16).collect();
            has(&after, &KIN)
        })
    })
}
