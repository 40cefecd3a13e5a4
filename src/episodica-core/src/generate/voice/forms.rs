//! The form of the lines around a piece: labels in succession, verse, lists.
//!
//! "Job: baker" below "Name: Nils" is a profile; names that return are a chat; lines of one length
//! that rhyme are a song. The words count only through the scores of the heads.

use std::collections::HashMap;
use std::ops::Range;

use super::layout::PieceFacts;
use super::pieces::{Line, Piece};
use crate::text::hash::Fnv1a;
use crate::text::heads::probability;
use crate::text::script::{is_alphanumeric, is_ideograph_or_kana};

/// Number of features of a line's form.
pub(super) const FORMS: usize = 26;
/// Maximum number of words in a line of verse.
const MAX_VERSE: usize = 14;
/// Number of lines before and after one in which its rhyme is looked for.
const RHYME_LINES: usize = 3;

/// A line with pieces.
struct Formed<'t> {
    text: &'t str,
    block: usize,
    pieces: Range<usize>,
    /// The piece before a colon, and a hash of its letters.
    label: Option<(usize, u64)>,
    words: usize,
    is_item: bool,
    ends: bool,
    first_person: bool,
}

impl Formed<'_> {
    fn is_verse(&self) -> bool {
        let has_words = (2..=MAX_VERSE).contains(&self.words);
        has_words && !self.is_item && self.label.is_none() && !self.text.contains("://")
    }

    /// What rhymes: the last letter of a script without spaces, else the last two.
    fn rhyme(&self) -> [Option<char>; 2] {
        let mut letters = self.text.chars().rev().filter(|c| is_alphanumeric(*c));
        let last = letters.next();
        if last.is_some_and(is_ideograph_or_kana) { [last, None] } else { [last, letters.next()] }
    }
}

/// The features of each line that has pieces.
pub(super) fn line_forms(
    text: &str,
    lines: &[Line],
    pieces: &[Piece],
    facts: &[PieceFacts],
) -> Vec<[f32; FORMS]> {
    let formed = formed(text, lines, pieces, facts);
    let mut found = vec![[0.0; FORMS]; formed.len()];
    let mut known: HashMap<u64, usize> = HashMap::new();
    for (_, label) in formed.iter().filter_map(|line| line.label) {
        *known.entry(label).or_default() += 1;
    }
    for run in runs(&formed, |line| line.label.is_some()) {
        let values = of_labels(&formed, run.clone(), facts, &known);
        let block = formed[run.end - 1].block;
        found[run.clone()].iter_mut().for_each(|line| line[..10].copy_from_slice(&values));
        let below = formed[run.end..].iter().take_while(|line| line.block <= block + 1);
        for line in &mut found[run.end..run.end + below.count()] {
            [line[10], line[11], line[12]] = [1.0, values[3], values[4]];
        }
    }
    for run in runs(&formed, Formed::is_verse) {
        let values = of_verse(&formed, run.clone());
        found[run].iter_mut().for_each(|line| line[13..22].copy_from_slice(&values));
    }
    for run in runs(&formed, |line| line.is_item) {
        let lead = formed[run.start].pieces.start.checked_sub(1);
        let lead = lead.filter(|lead| pieces[*lead].opens);
        let values = [
            (run.len() as f32).log2(),
            share(&formed[run.clone()], |line| line.first_person),
            lead.map_or(0.0, |lead| probability(facts[lead].heads.announces)),
            f32::from(u8::from(lead.is_none())),
        ];
        found[run].iter_mut().for_each(|line| line[22..].copy_from_slice(&values));
    }
    found
}

