//! The features of a piece's place in its message.
//!
//! Each feature compares the piece with its surroundings: what introduces it, what the first and
//! the last line ask for, which form its line shares with others. The words themselves count only
//! through the scores of the heads, so that a sentence is judged in the same way wherever it
//! stands.

use super::around::{BlockFacts, announced, asked, block_facts, higher, since_foreign};
use super::chats::{clock, is_name};
use super::feature_list::FeatureList;
use super::first_person::{is_label_of, speaks_of_self};
use super::forms::{FORMS, line_forms};
use super::model::{PieceScores, VoiceModel};
use super::pieces::{Edge, Line, Piece, is_opening};
use crate::text::script::{is_alphanumeric, is_ideograph_or_kana};
use crate::text::{Language, language};

/// Number of features.
pub(super) const FEATURES: usize = 150 + FORMS;
/// Maximum number of words of a line that stands above a text like a name.
const SHORT: usize = 4;

/// The score by `invents` that leaves little doubt.
const INVENTED: f32 = 4.5;
/// Bytes at the start of a piece that are judged.
const MAX_BYTES: usize = 300;

/// The facts of a piece without its surroundings.
pub(super) struct PieceFacts {
    pub(super) heads: PieceScores,
    pub(super) words: usize,
    asks: bool,
    pub(super) ends: bool,
    pub(super) first_person: bool,
    language: Language,
}

/// The facts of a line.
struct LineFacts {
    /// Label before a colon, as a hash of its letters.
    has_label: bool,
    has_clock: bool,
    /// Number of short fields at its start, as in a row of a table.
    fields: usize,
    is_address: bool,
    is_greeting: bool,
    is_url: bool,
    /// True with marks of sung words; found once, since a line may have thousands of pieces.
    is_sung: bool,
}

/// A message, prepared for judging its pieces.
pub(super) struct Layout<'t> {
    text: &'t str,
    speaker: &'t str,
    lines: &'t [Line],
    pieces: &'t [Piece],
    facts: Vec<PieceFacts>,
    line_facts: Vec<LineFacts>,
    /// For each piece, the nearest opening before it.
    openings: Vec<Option<usize>>,
    /// For each piece, the highest score by `announces` before it in its line, in its block, in
    /// earlier blocks; and after it in the same three.
    announced: Vec<[Option<f32>; 6]>,
    /// For each piece, the highest score by `asks` before it and after it in its block.
    asked: Vec<[Option<f32>; 2]>,
    /// Highest scores of the first and of the last line, by `announces` and by `asks`.
    first: [f32; 2],
    last: [f32; 2],
    /// Number of lines that begin with a label, with a time, and with equal delimiters.
    labels: usize,
    clocks: usize,
    rows: usize,
    greeting: Option<usize>,
    farewell: Option<usize>,
    /// True for pieces that are certainly another's, and the number of blocks from the last of
    /// these to each piece after it.
    foreign: Vec<bool>,
    since_foreign: Vec<Option<usize>>,
    /// The form of each line.
    forms: Vec<[f32; FORMS]>,
    /// For each block, its pieces, and how many of these are in the first person.
    blocks: Vec<BlockFacts>,
}

