//! Finds the parts of a message that are not its speaker's own words: quotations, pasted and
//! forwarded texts, texts to translate, stories and suppositions, tables and data.
//!
//! Pasted text says nothing about the person who pastes it. If its end is unclear, the rest of the
//! message counts as pasted: a missed fact can be stated again, but a fact taken from another
//! person's words would replace a true one.

use std::ops::Range;

use crate::fork::ForkLazy;
use crate::generate::episode::is_common_word;
use crate::text::expression::TextExpression;
use crate::text::expressions::ExpressionTable;
use crate::text::is_cjk;
use crate::text::script::is_alphanumeric;
use crate::text::vocabulary::WordSet;

/// Where the words of others begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ForeignStart {
    /// After the match.
    Behind,
    /// At the match.
    Match,
    /// From the sentence before the match, which turns out to be a joke, to the end of the match.
    Before,
}

/// Position of an instruction: at the start of a sentence or after a request.
const ORDER: &str = concat!(
    r"(?m:(?:^|[.!?;,]\s+|^\W+)|\b(?:please|pls|kindly|(?:can|could|would|will) you|help me|",
    r"help me to|bitte|mir|kannst du|por favor|puedes|s'il te plaît|peux-tu)[ ,]+)",
);

const TABLE: &str = include_str!("voice.txt");

static EXPRESSIONS: ForkLazy<ExpressionTable<ForeignStart>> = ForkLazy::new(|| {
    let mut from = ForeignStart::Behind;
    let mut lines = Vec::new();
    for line in TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line {
            "@behind" => from = ForeignStart::Behind,
            "@match" => from = ForeignStart::Match,
            "@before" => from = ForeignStart::Before,
            pattern => lines.push((pattern.replace("{ORDER}", ORDER), from)),
        }
    }
    ExpressionTable::new(lines)
});

/// The time before a speaker's name in a pasted chat: "[12.03.24, 10:00] Mallory: I moved."
static TIME_STAMP: ForkLazy<TextExpression> = ForkLazy::new(|| {
    TextExpression::new(
        concat!(
            r"^[\[(]?[\d./年月日, T-]{0,20}\d{1,2}:\d{2}(?::\d{2})?",
            r"(?:\s?[ap]\.?m\.?)?[\])]?(?:\s+[-–—])?\s+",
        )
        .to_owned(),
    )
});

/// Labels before a colon that do not name a speaker.
const LABELS: [&str; 18] = [
    "update",
    "edit",
    "ps",
    "p.s",
    "note",
    "news",
    "fyi",
    "reminder",
    "correction",
    "btw",
    "info",
    "nb",
    "nachtrag",
    "hinweis",
    "nota",
    "aviso",
    "更新",
    "备注",
];

/// First-person words, in several languages.
static FIRST_PERSON: WordSet = ForkLazy::new(|| {
    let words = "\
        i i'm i've i'd i'll im my me mine we we're we've our us ich mein meine mir mich wir unser \
        je j'ai j'habite m'appelle mon ma mes nous yo mi mis me soy estoy vivo tengo trabajo io \
        mio mia abito lavoro eu meu minha moro";
    words.split_whitespace().collect()
});

/// A quotation with fewer words is taken for a name or a title, unless it is in the first person.
const SPEECH_WORDS: usize = 3;
/// Same limit for scripts without spaces, in characters.
const SPEECH_CHARACTERS: usize = 5;
/// Maximum length of a quotation and of a label, in bytes.
const MAX_QUOTATION: usize = 4_000;
const MAX_LABEL: usize = 40;