/// The lines with the facts of their pieces, without those after the last piece.
fn formed<'t>(
    text: &'t str,
    lines: &[Line],
    pieces: &[Piece],
    facts: &[PieceFacts],
) -> Vec<Formed<'t>> {
    let mut from = 0;
    let of_line = |(number, line): (usize, &Line)| {
        let count = pieces[from..].iter().take_while(|piece| piece.line == number).count();
        let inside = from..from + count;
        from = inside.end;
        let bare = &text[line.range.clone()];
        let label = inside.clone().next().filter(|first| pieces[*first].opens && count > 1);
        let values = &facts[inside.start + usize::from(label.is_some())..inside.end];
        let digits =
            bare.trim_start_matches(['(', '（']).trim_start_matches(|c: char| c.is_ascii_digit());
        let is_numbered = digits.len() < bare.len() && digits.starts_with(['.', ')', '）', '、']);
        Formed {
            text: bare,
            block: line.block,
            label: label.map(|label| (label, letters(&text[pieces[label].range.clone()]))),
            words: values.iter().map(|facts| facts.words).sum(),
            is_item: is_numbered || bare.starts_with(['-', '*', '•', '–', '・', '·', '‣']),
            ends: values.last().is_some_and(|facts| facts.ends),
            first_person: values.iter().any(|facts| facts.first_person),
            pieces: inside,
        }
    };
    let last = pieces.last().map_or(0, |piece| piece.line + 1);
    lines[..last].iter().enumerate().map(of_line).collect()
}

fn letters(text: &str) -> u64 {
    let lower = text.chars().filter(|c| is_alphanumeric(*c)).flat_map(char::to_lowercase);
    Fnv1a::default().then_all(lower).finish()
}

/// The ranges of two or more lines in succession that have a form.
fn runs<'t>(lines: &[Formed<'t>], has_form: impl Fn(&Formed<'t>) -> bool) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| has_form(line)) {
        match found.last_mut() {
            Some(last) if last.end == at && lines[at - 1].block == line.block => last.end += 1,
            _ => found.push(at..at + 1),
        }
    }
    found.retain(|run| run.len() > 1);
    found
}

fn of_labels(
    lines: &[Formed<'_>],
    run: Range<usize>,
    facts: &[PieceFacts],
    known: &HashMap<u64, usize>,
) -> [f32; 10] {
    let inside = &lines[run.clone()];
    let labels = || inside.iter().filter_map(|line| line.label);
    let mean = |score: fn(&PieceFacts) -> f32| {
        labels().map(|(label, _)| probability(score(&facts[label]))).sum::<f32>() / run.len() as f32
    };
    let words = inside.iter().map(|line| line.words).sum::<usize>() as f32 / run.len() as f32;
    let returning = labels().filter(|(_, label)| known[label] > 1).count();
    [
        1.0,
        (run.len() as f32).log2(),
        returning as f32 / run.len() as f32,
        mean(|facts| facts.heads.names),
        mean(|facts| facts.heads.announces),
        share(inside, |line| line.ends),
        share(inside, |line| line.first_person),
        (words / 8.0).min(3.0),
        f32::from(u8::from(run.start == 0)),
        f32::from(u8::from(run.end == lines.len())),
    ]
}

fn of_verse(lines: &[Formed<'_>], run: Range<usize>) -> [f32; 9] {
    let inside = &lines[run.clone()];
    let lengths = || inside.iter().map(|line| line.text.chars().count() as f32);
    let mean = lengths().sum::<f32>() / run.len() as f32;
    let spread = lengths().map(|length| (length - mean).powi(2)).sum::<f32>() / run.len() as f32;
    let rhymes = |at: &usize| {
        let near = at.saturating_sub(RHYME_LINES)..(at + RHYME_LINES + 1).min(inside.len());
        near.clone().any(|other| other != *at && inside[other].rhyme() == inside[*at].rhyme())
    };
    let rhyming = (0..inside.len()).filter(rhymes).count();
    [
        1.0,
        (run.len() as f32).log2(),
        share(inside, |line| !line.ends),
        rhyming as f32 / run.len() as f32,
        (spread.sqrt() / mean.max(1.0)).min(2.0),
        share(inside, |line| line.text.starts_with(char::is_uppercase)),
        share(inside, |line| line.first_person),
        f32::from(u8::from(run.start == 0)),
        f32::from(u8::from(run.end == lines.len())),
    ]
}

/// The share of lines for which something holds.
fn share<'t>(lines: &[Formed<'t>], holds: impl Fn(&Formed<'t>) -> bool) -> f32 {
    lines.iter().filter(|line| holds(line)).count() as f32 / lines.len().max(1) as f32
}