impl<'t> Layout<'t> {
    pub fn new(
        model: VoiceModel<'_>,
        text: &'t str,
        speaker: &'t str,
        lines: &'t [Line],
        pieces: &'t [Piece],
        foreign: Vec<bool>,
    ) -> Self {
        let facts: Vec<PieceFacts> =
            pieces.iter().map(|piece| facts(model, &text[piece.range.clone()])).collect();
        let line_facts: Vec<LineFacts> =
            lines.iter().map(|line| line_facts(&text[line.range.clone()])).collect();
        let mut openings = Vec::with_capacity(pieces.len());
        let mut nearest = None;
        for (at, piece) in pieces.iter().enumerate() {
            openings.push(nearest);
            if piece.opens {
                nearest = Some(at);
            }
        }
        let highest = |line: usize| {
            let inside = pieces.iter().zip(&facts).filter(|(piece, _)| piece.line == line);
            let scores = inside.map(|(_, facts)| [facts.heads.announces, facts.heads.asks]);
            scores.reduce(|a, b| [a[0].max(b[0]), a[1].max(b[1])]).unwrap_or_default()
        };
        let last_line = pieces.last().map_or(0, |piece| piece.line);
        let count = |is: fn(&LineFacts) -> bool| line_facts.iter().filter(|line| is(line)).count();
        let rows = line_facts.windows(2).filter(|pair| pair[0].fields > 1 && pair[1].fields > 1);
        let is_short = |line: usize| words(&text[lines[line].range.clone()]) <= SHORT;
        let greeting = (0..lines.len()).find(|line| line_facts[*line].is_greeting);
        let farewell = (1..lines.len()).rev().find(|line| {
            // "Best,", then a name.
            line_facts[*line].is_greeting && line + 1 < lines.len() && is_short(line + 1)
        });
        Self {
            announced: announced(pieces, &facts),
            asked: asked(pieces, &facts),
            since_foreign: since_foreign(pieces, &foreign),
            forms: line_forms(text, lines, pieces, &facts),
            blocks: block_facts(pieces, &facts),
            first: highest(0),
            last: highest(last_line),
            labels: count(|line| line.has_label),
            clocks: count(|line| line.has_clock),
            rows: rows.count(),
            greeting,
            farewell: farewell.filter(|line| Some(*line) != greeting),
            text,
            speaker,
            lines,
            pieces,
            facts,
            line_facts,
            openings,
            foreign,
        }
    }