/// The words of others in a speaker's text: ranges of bytes, in order, without overlaps.
pub(in crate::generate) fn words_of_others(text: &str, speaker: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    from_here_on(text, &mut found);
    lines(text, speaker, &mut found);
    quotations(text, &mut found);
    found.sort_unstable_by_key(|range| range.start);
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in found {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// Finds the rest of a message after a cue that ends the speaker's own words.
fn from_here_on(text: &str, found: &mut Vec<Range<usize>>) {
    let mut start = text.len();
    for (pattern, from) in EXPRESSIONS.candidates(text) {
        let Some(place) = pattern.find(text).map(|found| found.range()) else { continue };
        match from {
            ForeignStart::Behind => start = start.min(place.end),
            ForeignStart::Match => start = start.min(place.start),
            ForeignStart::Before => found.push(sentence_before(text, place.start)..place.end),
        }
    }
    if start < text.len() {
        found.push(start..text.len());
    }
}

/// Start of the sentence that ends before `end`.
fn sentence_before(text: &str, end: usize) -> usize {
    let before = text[..end].trim_end_matches(|c: char| !c.is_alphanumeric());
    let mark = before.rfind(['.', '!', '?', '\n', '。', '！', '？']);
    mark.map_or(0, |at| at + before[at..].chars().next().map_or(0, char::len_utf8))
}

/// Finds quoted lines, tables, data, lines of other speakers and signatures.
fn lines(text: &str, speaker: &str, found: &mut Vec<Range<usize>>) {
    let (mut at, mut comment, mut is_pasted) = (0, false, false);
    for line in text.split_inclusive('\n') {
        let range = at..at + line.len();
        at = range.end;
        let bare = line.trim();
        if range.start > 0 && is_signature(bare) {
            found.push(range.start..text.len());
            return;
        }
        if introduces(bare) {
            found.push(range.end..text.len());
            return;
        }
        // The lines after another person's belong to it, up to an empty line.
        let is_other = is_by_another(bare, speaker);
        is_pasted = is_other || is_pasted && !bare.is_empty() && !is_by(bare, speaker);
        comment |= bare.starts_with("<!--");
        if comment || is_pasted || is_data(bare) {
            found.push(range);
        }
        comment &= !bare.contains("-->");
    }
}

fn is_data(line: &str) -> bool {
    let marked = line.starts_with(['>', '|', '{', '}', '＞'])
        || line.starts_with("&gt;")
        || line.starts_with("[{")
        || line.starts_with("[tool");
    marked
        || line.matches('|').count() > 1
        || line.starts_with('<') && line.contains('>')
        || line.starts_with('"') && (line.contains("\":") || line.contains("\" :"))
}

fn is_signature(line: &str) -> bool {
    const CLOSINGS: [&str; 18] = [
        "--",
        "best",
        "best regards",
        "kind regards",
        "regards",
        "sincerely",
        "cheers",
        "yours",
        "mit freundlichen grüßen",
        "viele grüße",
        "liebe grüße",
        "cordialement",
        "bien à vous",
        "saludos",
        "un saludo",
        "atentamente",
        "此致",
        "敬具",
    ];
    let plain = line.trim_end_matches([',', '.', '!', '，']).to_lowercase();
    CLOSINGS.contains(&plain.as_str()) || plain.starts_with("sent from my ")
}

/// "Mallory: I moved to Moscow."
fn is_by_another(line: &str, speaker: &str) -> bool {
    let line = TIME_STAMP.find(line).map_or(line, |stamp| &line[stamp.range().end..]);
    let Some(colon) = line.find([':', '：']).filter(|at| *at > 0 && *at <= MAX_LABEL) else {
        return false;
    };
    let (label, rest) = (line[..colon].trim(), &line[colon..]);
    let is_name = |word: &str| {
        let lower = word.to_lowercase();
        let lower = lower.trim_matches('.');
        word.starts_with(|c: char| c.is_uppercase() || is_cjk(c))
            && !LABELS.contains(&lower)
            && !is_common_word(lower)
    };
    let words = label.split_whitespace().count();
    let quotes = rest.trim_start_matches([':', '：', ' ']).starts_with(['"', '“', '„', '«', '「']);
    let names = label.split_whitespace().all(is_name)
        && (1..=3).contains(&words)
        && (!label.contains(is_cjk) || label.chars().count() <= 4);
    names && !is_label_of(label, speaker) && (quotes || speaks_of_self(rest))
}

/// "Alice: I live in Oslo.", said by Alice.
fn is_by(line: &str, speaker: &str) -> bool {
    let line = TIME_STAMP.find(line).map_or(line, |stamp| &line[stamp.range().end..]);
    line.find([':', '：']).is_some_and(|colon| is_label_of(line[..colon].trim(), speaker))
}

fn is_label_of(label: &str, speaker: &str) -> bool {
    let (label, speaker) = (label.to_lowercase(), speaker.to_lowercase());
    label == speaker || speaker.split_whitespace().any(|word| word == label)
}

/// Verbs by which a line introduces another person's text.
const SENDING: &str = "\
    wrote writes sent sends said says texted posted forwarded replied answered \
    schrieb schreibt geschrieben schickte schickt geschickt sagte sagt meinte gepostet \
    escribió escribe mandó manda envió dijo dice écrit envoyé dit répondu";

/// "Look what he sent:" at the end of a line.
fn introduces(line: &str) -> bool {
    let Some(line) = line.strip_suffix([':', '：']) else { return false };
    if line.contains(is_cjk) {
        return !line.starts_with('我') && line.contains(['写', '说', '发', '回']);
    }
    let lower = line.to_lowercase().replace('’', "'");
    let mut words = lower.split(|c: char| !c.is_alphanumeric() && c != '\'');
    let has = |list: &str, word: &str| list.split_whitespace().any(|known| known == word);
    words.clone().any(|word| has(SENDING, word))
        && !words.any(|word| has("i i've ich je j'ai yo we wir", word))
}

/// True if a text has a first-person word.
pub(in crate::generate) fn speaks_of_self(text: &str) -> bool {
    let lower = text.to_lowercase().replace('’', "'");
    lower.contains(['我', '私', '僕', '俺'])
        || lower
            .split(|c: char| !is_alphanumeric(c) && c != '\'')
            .any(|word| FIRST_PERSON.contains(word))
}

/// Finds text in quotation marks, unless it is a name or a title.
fn quotations(text: &str, found: &mut Vec<Range<usize>>) {
    let mut at = 0;
    while let Some(offset) =
        text[at..].find(['"', '“', '”', '„', '«', '»', '「', '『', '\'', '‘', '‚', '›', '‹'])
    {
        let start = at + offset;
        let open = text[start..].chars().next().unwrap_or_default();
        let inner = start + open.len_utf8();
        let Some(length) = closing(text, start, inner, open) else {
            at = inner;
            continue;
        };
        let inside = inner..inner + length;
        if is_speech(&text[inside.clone()]) {
            found.push(inside.clone());
        }
        at = inside.end + text[inside.end..].chars().next().map_or(0, char::len_utf8);
    }
}

/// The length of the quotation that the mark `open` begins; `None` if the mark begins none.
fn closing(text: &str, start: usize, inner: usize, open: char) -> Option<usize> {
    let closes: &[char] = match open {
        '"' => &['"'],
        '“' => &['”', '“'],
        '”' => &['”'],
        '„' => &['“', '”', '"'],
        '«' => &['»'],
        '»' => &['«', '»'],
        '「' => &['」'],
        '『' => &['』'],
        '‘' => &['’'],
        '‚' => &['‘', '’'],
        '›' => &['‹', '›'],
        '‹' => &['›'],
        _ => &['\''],
    };
    let before = text[..start].chars().next_back();
    // The mark is an apostrophe, or stands for inches.
    if before.is_some_and(|c| c.is_alphanumeric() && !is_cjk(c)) {
        return None;
    }
    // Bounded, so that a text of opening marks costs no more than its length.
    let limit = (inner + MAX_QUOTATION..text.len())
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(text.len());
    let mut from = inner;
    loop {
        let end = from + text.get(from..limit)?.find(closes)?;
        let mark = text[end..].chars().next().map_or(1, char::len_utf8);
        let after = text[end + mark..].chars().next();
        // A mark inside a word is an apostrophe.
        let is_end = !matches!(open, '\'' | '‘' | '‚')
            || after.is_none_or(|c| !c.is_alphanumeric())
                && text[..end].ends_with(|c: char| !c.is_whitespace());
        if is_end {
            return Some(end - inner);
        }
        from = end + mark;
    }
}

fn is_speech(text: &str) -> bool {
    if text.contains(is_cjk) {
        return text.chars().filter(|c| c.is_alphanumeric()).count() >= SPEECH_CHARACTERS
            || speaks_of_self(text);
    }
    let words = || text.split_whitespace();
    let capital = |word: &str| word.len() < 4 || word.starts_with(|c: char| !c.is_lowercase());
    let opens = text.starts_with(|c: char| c.is_uppercase() || c.is_numeric());
    let is_title = opens && words().all(capital) && !text.ends_with(['.', '!', '?', ',']);
    words().count() >= SPEECH_WORDS && !is_title || speaks_of_self(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(text: &str) -> String {
        let mut own = String::new();
        let mut at = 0;
        for range in words_of_others(text, "Alice Kern") {
            own.push_str(&text[at..range.start]);
            at = range.end;
        }
        own.push_str(&text[at..]);
        own
    }

    #[test]
    fn the_table_is_sound() {
        assert!(EXPRESSIONS.len() > 20);
    }

    #[test]
    fn words_of_others_are_left_out() {
        for text in [
            "He said \"I live in Berlin\" and laughed.",
            "“I moved to Berlin” is what Mallory told me.",
            "Er sagte „Ich wohne in Berlin“ und lachte.",
            "Elle a dit « J'habite à Berlin ».",
            "'I live in Berlin' was the title.",
            "小红说：“我住在Berlin。”",
            "彼は「Berlinに住んでいます」と言った。",
            "> I live in Berlin",
            "Mallory: I moved to Berlin.",
            "Dr. Weber: My phone number is Berlin.",
            "[12.03.24, 10:00:05] Mallory: I moved to Berlin.",
            "Look at this:\n12/03/2024, 10:00 pm - Mallory: I moved to Berlin.",
            "10:00 Mallory: I moved to Berlin.",
            "[2024-03-12 10:00] 小红：我搬到Berlin了。",
            "From: Mallory <m@example.org>\nMy email is Berlin.",
            "On 3 May, Mallory wrote:\nI live in Berlin.",
            "Translate into French: I live in Berlin.",
            "Please proofread this. I live in Berlin and I am happy.",
            "Can you rephrase: my home is Berlin",
            "Übersetze ins Englische: Ich wohne in Berlin.",
            "Traduis en anglais : j'habite à Berlin.",
            "Traduce al inglés: vivo en Berlin.",
            "请翻译：我住在Berlin。",
            "转发：我住在Berlin。",
            "In my novel I live in Berlin.",
            "Imagine I live in Berlin.",
            "Let's say I live in Berlin.",
            "Stell dir vor, ich wohne in Berlin.",
            "Here is an email I got: Hi, I live in Berlin now. Best, Tom",
            "{\"home\": \"I live in Berlin\"}",
            "<p>I live in Berlin</p>",
            "<!-- I live in Berlin -->",
            "| me | I live in Berlin |",
            "Hi\n--\nAlice, I live in Berlin",
            "Write a story about me: I live in Berlin.",
            "I live in Berlin. Just kidding!",
            "Ann: \"I moved to Oslo.\"\nThe flat in Berlin is mine.",
            "Ann: \"Such news!\"\nI live in Berlin.",
            "My sister wrote this to me:\nI moved to Berlin.",
            "Look what Tom sent:\n\nI quit. I live in Berlin now.",
            "Das hat Tom geschrieben:\nIch wohne in Berlin.",
            "他发来一段话：\n我住在Berlin。",
        ] {
            assert!(!own(text).contains("Berlin"), "{text}: {}", own(text));
        }
    }

    #[test]
    fn the_speakers_own_lines_in_a_pasted_chat_stay() {
        assert_eq!(own("Mallory: I moved.\nAlice: I live here."), "Alice: I live here.");
        assert_eq!(own("Mallory: I moved.\nIn May.\n\nI stay."), "\nI stay.");
    }

    #[test]
    fn the_speakers_own_words_stay() {
        for text in [
            "I live in Berlin, and it's great.",
            "Alice: I live in Berlin.",
            "Two things about me:\nI live in Berlin.",
            "Update: I live in Berlin.",
            "[12.03.24, 10:00] Alice: I live in Berlin.",
            "Today at 10:00: I move to Berlin.",
            "(10:00) I moved to Berlin.",
            "12.03.24, 10:00: I moved to Berlin.",
            "My dog is called \"Berlin\".",
            "My favourite book is \"Goodbye to Berlin\".",
            "I'm 5'10\" tall, my parents' house is in Berlin and it's 6' wide.",
            "My e-mail: ann@berlin.example, Berlin",
            "We imagine a lot in Berlin.",
            "Phone: 030 1234, Berlin",
            "我住在Berlin。",
            "I translated a book in Berlin.",
            "The note from school says nothing new. I live in Berlin.",
        ] {
            assert_eq!(own(text), text);
        }
    }
}
