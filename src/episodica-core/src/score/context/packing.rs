//! Selects the lines of a context by one rule: what ranks first goes in first.
//!
//! Facts and messages that bear on the question are ranked together by relevance. Down the ranking
//! each enters whole if it fits, the best with the replies, questions and later words that belong
//! to them. A long message that does not fit, and an assistant's long answer, is quoted where it
//! matches. What is left over makes quotations longer.

use std::collections::HashSet;

use jiff::civil::Date;
use rustc_hash::FxHashMap;

use super::bearing::Bearing;
use super::dates::{LaterWords, LineDates};
use super::excerpt::{ExcerptTerms, Parts, ScoredSentences};
use super::exchange::{question_of, reply_to, said_later};
use super::material::{ContextCandidates, ContextParts, LineReason};
use super::text::{ContextWriter, Excerpts, WrittenContext};
use super::wording::ContextWords;
use crate::control::CallControl;
use crate::error::Result;
use crate::score::TELLING_MESSAGES;
use crate::text::vocabulary::is_function_word;
use crate::text::words::{fold, words};
use crate::text::{Language, is_cjk};

/// Share of the budget that an assistant's answer may take whole, and a list or code that the best
/// message matches in.
const HALF: f64 = 0.5;
/// A fourth of the budget is for facts, at least a [`LINE`], unless no message bears.
const FACTS: usize = 4;
/// Longest message that is never quoted in part, in tokens, and longest companion.
const LINE: usize = 100;
/// Tokens of a quotation from a longer message.
const SPAN: usize = 64;
/// Share of the budget for companions: replies, questions and later messages.
const COMPANIONS: f64 = 0.1;
/// Number of best messages that are never left out, and of whose speakers a later message is
/// included; for the best one, one more for every [`LATER_TOKENS`] of the budget.
pub(super) const BEST: usize = 3;
const LATER_TOKENS: usize = 400;
/// Number of hits among which linked later words are included as a line.
const LATER_HITS: usize = 20;
/// Fewest tokens by which a quotation is made longer.
const LONGER: usize = 16;
/// Tokens of the shortest line.
const SHORTEST: usize = 4;
/// Number of lines between two cancellation checks.
const BETWEEN_CHECKS: usize = 64;
/// Maximum number of rounds: names that are not repeated save tokens, and each round spends what
/// the last one saved.
const ROUNDS: usize = 3;

/// Packs the best candidates into `budget` tokens.
///
/// # Errors
/// The error of `control` if the caller cancelled.
pub fn pack(
    material: &ContextCandidates<'_>,
    budget: usize,
    control: &dyn CallControl,
) -> Result<ContextParts> {
    let ContextCandidates { index, facts, outdated, summaries, words, form, zone, .. } = *material;
    let dates = &LineDates::new(index, zone, material.later, material.foreign);
    let writer =
        ContextWriter { index, facts, summaries, outdated, dates, words, form, zone, control };
    let fact_tokens = (0..facts.len()).map(|number| writer.count(&writer.fact_line(number)));
    PackingRun {
        fact_tokens: fact_tokens.collect::<Result<_>>()?,
        sought: ExcerptTerms::new(material.query, index, material.table),
        material,
        writer,
        budget,
        used: form.frame_tokens(),
        days: HashSet::new(),
        chosen: Vec::new(),
        said: HashSet::new(),
        sentences: FxHashMap::default(),
        excerpts: Excerpts::default(),
        inside: HashSet::new(),
        reasons: FxHashMap::default(),
        known: Vec::new(),
        idle: false,
        foreign: false,
    }
    .pack()
}

/// A ranked candidate.
#[derive(Clone, Copy)]
enum Line {
    Fact(usize),
    Message(u32),
}

/// How a message may enter.
#[derive(Clone, Copy)]
struct Entry {
    /// Most tokens of the whole selection with it.
    limit: usize,
    /// Most tokens of the message whole.
    whole: usize,
    /// Most tokens of a list or of code that matches best, if it is not quoted whole.
    block: usize,
}

/// The words of a text in lower case, without what follows an apostrophe: "Nina" of "Nina's".
fn plain_words(text: &str) -> impl Iterator<Item = String> {
    let stem = |word: &str| fold(word.split(['\'', '’']).next().unwrap_or(word)).into_owned();
    words(text).map(stem)
}