    fn piece_text(&self, at: usize) -> &'t str {
        &self.text[self.pieces[at].range.clone()]
    }

    /// True for a piece that is surely no statement about its writer: "In my novel I live in Oslo."
    pub fn is_invented(&self, at: usize) -> bool {
        self.facts[at].heads.invents > INVENTED
    }

    /// The joint before a piece.
    pub fn joint(&self, at: usize) -> usize {
        let after_opening = at > 0 && self.pieces[at - 1].opens;
        let edge = match self.pieces[at].edge {
            Edge::Start => 0,
            Edge::Line => 1,
            Edge::Next => 2,
            Edge::Gap => 3,
        };
        2 * edge + usize::from(after_opening)
    }

    /// The features of a piece.
    pub fn features(&self, at: usize) -> [f32; FEATURES] {
        let mut values = FeatureList::default();
        self.of_piece(at, &mut values);
        self.of_opening(at, &mut values);
        self.of_ends(at, &mut values);
        self.of_neighbours(at, &mut values);
        self.of_message(at, &mut values);
        self.of_form(at, &mut values);
        values.whole()
    }

    fn of_piece(&self, at: usize, values: &mut FeatureList) {
        let (piece, facts, text) = (&self.pieces[at], &self.facts[at], self.piece_text(at));
        values.yes(true);
        values.heads(facts.heads);
        values.yes(piece.opens);
        values.yes(facts.asks);
        values.yes(facts.first_person);
        values.yes(!facts.ends);
        for most in [2, 5, 12, 25] {
            values.yes(facts.words <= most);
        }
        values.yes(text.starts_with(['-', '*', '•', '–']));
        values.yes(text.starts_with(is_opening));
        values.yes(text.starts_with(|c: char| c.is_lowercase()));
        values.yes(text.contains('#') && !text.starts_with('#'));
        values.yes(text.contains('@'));
        let capitals = text.chars().filter(|c| c.is_uppercase()).count();
        values.yes(capitals * 2 > text.len() && facts.words > 1);
        values.yes(self.line_facts[piece.line].is_sung);
    }

    /// What the nearest opening before the piece says.
    fn of_opening(&self, at: usize, values: &mut FeatureList) {
        let piece = &self.pieces[at];
        let opening = self.openings[at];
        let place = opening.map(|opening| {
            let other = &self.pieces[opening];
            match (opening + 1 == at, piece.edge) {
                (true, Edge::Line) => 0,
                (true, Edge::Next) => 1,
                (true, _) => 2,
                (false, _) if other.line == piece.line => 3,
                (false, _) if other.block == piece.block => 4,
                (false, _) if other.block + 1 == piece.block => 5,
                _ => 6,
            }
        });
        for kind in 0..7 {
            let here = opening.filter(|_| place == Some(kind));
            let scores = here.map(|opening| self.facts[opening].heads);
            values.yes(here.is_some());
            values.score(scores.map(|scores| scores.announces));
            values.score(scores.map(|scores| scores.asks));
            if kind < 3 {
                values.score(scores.map(|scores| scores.names));
            }
        }
        // The same without regard to the place, so that a layout that was never seen is judged as
        // those like it.
        let scores = opening.map(|opening| self.facts[opening].heads);
        for near in [true, false] {
            let here = scores.filter(|_| place.is_some_and(|kind| (kind < 3) == near));
            values.yes(here.is_some());
            values.score(here.map(|scores| scores.announces));
            values.score(here.map(|scores| scores.asks));
            values.score(here.map(|scores| scores.names));
        }
        for score in self.announced[at] {
            values.score(score);
        }
        values.score(Some(self.most_announced(at)));
        values.number(self.most_announced(at) / 4.0);
        let label = opening.map_or("", |opening| self.piece_text(opening));
        let near = place.is_some_and(|kind| kind < 3);
        let name = label.trim_matches(|c: char| !is_alphanumeric(c));
        values.yes(near && is_name(name) && words(name) <= 2);
        values.yes(near && is_name(name) && name.starts_with(char::is_uppercase));
        values.yes(near && is_label_of(name, self.speaker));
        values.yes(near && label.contains(is_ideograph_or_kana));
        let other_tongue = opening.is_some_and(|opening| {
            self.facts[opening].language != self.facts[at].language
                && self.facts[opening].words > 2
                && self.facts[at].words > 2
        });
        values.yes(other_tongue);
    }

    /// The highest score of what may announce the piece: its opening, the first line, the last
    /// line.
    fn most_announced(&self, at: usize) -> f32 {
        let piece = &self.pieces[at];
        let opening = self.openings[at].map_or(f32::MIN, |at| self.facts[at].heads.announces);
        let first = if piece.line > 0 { self.first[0] } else { f32::MIN };
        let last_line = self.pieces[self.pieces.len() - 1].line;
        let last = if piece.line < last_line { self.last[0] } else { f32::MIN };
        let before = at.checked_sub(1).map_or(f32::MIN, |at| self.facts[at].heads.announces);
        opening.max(first).max(last).max(before).max(PieceScores::NONE.announces)
    }

    /// What the first and the last line ask for.
    fn of_ends(&self, at: usize, values: &mut FeatureList) {
        let piece = &self.pieces[at];
        let (first_block, last) = (self.pieces[0].block, &self.pieces[self.pieces.len() - 1]);
        let after_first = piece.line > 0;
        for same_block in [true, false] {
            let here = after_first && (piece.block == first_block) == same_block;
            values.yes(here);
            values.score(here.then_some(self.first[0]));
            values.score(here.then_some(self.first[1]));
            let here = piece.line < last.line && (piece.block == last.block) == same_block;
            values.yes(here);
            values.score(here.then_some(self.last[0]));
            values.score(here.then_some(self.last[1]));
        }
        let differs = |other: usize| {
            self.pieces[other].line != piece.line
                && self.facts[other].language != self.facts[at].language
                && self.facts[other].words > 2
                && self.facts[at].words > 2
        };
        values.yes(differs(0));
        values.yes(differs(self.pieces.len() - 1));
        values.yes(self.facts[0].first_person && after_first);
    }

    fn of_neighbours(&self, at: usize, values: &mut FeatureList) {
        let piece = &self.pieces[at];
        let before = at.checked_sub(1);
        let after = Some(at + 1).filter(|next| *next < self.pieces.len());
        for edge in [Edge::Line, Edge::Next, Edge::Gap] {
            let before = before.filter(|_| piece.edge == edge);
            let heads = before.map(|before| self.facts[before].heads);
            values.score(heads.map(|heads| heads.announces));
            values.score(heads.map(|heads| heads.invents));
            values.score(heads.map(|heads| heads.asks));
        }
        let next = after.filter(|after| self.pieces[*after].edge == Edge::Line);
        let heads = next.map(|next| self.facts[next].heads);
        values.score(heads.map(|heads| heads.announces));
        values.score(heads.map(|heads| heads.invents));
        // A short line without a mark at its end stands above a text like a name or a title.
        let above = before.filter(|before| {
            piece.edge == Edge::Next
                && self.facts[*before].words <= SHORT
                && !self.facts[*before].ends
                && !self.pieces[*before].opens
                && self.is_whole_line(*before)
        });
        values.yes(above.is_some());
        values.score(above.map(|above| self.facts[above].heads.names));
        values.yes(above.is_some_and(|above| is_label_of(self.piece_text(above), self.speaker)));
        values.yes(above.is_some_and(|above| above == 0));
        // The piece itself is such a line.
        let below = after.filter(|after| self.pieces[*after].edge == Edge::Next);
        let is_title = self.is_whole_line(at) && self.facts[at].words <= SHORT;
        values.yes(is_title && !self.facts[at].ends && below.is_some());
        values.yes(before.is_some_and(|before| self.foreign[before] && piece.edge == Edge::Next));
        values.yes(before.is_some_and(|before| self.foreign[before] && piece.edge == Edge::Gap));
        values.yes(after.is_some_and(|after| self.foreign[after]));
        // A person tells and asks in one paragraph, often below what they copied.
        let [before, after] = self.asked[at];
        values.score(before);
        values.score(after);
        let since = self.since_foreign[at];
        values.yes(since.is_some());
        values.yes(since == Some(1));
        values.number(since.map_or(0.0, |blocks| (1.0 + blocks as f32).log2()));
        let is_last = piece.block == self.pieces[self.pieces.len() - 1].block;
        let below = since.is_some_and(|blocks| blocks > 0) && is_last;
        values.yes(below);
        let most = higher(higher(before, after), Some(self.facts[at].heads.asks));
        values.score(most.filter(|_| below));
        values.score(most.filter(|_| is_last && piece.block > 0));
        values.yes(below && self.facts[at].first_person);
        values.yes(self.openings[at].is_some() && self.facts[at].first_person);
        values.yes(self.openings[at].is_none() && self.facts[at].first_person);
    }

    fn of_message(&self, at: usize, values: &mut FeatureList) {
        let piece = &self.pieces[at];
        let line = &self.line_facts[piece.line];
        let (count, lines) = (self.pieces.len(), self.lines.len());
        values.yes(count == 1);
        values.yes(at == 0);
        values.yes(at + 1 == count);
        values.yes(lines == 1);
        values.yes(piece.block + 1 == self.lines[lines - 1].block + 1 && piece.block > 0);
        values.number((count as f32).log2());
        values.number((lines as f32).log2());
        values.yes(line.has_label && self.labels > 1);
        values.number(if line.has_label { (self.labels as f32).log2() } else { 0.0 });
        values.yes(line.has_clock && self.clocks > 1);
        values.yes(self.clocks > 1);
        values.number(if line.fields > 1 { (1.0 + self.rows as f32).log2() } else { 0.0 });
        values
            .yes(line.fields > 1 && self.text[self.lines[piece.line].range.clone()].contains('\t'));
        values.yes(self.line_facts.iter().take(piece.line).rev().take(3).any(|line| line.is_url));
        values.yes(self.line_facts[..piece.line].iter().rev().take(6).any(|line| line.is_address));
        values.yes(self.greeting.is_some_and(|greeting| greeting > 0 && piece.line > greeting));
        values.yes(self.greeting == Some(0) && piece.line > 0);
        let farewell = self.farewell.filter(|farewell| piece.line <= *farewell);
        values.yes(farewell.is_some());
        values.yes(farewell.is_some_and(|farewell| {
            let name = &self.text[self.lines[farewell + 1].range.clone()];
            is_label_of(name.trim_matches(|c: char| !is_alphanumeric(c)), self.speaker)
        }));
        values.yes(self.farewell.is_some_and(|farewell| piece.line > farewell + 1));
    }

    /// The form of the lines around, and what the first and the last block say.
    fn of_form(&self, at: usize, values: &mut FeatureList) {
        let piece = &self.pieces[at];
        self.forms[piece.line].iter().for_each(|value| values.number(*value));
        values.score(Some(self.facts[at].heads.states));
        let next = Some(at + 1).filter(|next| *next < self.pieces.len());
        for edge in [Edge::Next, Edge::Gap] {
            let next = next.filter(|next| self.pieces[*next].edge == edge);
            values.yes(next.is_some());
            let heads = next.map(|next| self.facts[next].heads);
            values.score(heads.map(|heads| heads.announces));
            values.score(heads.map(|heads| heads.invents));
            values.score(heads.map(|heads| heads.asks));
        }
        let last = self.blocks.len() - 1;
        let of_self = self.blocks.iter().map(|block| block.first_person).sum::<usize>();
        values.number((self.blocks.len() as f32).log2());
        values.number(of_self as f32 / self.pieces.len() as f32);
        values.number(self.blocks[piece.block].share());
        for block in [0, last] {
            let other = Some(&self.blocks[block]).filter(|_| block != piece.block);
            values.number(other.map_or(0.0, BlockFacts::share));
            values.score(other.map(|other| other.announces));
            values.score(other.map(|other| other.asks));
        }
        // How sure the heads are, where a probability is near 1.
        let heads = self.facts[at].heads;
        values.number((heads.invents / 4.0).clamp(-2.0, 2.0));
        values.number((heads.states / 4.0).clamp(-2.0, 2.0));
    }

    fn is_whole_line(&self, at: usize) -> bool {
        self.pieces[at].range == self.lines[self.pieces[at].line].range
    }
}

