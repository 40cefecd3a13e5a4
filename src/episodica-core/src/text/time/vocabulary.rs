//! The English words that the date grammar knows.

use super::calendar::Holiday;

/// A stretch of the calendar that can be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Minute,
    Hour,
    Day,
    Week,
    Weekend,
    Month,
    Year,
    Decade,
}

/// What a word means to the grammar. Weekdays count from Monday (0), seasons from spring (0),
/// months from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    /// Not in the table.
    Other,
    Yesterday,
    Today,
    Tomorrow,
    Tonight,
    Month(i8),
    ShortMonth(i8),
    Weekday(i8),
    ShortWeekday(i8),
    /// A unit; plural or not.
    Unit(Unit, bool),
    Season(i8),
    Holiday(Holiday),
    /// Begins "New Year", "Valentine's Day", "Boxing Day", "Independence Day".
    New,
    Valentine,
    Boxing,
    Independence,
    Eve,
    Number(u32),
    A,
    Few,
    Couple,
    Half,
    Last,
    Past,
    Next,
    This,
    Ago,
    Back,
    Now,
    The,
    Of,
    In,
    On,
    At,
    For,
    From,
    To,
    Between,
    And,
    Since,
    By,
    During,
    Before,
    After,
    Every,
    /// Early, mid, late, end, beginning: narrows what follows.
    Part,
    /// About, almost, over: makes what follows inexact.
    About,
    /// Morning, afternoon, evening, night.
    DayPart,
    /// Makes a name of the weekday after it: Black Friday.
    NamesDay,
    /// Says that the sentence is about the future, or the past.
    WillBe,
    WasBefore,
    /// Yearly by nature: a date beside it needs no year.
    Birthday,
    /// Counts things: the number before it is no date.
    Measure,
}

const UNITS: &[(&str, Unit)] = &[
    ("minute", Unit::Minute),
    ("hour", Unit::Hour),
    ("day", Unit::Day),
    ("week", Unit::Week),
    ("weekend", Unit::Weekend),
    ("month", Unit::Month),
    ("year", Unit::Year),
    ("decade", Unit::Decade),
];

const NAMES: &[(&str, Word)] = &[
    ("january", Word::Month(1)),
    ("february", Word::Month(2)),
    ("march", Word::Month(3)),
    ("april", Word::Month(4)),
    ("may", Word::Month(5)),
    ("june", Word::Month(6)),
    ("july", Word::Month(7)),
    ("august", Word::Month(8)),
    ("september", Word::Month(9)),
    ("october", Word::Month(10)),
    ("november", Word::Month(11)),
    ("december", Word::Month(12)),
    ("jan", Word::ShortMonth(1)),
    ("feb", Word::ShortMonth(2)),
    ("mar", Word::ShortMonth(3)),
    ("apr", Word::ShortMonth(4)),
    ("jun", Word::ShortMonth(6)),
    ("jul", Word::ShortMonth(7)),
    ("aug", Word::ShortMonth(8)),
    ("sep", Word::ShortMonth(9)),
    ("sept", Word::ShortMonth(9)),
    ("oct", Word::ShortMonth(10)),
    ("nov", Word::ShortMonth(11)),
    ("dec", Word::ShortMonth(12)),
    ("monday", Word::Weekday(0)),
    ("tuesday", Word::Weekday(1)),
    ("wednesday", Word::Weekday(2)),
    ("thursday", Word::Weekday(3)),
    ("friday", Word::Weekday(4)),
    ("saturday", Word::Weekday(5)),
    ("sunday", Word::Weekday(6)),
    ("mon", Word::ShortWeekday(0)),
    ("tue", Word::ShortWeekday(1)),
    ("tues", Word::ShortWeekday(1)),
    ("wed", Word::ShortWeekday(2)),
    ("thu", Word::ShortWeekday(3)),
    ("thur", Word::ShortWeekday(3)),
    ("thurs", Word::ShortWeekday(3)),
    ("fri", Word::ShortWeekday(4)),
    ("sat", Word::ShortWeekday(5)),
    ("sun", Word::ShortWeekday(6)),
    ("spring", Word::Season(0)),
    ("summer", Word::Season(1)),
    ("autumn", Word::Season(2)),
    ("fall", Word::Season(2)),
    ("winter", Word::Season(3)),
    ("christmas", Word::Holiday(Holiday::Fixed(12, 25))),
    ("xmas", Word::Holiday(Holiday::Fixed(12, 25))),
    ("halloween", Word::Holiday(Holiday::Fixed(10, 31))),
    ("easter", Word::Holiday(Holiday::Easter)),
    ("thanksgiving", Word::Holiday(Holiday::Thanksgiving)),
    ("new", Word::New),
    ("valentine", Word::Valentine),
    ("valentines", Word::Valentine),
    ("boxing", Word::Boxing),
    ("independence", Word::Independence),
    ("eve", Word::Eve),
];