struct PackingRun<'a> {
    material: &'a ContextCandidates<'a>,
    writer: ContextWriter<'a>,
    sought: ExcerptTerms<'a>,
    budget: usize,
    fact_tokens: Vec<usize>,
    /// Upper bound of the selection's tokens, and its days.
    used: usize,
    days: HashSet<Date>,
    /// The selected messages, in the order of selection, and who said what.
    chosen: Vec<u32>,
    said: HashSet<(&'a str, &'a str)>,
    inside: HashSet<u32>,
    reasons: FxHashMap<u32, LineReason>,
    /// The sentences of messages that were compared with the question.
    sentences: FxHashMap<u32, ScoredSentences<'a>>,
    /// The quoted parts of messages that are not included whole.
    excerpts: Excerpts,
    /// The selected facts, in the order of selection.
    known: Vec<usize>,
    /// True if the question asks for nothing.
    idle: bool,
    /// True if the talk has nothing that the question names.
    foreign: bool,
}

impl PackingRun<'_> {
    fn pack(mut self) -> Result<ContextParts> {
        let ranked = self.ranked();
        let is_foreign = self.foreign && self.material.index.len() >= TELLING_MESSAGES;
        let known = !(ranked.is_empty() || self.idle || is_foreign);
        // A nearest message that is about something else needs no company.
        let mut room = if self.foreign { 0 } else { self.companions_tokens().max(LINE / 2) };
        for _ in 0..ROUNDS {
            let before = (self.chosen.len(), self.known.len());
            self.add_lines(&ranked, &mut room)?;
            room = 0;
            self.drop_told();
            self.recount()?;
            if (self.chosen.len(), self.known.len()) == before {
                break;
            }
        }
        self.lengthen()?;
        self.recount()?;
        let summaries = self.summaries()?;
        Ok(ContextParts { known, ..self.fit(summaries)? })
    }

    /// The facts and messages that bear on the question, best first.
    fn ranked(&mut self) -> Vec<Line> {
        let ContextCandidates { facts, asked, relevance, .. } = *self.material;
        let Bearing { messages, idle, foreign } =
            Bearing::new(self.material, &self.sought, self.budget);
        (self.idle, self.foreign) = (idle, foreign);
        let messages = messages.into_iter();
        let messages = messages.map(|one| (relevance(one.score), Line::Message(one.slot)));
        let mut lines: Vec<(f64, Line)> = messages.collect();
        let bearing = (0..asked).filter(|number| facts[*number].bears && !idle);
        lines.extend(bearing.map(|number| (facts[number].relevance, Line::Fact(number))));
        lines.sort_by(|a, b| b.0.total_cmp(&a.0));
        lines.into_iter().map(|(_, line)| line).collect()
    }

    /// Adds lines in the order of the ranking; the first come with companions in `room` tokens.
    fn add_lines(&mut self, ranked: &[Line], room: &mut usize) -> Result<()> {
        let (limit, half) = (self.budget, (self.budget as f64 * HALF) as usize);
        let compete = ranked.iter().any(|line| matches!(line, Line::Message(_)));
        let facts = if compete { LINE.max(limit / FACTS) } else { limit };
        let mut messages = 0;
        for (number, line) in ranked.iter().enumerate() {
            if self.used + SHORTEST > limit {
                break;
            }
            if number.is_multiple_of(BETWEEN_CHECKS) {
                self.writer.control.check()?;
            }
            match *line {
                Line::Fact(number) => self.add_fact(number, facts),
                Line::Message(slot) => {
                    let by_agent = self.material.index.priors()[slot as usize].by_agent;
                    let whole = if by_agent { half } else { limit };
                    let block = if messages == 0 { half } else { SPAN };
                    self.add_message(slot, Entry { limit, whole, block })?;
                    self.add_later_words(slot)?;
                    if *room >= SHORTEST {
                        self.add_companions(slot, messages, room)?;
                    }
                    messages += 1;
                }
            }
        }
        Ok(())
    }

    /// Adds a fact if it fits, into `most` tokens of facts and into the budget, and no included
    /// message tells it.
    fn add_fact(&mut self, number: usize, most: usize) {
        let tokens = self.fact_tokens[number] + self.year_tokens(number);
        let stated: usize = self.known.iter().map(|known| self.fact_tokens[*known]).sum();
        let fits = self.used + tokens <= self.budget && stated + tokens <= most;
        if fits && !self.known.contains(&number) && !self.is_told(number) {
            self.known.push(number);
            self.used += tokens;
        }
    }

    /// Token count of the heading over a fact, if the fact needs one.
    fn year_tokens(&self, number: usize) -> usize {
        let heading = |number: usize| {
            let fact = &self.material.facts[number];
            (fact.section, fact.is_dated.then(|| self.writer.date(fact.since).year()))
        };
        let is_known = self.known.iter().any(|known| heading(*known) == heading(number));
        if is_known { 0 } else { self.material.form.year_tokens(self.material.words) }
    }

    /// Adds a message, with the question that a short reply answers and the facts that supersede
    /// it, if it fits.
    fn add_message(&mut self, slot: u32, entry: Entry) -> Result<bool> {
        let message = self.material.index.get(slot);
        let is_repeat = self.said.contains(&(message.speaker(), &*message.content));
        if self.inside.contains(&slot) || is_repeat {
            return Ok(false);
        }
        let question = question_of(self.material.index, slot);
        let question =
            question.filter(|one| !self.foreign && self.is_companion(*one).unwrap_or(false));
        let (day, successors) = (self.writer.place(slot).0, self.missing_successors(slot));
        let mut beside = if self.days.contains(&day) {
            0
        } else {
            self.material.form.day_tokens(self.material.words)
        };
        for number in &successors {
            beside += self.fact_tokens[*number] + self.year_tokens(*number);
        }
        if let Some(question) = question {
            beside += self.writer.message_tokens(question, self.budget)?;
        }
        let Some(left) = entry.limit.checked_sub(self.used + beside) else { return Ok(false) };
        let Some((parts, tokens)) = self.quotation(slot, entry, left)? else { return Ok(false) };
        self.excerpts.extend(parts.map(|parts| (slot, parts)));
        if let Some(question) = question {
            self.include(question);
            self.reasons.insert(question, LineReason::Question);
        }
        self.include(slot);
        self.known.extend(successors);
        self.used += tokens + beside;
        Ok(true)
    }

    /// How a message is quoted in `left` tokens: its parts (`None`: all of it), and their tokens.
    fn quotation(
        &mut self,
        slot: u32,
        entry: Entry,
        left: usize,
    ) -> Result<Option<(Option<Parts>, usize)>> {
        if let Some(own) = self.material.own.get(&slot) {
            let tokens = self.writer.excerpt_tokens(slot, own)?;
            return Ok((tokens <= left).then(|| (Some(own.clone()), tokens)));
        }
        let tokens = self.writer.message_tokens(slot, self.budget)?;
        if tokens <= left.min(entry.whole) {
            return Ok(Some((None, tokens)));
        }
        if tokens <= LINE {
            return Ok(None);
        }
        let excerpt = self.excerpt(slot, SPAN.min(left), entry.block.min(left), left)?;
        Ok(excerpt.map(|(parts, tokens)| (Some(parts), tokens)))
    }

    fn include(&mut self, slot: u32) {
        self.days.insert(self.writer.place(slot).0);
        let message = self.material.index.get(slot);
        self.said.insert((message.speaker(), &message.content));
        self.inside.insert(slot);
        self.chosen.push(slot);
    }

    /// True for a message that may come along with another: not included yet, and short.
    fn is_companion(&self, slot: u32) -> Result<bool> {
        let is_new = !self.inside.contains(&slot) && (self.material.admits)(slot);
        Ok(is_new && self.writer.message_tokens(slot, LINE)? <= LINE)
    }

    /// Adds the reply to a question, and what the speaker of a message that ranks among the best,
    /// by its `number`, said later, in `room` tokens.
    fn add_companions(&mut self, slot: u32, number: usize, room: &mut usize) -> Result<()> {
        // What was said later may change the answer, so it has room in a small budget, too.
        let reserve = (LINE / 2).saturating_sub(self.companions_tokens());
        let mut companions = Vec::new();
        let is_told = self.inside.contains(&slot) || self.is_cited(slot);
        if is_told && number < BEST && !self.material.query.asks_past {
            let most = if number == 0 { 1 + self.budget / LATER_TOKENS } else { 1 };
            let later = self.said_later(slot, most)?;
            companions.extend(later.into_iter().map(|later| (LineReason::Later, later)));
        }
        if self.inside.contains(&slot) {
            let reply = reply_to(self.material.index, slot);
            companions.extend(reply.map(|reply| (LineReason::Reply, reply)));
        }
        for (reason, companion) in companions {
            let before = self.used;
            let kept = if reason == LineReason::Later { 0 } else { reserve };
            let limit = self.budget.min(before + room.saturating_sub(kept));
            let entry = Entry { limit, whole: LINE, block: 0 };
            if self.is_companion(companion)? && self.add_message(companion, entry)? {
                self.reasons.insert(companion, reason);
                *room = room.saturating_sub(self.used - before);
            }
        }
        Ok(())
    }

    /// Adds the messages that say more about parts of an included message, if they are short and
    /// among the best hits: what ranks lower is about another part of the message.
    fn add_later_words(&mut self, slot: u32) -> Result<()> {
        if self.foreign || self.material.query.asks_past || !self.inside.contains(&slot) {
            return Ok(());
        }
        let entry = Entry { limit: self.budget, whole: self.companions_tokens(), block: 0 };
        let hits = &self.material.messages[..LATER_HITS.min(self.material.messages.len())];
        for LaterWords { message, .. } in self.writer.dates.said_later(slot) {
            let tokens = self.writer.message_tokens(message, entry.whole)?;
            let bears = hits.iter().any(|hit| hit.slot == message);
            if bears && tokens <= entry.whole && self.add_message(message, entry)? {
                self.reasons.insert(message, LineReason::Later);
            }
        }
        Ok(())
    }

    fn companions_tokens(&self) -> usize {
        (self.budget as f64 * COMPANIONS) as usize
    }

    /// Up to `most` later messages of the speaker of a message, under other headings.
    fn said_later(&self, slot: u32, most: usize) -> Result<Vec<u32>> {
        let ContextCandidates { index, table, messages, admits, .. } = *self.material;
        let (time, here) = (index.get(slot).timestamp, self.writer.place(slot));
        let is_later = |later| {
            let is_after = index.get(later).timestamp > time;
            is_after && self.writer.place(later) != here && admits(later)
        };
        said_later(index, table, slot, messages, most, is_later)
    }

    /// Makes quotations longer, up to the whole message, as far as the budget reaches.
    fn lengthen(&mut self) -> Result<()> {
        for slot in self.chosen.clone() {
            let is_own = self.material.own.contains_key(&slot);
            let Some(parts) = self.excerpts.get(&slot).filter(|_| !is_own) else { continue };
            let now = self.writer.excerpt_tokens(slot, parts)?;
            let room = now + self.budget.saturating_sub(self.used);
            let whole = self.writer.message_tokens(slot, self.budget)?;
            if whole <= room {
                self.excerpts.remove(&slot);
                self.used = self.used - now + whole;
            } else if room >= now + LONGER
                && let Some((parts, tokens)) = self.excerpt(slot, room, room, room)?
                && tokens > now
            {
                self.excerpts.insert(slot, parts);
                self.used = self.used - now + tokens;
            }
        }
        Ok(())
    }

    /// The best-matching parts of a message and their token count: about `room` tokens, or `block`
    /// if the best part is a list or code; `None` if even the best part does not fit into `left`.
    fn excerpt(
        &mut self,
        slot: u32,
        room: usize,
        block: usize,
        left: usize,
    ) -> Result<Option<(Parts, usize)>> {
        if !self.sentences.contains_key(&slot) {
            let content = &self.material.index.get(slot).content;
            let compared = self.sought.compare(content, self.writer.control)?;
            self.sentences.insert(slot, compared);
        }
        self.sentences[&slot]
            .fitting(room, block, left, |parts| self.writer.excerpt_tokens(slot, parts))
    }

    /// True if an included fact cites the message.
    fn is_cited(&self, slot: u32) -> bool {
        self.known.iter().any(|number| self.material.facts[*number].sources.contains(&slot))
    }

    /// True if the whole message is included.
    fn is_whole(&self, slot: u32) -> bool {
        self.inside.contains(&slot) && !self.excerpts.contains_key(&slot)
    }

    /// Facts that supersede the message's content and are not included yet.
    fn missing_successors(&self, slot: u32) -> Vec<usize> {
        let content = self.material.outdated.get(&slot);
        let facts = content.into_iter().flat_map(|content| content.facts.iter().copied());
        facts.filter(|number| !self.known.contains(number)).collect()
    }

    /// True if included messages tell a fact: one has its words, or those that prove it have each
    /// name, number and date of it. Of a fact in a script without capitals, they must have each
    /// character.
    fn is_told(&self, number: usize) -> bool {
        let fact = &self.material.facts[number];
        if self.said.iter().any(|(_, said)| *said == fact.text) {
            return true;
        }
        if fact.sources.is_empty() || !fact.sources.iter().all(|slot| self.is_whole(*slot)) {
            return false;
        }
        let lines: Vec<String> = fact.sources.iter().map(|slot| self.line_words(*slot)).collect();
        let said: HashSet<_> = lines.iter().flat_map(|line| plain_words(line)).collect();
        let is_value = |word: &str| {
            word.contains(|c: char| c.is_numeric() || c.is_uppercase() || is_cjk(c))
                && !is_function_word(&fold(word))
        };
        let since = self.writer.since(fact).in_text(ContextWords::of(Language::English), true);
        let since = words(&since).filter(|word| fact.is_dated && word.contains(char::is_numeric));
        let mut values = words(&fact.text).filter(|word| is_value(word)).chain(since);
        values.all(|word| plain_words(word).all(|word| said.contains(&word)))
    }

    /// What a message's line and its heading tell: speaker, day, and words with resolved dates.
    fn line_words(&self, slot: u32) -> String {
        let message = self.material.index.get(slot);
        let day = self.writer.date(message.timestamp).strftime("%-d %B %b %Y");
        format!("{} {day} {}", message.speaker(), self.writer.whole(slot))
    }

    /// Removes facts that included messages tell, except those that supersede a message's content.
    fn drop_told(&mut self) {
        let outdated = self.chosen.iter().filter_map(|slot| self.material.outdated.get(slot));
        let needed: HashSet<usize> =
            outdated.flat_map(|content| content.facts.iter().copied()).collect();
        let mut known = std::mem::take(&mut self.known);
        known.retain(|number| needed.contains(number) || !self.is_told(*number));
        self.known = known;
    }

    /// Summaries, best first and within the budget, of episodes that have no included message.
    fn summaries(&self) -> Result<Vec<usize>> {
        let mut used = self.used;
        let (mut shown, mut lines) = (Vec::new(), HashSet::new());
        if self.idle {
            return Ok(shown);
        }
        for (number, summary) in self.material.summaries.iter().enumerate() {
            if summary.sources.iter().any(|slot| self.inside.contains(slot)) {
                continue;
            }
            let line = self.writer.summary_line(number);
            let heading = if shown.is_empty() {
                self.material.form.summaries_tokens(self.material.words)
            } else {
                0
            };
            let tokens = self.writer.count(&line)? + heading;
            if used + tokens <= self.budget && lines.insert(line) {
                used += tokens;
                shown.push(number);
            }
        }
        Ok(shown)
    }

    /// Counts the selection exactly: names that are not repeated make it shorter than its lines.
    fn recount(&mut self) -> Result<()> {
        if !(self.chosen.is_empty() && self.known.is_empty()) {
            let written = self.writer.write(&self.known, &self.chosen, &[], &self.excerpts)?;
            self.used = written.tokens + 1;
        }
        Ok(())
    }

    /// Counts the whole text and removes the latest selections until it fits: joined pieces can
    /// have more tokens than the sum of their counts.
    fn fit(mut self, mut summaries: Vec<usize>) -> Result<ContextParts> {
        loop {
            let WrittenContext { text, tokens, messages, facts } =
                self.writer.write(&self.known, &self.chosen, &summaries, &self.excerpts)?;
            if tokens <= self.budget {
                let excerpts = messages.iter().copied();
                let excerpts = excerpts.filter(|slot| self.excerpts.contains_key(slot)).collect();
                self.reasons.retain(|slot, _| messages.contains(slot));
                return Ok(ContextParts {
                    text,
                    token_count: tokens,
                    messages,
                    excerpts,
                    facts,
                    summaries,
                    reasons: self.reasons,
                    ..ContextParts::default()
                });
            }
            let emptied = summaries.pop().is_none()
                && self.chosen.pop().is_none()
                && self.known.pop().is_none();
            if emptied {
                return Ok(ContextParts::empty(self.material.form, self.budget));
            }
        }
    }
}