/// The start of a text, as far as it is judged, without marks around it: "**Tom**:" is "Tom".
fn shortened(text: &str) -> &str {
    let text = text.trim_matches(|c: char| !is_alphanumeric(c) && !matches!(c, '?' | '？'));
    let mut end = MAX_BYTES.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

fn facts(model: VoiceModel<'_>, text: &str) -> PieceFacts {
    let bare = text.trim_end_matches(|c: char| !is_alphanumeric(c) && !is_end(c));
    PieceFacts {
        heads: model.glance(shortened(text)),
        words: words(text),
        asks: bare.ends_with(['?', '？']) || bare.ends_with(['吗', '呢']),
        ends: bare.ends_with(is_end),
        first_person: speaks_of_self(text),
        language: language(text),
    }
}

/// True for the marks around sung words.
fn is_note(c: char) -> bool {
    matches!(c, '♪' | '♫' | '♬' | '🎵' | '🎶')
}

fn is_end(c: char) -> bool {
    matches!(c, '.' | '!' | '?' | '…' | '。' | '！' | '？')
}

/// Number of words; two letters of a script without spaces count as one.
fn words(text: &str) -> usize {
    let unspaced = text.chars().filter(|c| is_ideograph_or_kana(*c)).count();
    let spaced = text
        .split_whitespace()
        .filter(|word| word.contains(|c: char| is_alphanumeric(c) && !is_ideograph_or_kana(c)));
    spaced.count() + unspaced.div_ceil(2)
}

fn line_facts(line: &str) -> LineFacts {
    let colon = line.find([':', '：']).filter(|at| *at <= 40);
    let label = colon.map_or("", |at| &line[..at]);
    let start: String = line.chars().take(24).collect();
    let mark = ['\t', ';', ','].into_iter().find(|mark| line.contains(*mark)).unwrap_or(',');
    let parts = line.split(mark).take(4);
    let fields = parts.take_while(|part| words(part) <= 3).count();
    let fields = if line.contains(mark) { fields } else { 0 };
    let bare = line.trim_end_matches(['!', ' ']);
    LineFacts {
        has_label: !label.is_empty() && words(label) <= 3 && is_name(label),
        has_clock: clock(&start).is_some_and(|clock| clock.start < 14),
        fields,
        is_address: line.contains('@') && label.len() < 12 && !label.is_empty(),
        is_greeting: bare.ends_with([',', '，']) && words(bare) <= SHORT,
        is_url: line.starts_with("http") || line.starts_with("www."),
        is_sung: line.contains(is_note),
    }
}