/// Words of one meaning each; the first letter and the length of every word of the tables make the
/// filter of [`lookup`].
const GROUPS: &[(Word, &str)] = &[
    (Word::Yesterday, "yesterday"),
    (Word::Today, "today"),
    (Word::Tomorrow, "tomorrow"),
    (Word::Tonight, "tonight"),
    (Word::A, "a an"),
    (Word::Few, "few several"),
    (Word::Couple, "couple"),
    (Word::Half, "half"),
    (Word::Last, "last previous"),
    (Word::Past, "past"),
    (Word::Next, "next coming upcoming"),
    (Word::This, "this"),
    (Word::Ago, "ago"),
    (Word::Back, "back"),
    (Word::Now, "now"),
    (Word::The, "the"),
    (Word::Of, "of"),
    (Word::In, "in"),
    (Word::On, "on"),
    (Word::At, "at"),
    (Word::For, "for"),
    (Word::From, "from"),
    (Word::To, "to until till through thru"),
    (Word::Between, "between"),
    (Word::And, "and or"),
    (Word::Since, "since"),
    (Word::By, "by"),
    (Word::During, "during over throughout"),
    (Word::Before, "before"),
    (Word::After, "after"),
    (Word::Every, "every each"),
    (Word::Part, "early mid late end beginning start middle earlier later"),
    (Word::About, "about around almost nearly roughly approximately maybe some"),
    (Word::DayPart, "morning afternoon evening night"),
    (Word::NamesDay, "black good cyber super ash holy casual palm"),
    (
        Word::WillBe,
        "will ll gonna going plan plans planning hope hoping forward shall should soon might wait",
    ),
    (
        Word::WasBefore,
        "was were did didn wasn weren had went got took met came saw made said told bought found felt gave left ran began became \
         spent thought knew ate drank drove flew wrote broke sold sent lost won paid kept held heard grew chose caught brought built fell \
         taught wore rode sang swam woke threw spoke slept",
    ),
    (Word::Birthday, "birthday birthdays anniversary annual annually yearly always usually"),
    (
        Word::Measure,
        "miles km kilometers meters metres feet people times percent steps words dollars bucks euros calories pieces pounds kg \
         pages items points ways reps",
    ),
    (Word::Number(1), "one"),
    (Word::Number(2), "two"),
    (Word::Number(3), "three"),
    (Word::Number(4), "four"),
    (Word::Number(5), "five"),
    (Word::Number(6), "six"),
    (Word::Number(7), "seven"),
    (Word::Number(8), "eight"),
    (Word::Number(9), "nine"),
    (Word::Number(10), "ten"),
    (Word::Number(11), "eleven"),
    (Word::Number(12), "twelve dozen"),
    (Word::Number(15), "fifteen"),
    (Word::Number(20), "twenty"),
    (Word::Number(30), "thirty"),
    (Word::Number(40), "forty"),
    (Word::Number(50), "fifty"),
    (
        Word::Other,
        "excited interested scared need feed seed speed indeed hundred red bed wicked naked sacred kindred",
    ),
];

/// Longer words mean nothing to the grammar.
const MAX_WORD_BYTES: usize = 16;

/// An open-addressing table over the words above, built once.
struct Table {
    /// For each first letter, which lengths its words have.
    lengths: [u32; 26],
    slots: Vec<Option<(String, Word)>>,
}

static TABLE: std::sync::LazyLock<Table> = std::sync::LazyLock::new(|| {
    let mut entries: Vec<(String, Word)> =
        NAMES.iter().map(|(word, meaning)| ((*word).to_owned(), *meaning)).collect();
    for (name, unit) in UNITS {
        entries.push(((*name).to_owned(), Word::Unit(*unit, false)));
        entries.push((format!("{name}s"), Word::Unit(*unit, true)));
    }
    for (meaning, words) in GROUPS {
        entries.extend(words.split_whitespace().map(|word| (word.to_owned(), *meaning)));
    }
    let mut table = Table { lengths: [0; 26], slots: vec![None; 1024] };
    for (word, meaning) in entries {
        let first = usize::from(word.as_bytes()[0] - b'a');
        table.lengths[first] |= 1 << word.len();
        let mut slot = hash(word.as_bytes());
        while table.slots[slot].as_ref().is_some_and(|(taken, _)| *taken != word) {
            slot = (slot + 1) % table.slots.len();
        }
        table.slots[slot] = Some((word, meaning));
    }
    table
});

fn hash(word: &[u8]) -> usize {
    let sum =
        word.iter().fold(0u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
    ((sum >> 16) ^ sum) as usize % 1024
}

/// What `word`, a run of ASCII letters in any case, means.
pub(super) fn lookup(word: &[u8]) -> Word {
    if word.is_empty() || word.len() > MAX_WORD_BYTES {
        return Word::Other;
    }
    let table = &*TABLE;
    let first = usize::from((word[0] | 0x20).wrapping_sub(b'a'));
    let known = first < 26 && table.lengths[first] >> word.len() & 1 == 1;
    if known {
        let mut lower = [0u8; MAX_WORD_BYTES];
        let lower = &mut lower[..word.len()];
        lower.copy_from_slice(word);
        lower.make_ascii_lowercase();
        let mut slot = hash(lower);
        while let Some((entry, meaning)) = &table.slots[slot] {
            if entry.as_bytes() == lower {
                return *meaning;
            }
            slot = (slot + 1) % table.slots.len();
        }
    }
    // Regular past tenses; "need" and its like are in the table as `Other`.
    if word.len() >= 4 && word.ends_with(b"ed") { Word::WasBefore } else { Word::Other }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_any_case() {
        assert_eq!(lookup(b"Yesterday"), Word::Yesterday);
        assert_eq!(lookup(b"WEEKS"), Word::Unit(Unit::Week, true));
        assert_eq!(lookup(b"may"), Word::Month(5));
        assert_eq!(lookup(b"walked"), Word::WasBefore);
        assert_eq!(lookup(b"need"), Word::Other);
        assert_eq!(lookup(b"yesterdayish"), Word::Other);
        assert_eq!(lookup(b""), Word::Other);
        assert_eq!(lookup("é".as_bytes()), Word::Other);
    }

    #[test]
    fn no_word_has_two_meanings() {
        let mut words: Vec<&str> = NAMES.iter().map(|(word, _)| *word).collect();
        words.extend(GROUPS.iter().flat_map(|(_, group)| group.split_whitespace()));
        words.extend(UNITS.iter().map(|(word, _)| *word));
        let count = words.len();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), count);
    }
}
