//! Selects the content of a context.

use std::collections::HashSet;

use jiff::civil::Date;
use rustc_hash::FxHashMap;

use super::dates::LineDates;
use super::excerpt::{ExcerptTerms, Parts};
use super::exchange::{is_small_talk, question_of, reply_to, said_later};
use super::form::OutputForm;
use super::text::{ContextWriter, EpisodeSummary, Excerpts, KnownFact, Outdated, WrittenContext};
use crate::clock::DisplayZone;
use crate::control::CallControl;
use crate::error::Result;
use crate::index::MessageIndex;
use crate::score::ranking::LONG_TALK;
use crate::score::{ParsedQuery, QueryTerm, ScoredMessage, TokenTable};
use crate::text::vocabulary::is_function_word;
use crate::text::words::{fold, words};
use crate::text::{count_tokens, is_cjk};

/// Price of length: messages are ranked by `score - PRICE x ln(tokens)`, so a message that is e
/// times as long must score this much higher. Shorter messages count as [`SHORT`] tokens, so that
/// none is chosen only for being short.
const PRICE: f64 = 0.1;
const SHORT: usize = 24;
/// Minimum score of a message, as a share of the best score, if the question is a single word.
const SHARE_OF_BEST: f64 = 0.4;
/// Maximum number of messages if none of the question's words occurs in any message: without a
/// sentence embedder or with fewer than [`ENOUGH_WORDS`] words, and otherwise.
const FEW: usize = 3;
const FEW_BY_MEANING: usize = 10;
const ENOUGH_WORDS: usize = 3;
/// Number of best messages of whose speakers a later message is included; for the best one, one
/// more for every `LATER_TOKENS` of the budget.
const LATER_OF: usize = 3;
const LATER_TOKENS: usize = 400;
/// Maximum length of a companion (reply, question or later message), in tokens.
const COMPANION: usize = 100;
/// Number of rounds of refilling. Omitted speaker names save tokens, and each round spends the
/// tokens that the last one saved.
const ROUNDS: usize = 4;
/// Minimum number of messages considered. With a large budget, as many are considered as would fit
/// with eight tokens each.
const CONSIDERED: usize = 512;
/// The facts' share of a budget of up to [`SMALL_BUDGET`] tokens. In larger budgets the share
/// falls: there is room for more of the messages that prove the facts.
const FACT_SHARE: f64 = 0.5;
/// Facts get at least this many tokens: a fact says in one line what a reader would look for in
/// several messages.
const LEAST_FACT_TOKENS: f64 = 150.0;
const SMALL_BUDGET: f64 = 400.0;
/// Number of best messages that are quoted in part only if they do not fit, and the share of the
/// budget (one in `BEST_PART`) that an excerpt of them gets.
const BEST: usize = 3;
const BEST_PART: usize = 3;
/// Any other message is quoted in part if it has more than `LONG` tokens and more than a third of
/// the budget. The part has `PART` tokens, or a tenth of the budget if that is more.
const LONG: usize = 192;
const PART: usize = 128;
const PART_OF_BUDGET: usize = 10;
/// Approximate number of characters per token.
const TOKEN_CHARS: usize = 4;
/// Number of messages whose tokens are counted between two cancellation checks.
const BETWEEN_CHECKS: usize = 64;

/// The candidates for a context, each kind best first.
pub struct ContextCandidates<'a> {
    /// All messages.
    pub index: &'a MessageIndex,
    /// The question.
    pub query: &'a ParsedQuery,
    /// Compares tokens by meaning.
    pub table: &'a dyn TokenTable,
    /// True without a sentence embedder: only words find messages.
    pub by_words: bool,
    /// The messages that answer the question, best first.
    pub messages: &'a [ScoredMessage],
    /// For messages that contain an earlier context: the parts that may be quoted.
    pub own: &'a FxHashMap<u32, Parts>,
    /// Current facts. Those from index `asked` on are included only because they supersede the
    /// content of a message.
    pub facts: &'a [KnownFact],
    /// Number of facts that answer the question.
    pub asked: usize,
    /// Tests whether a message may be shown.
    pub admits: &'a dyn Fn(u32) -> bool,
    /// Messages with superseded content.
    pub outdated: &'a Outdated,
    /// Summaries of episodes.
    pub summaries: &'a [EpisodeSummary],
    /// The output format.
    pub form: OutputForm,
    /// Time zone in which dates are shown.
    pub zone: &'a DisplayZone,
}

/// A packed context.
#[derive(Debug, Clone, Default)]
pub struct ContextParts {
    /// The text, ready for a prompt; at most as many tokens as the budget.
    pub text: String,
    /// Token count of `text` (o200k_base).
    pub token_count: usize,
    /// The included messages, in the order of the text.
    pub messages: Vec<u32>,
    /// The included messages that are quoted in part.
    pub excerpts: Vec<u32>,
    /// The included facts, in the order of the text, by index.
    pub facts: Vec<usize>,
    /// The included summaries, by index.
    pub summaries: Vec<usize>,
    /// For each included message that is not a hit, the reason why it is included.
    pub reasons: FxHashMap<u32, LineReason>,
}

/// The reason why a message that did not match by itself is in a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineReason {
    /// It replies to the question of a hit.
    Reply,
    /// It asks the question that a short hit answers.
    Question,
    /// It is a later message of the best hit's speaker on the same subject.
    Later,
}

impl LineReason {
    /// The name in the public interface.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reply => "reply",
            Self::Question => "question",
            Self::Later => "later",
        }
    }
}

impl ContextParts {
    /// The empty context in this format, or no text if the budget is too small for its frame.
    pub fn empty(form: OutputForm, budget: usize) -> Self {
        let tokens = count_tokens(form.empty());
        if tokens > budget {
            return Self::default();
        }
        Self { text: form.empty().to_owned(), token_count: tokens, ..Self::default() }
    }
}

/// Packs the best candidates into `budget` tokens: facts up to their share, then messages, then
/// more facts and summaries.
///
/// # Errors
/// The error of `control` if the caller cancelled.
pub fn pack(
    material: &ContextCandidates<'_>,
    budget: usize,
    control: &dyn CallControl,
) -> Result<ContextParts> {
    let ContextCandidates { index, facts, outdated, summaries, form, zone, .. } = *material;
    let dates = &LineDates::new(index, zone);
    let writer = ContextWriter { index, facts, summaries, outdated, dates, form, zone, control };
    let fact_tokens = (0..facts.len()).map(|number| writer.count(&writer.fact_line(number)));
    PackingRun {
        fact_tokens: fact_tokens.collect::<Result<_>>()?,
        day_tokens: form.day_tokens(),
        year_tokens: form.year_tokens(),
        sought: ExcerptTerms::new(material.query, index, material.table),
        material,
        writer,
        budget,
        chosen: Vec::new(),
        excerpts: Excerpts::default(),
        inside: HashSet::new(),
        reasons: FxHashMap::default(),
        known: Vec::new(),
    }
    .pack()
}

/// Tokens reserved for facts before messages are added.
fn fact_tokens(budget: usize) -> usize {
    let budget = budget as f64;
    let of_small = FACT_SHARE * budget.min(SMALL_BUDGET);
    let share = of_small * (SMALL_BUDGET / budget).min(1.0).sqrt();
    share.max(LEAST_FACT_TOKENS.min(budget)) as usize
}

/// A message that may enter a context.
struct WantedMessage {
    slot: u32,
    /// Token count of the whole message; a lower bound if it cannot fit.
    tokens: usize,
    /// Tokens that the message uses: its own, or those of its excerpt.
    cost: usize,
    /// True if the message is quoted whole where it fits.
    is_best: bool,
    /// The message that a short reply answers, without which it is not included.
    question: Option<u32>,
    /// Later messages of the speaker on the same subject.
    later: Vec<u32>,
}

/// Tokens that a selection uses, and its days.
struct BudgetUse {
    used: usize,
    days: HashSet<Date>,
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
    /// Token count of a day heading with its year.
    day_tokens: usize,
    year_tokens: usize,
    fact_tokens: Vec<usize>,
    /// The selected messages, in the order of selection.
    chosen: Vec<u32>,
    inside: HashSet<u32>,
    reasons: FxHashMap<u32, LineReason>,
    /// The quoted parts of those selected messages that did not fit.
    excerpts: Excerpts,
    /// The selected facts, in the order of selection.
    known: Vec<usize>,
}

impl PackingRun<'_> {
    fn pack(mut self) -> Result<ContextParts> {
        let share = fact_tokens(self.budget);
        let wanted = self.wanted()?;
        self.add_facts(share, |fact| fact.bears);
        for _ in 0..ROUNDS {
            let before = self.chosen.len();
            self.add_messages(&wanted)?;
            // The included messages already state some of the facts, so other relevant facts take
            // their place.
            self.drop_told();
            self.add_facts(share, |fact| fact.bears);
            if self.chosen.len() == before {
                break;
            }
        }
        let left = self.budget.saturating_sub(self.used()?);
        self.add_facts(self.known_tokens() + left, |fact| fact.bears);
        let summaries = self.summaries()?;
        self.fit(summaries)
    }

    /// The best messages that are relevant to the question. Scores do not separate messages if the
    /// question is a greeting, a single word, or has no word that occurs in any message.
    fn bearing(&self) -> Vec<&ScoredMessage> {
        let ContextCandidates { messages, query, index, by_words, .. } = *self.material;
        let considered = messages.iter().take(CONSIDERED.max(self.budget / 8));
        let is_short = index.len() < LONG_TALK;
        if is_short || !query.named.is_empty() || query.names_a_day() {
            return considered.collect();
        }
        let postings = &index.field.postings;
        let is_said = |term: &QueryTerm| {
            !term.variants.is_empty() || postings.document_frequency(&term.text) > 0
        };
        // A sentence embedder finds other words for the same, but needs words enough to do so: "hi"
        // is near every greeting.
        if !query.terms.iter().any(is_said) {
            let is_vague = by_words || query.terms.len() < ENOUGH_WORDS;
            return considered.take(if is_vague { FEW } else { FEW_BY_MEANING }).collect();
        }
        if query.terms.len() != 1 {
            return considered.collect();
        }
        let least = messages.first().map_or(0.0, |best| SHARE_OF_BEST * best.score);
        let has_it = |slot| self.sought.words(&index.get(slot).content) > 0.0;
        considered.filter(|one| one.score >= least || has_it(one.slot)).collect()
    }

    /// True for small talk in a long conversation that contains no word of the question.
    fn is_small_talk(&self, slot: u32) -> bool {
        let index = self.material.index;
        let is_omitted = index.len() >= LONG_TALK && is_small_talk(index, slot);
        is_omitted && self.sought.words(&index.get(slot).content) == 0.0
    }

    /// The messages ranked by score and length.
    fn wanted(&self) -> Result<Vec<WantedMessage>> {
        let messages = self.bearing();
        let mut wanted: Vec<(f64, WantedMessage)> = messages
            .iter()
            .enumerate()
            .filter(|(number, message)| *number == 0 || !self.is_small_talk(message.slot))
            .map(|(number, message)| {
                if number.is_multiple_of(BETWEEN_CHECKS) {
                    self.writer.control.check()?;
                }
                let own = self.material.own.get(&message.slot);
                let tokens = match own {
                    Some(parts) => self.writer.excerpt_tokens(message.slot, parts)?,
                    None => self.writer.message_tokens(message.slot, self.budget)?,
                };
                let is_best = number < BEST;
                let part = if is_best {
                    self.budget / BEST_PART
                } else {
                    PART.max(self.budget / PART_OF_BUDGET)
                };
                let question = question_of(self.material.index, message.slot);
                let answered = self.companion(question)?.map_or(0, |question| question.tokens);
                let least = if is_best { 0 } else { LONG };
                let is_long = own.is_none() && tokens > least.max(self.budget / BEST_PART);
                let cost = if is_long { part } else { tokens };
                let worth = message.score - PRICE * ((cost + answered).max(SHORT) as f64).ln();
                let (slot, later) = (message.slot, Vec::new());
                Ok((worth, WantedMessage { slot, tokens, cost, is_best, question, later }))
            })
            .collect::<Result<_>>()?;
        wanted.sort_by(|a, b| b.0.total_cmp(&a.0));
        if !self.material.query.asks_past {
            for (number, (_, best)) in wanted.iter_mut().take(LATER_OF).enumerate() {
                let most = if number == 0 { 1 + self.budget / LATER_TOKENS } else { 1 };
                best.later = self.said_later(best.slot, most)?;
            }
        }
        Ok(wanted.into_iter().map(|(_, wanted)| wanted).collect())
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

    /// Adds messages while they fit, each with the facts that supersede its content and with its
    /// companions; if the best messages do not fit, adds excerpts of them.
    fn add_messages(&mut self, wanted: &[WantedMessage]) -> Result<()> {
        let index = self.material.index;
        let mut room = self.room()?;
        let all: usize = wanted.iter().map(|wanted| wanted.cost).sum();
        for message in wanted {
            let slot = message.slot;
            let question = self.companion(message.question)?;
            let reserved = question.map_or(0, |question| question.tokens);
            let is_part = message.is_best && message.cost < message.tokens;
            // A long message gets the tokens that the other messages leave over, which may need
            // less than the budget.
            let others = all - message.cost;
            room.used += reserved;
            let fits = is_part || room.used + message.cost <= self.budget;
            let is_added = fits
                && !self.inside.contains(&slot)
                && self.add_message(&mut room, message, others)?;
            room.used -= reserved;
            let mut companions = Vec::new();
            if is_added {
                companions.extend(message.question.map(|to| (LineReason::Question, to)));
            }
            // A fact may say the same as the message.
            if !message.later.is_empty() && (self.inside.contains(&slot) || self.is_cited(slot)) {
                companions.extend(message.later.iter().map(|later| (LineReason::Later, *later)));
            }
            if is_added {
                companions.extend(reply_to(index, slot).map(|reply| (LineReason::Reply, reply)));
            }
            for (reason, companion) in companions {
                let Some(companion) = self.companion(Some(companion))? else { continue };
                if self.add_message(&mut room, &companion, 0)? {
                    self.reasons.insert(companion.slot, reason);
                }
            }
        }
        Ok(())
    }

    /// The message as a companion, if it may be included, is not yet, and is not too long.
    fn companion(&self, slot: Option<u32>) -> Result<Option<WantedMessage>> {
        let is_new = |slot: &u32| !self.inside.contains(slot) && (self.material.admits)(*slot);
        let Some(slot) = slot.filter(is_new) else { return Ok(None) };
        let tokens = self.writer.message_tokens(slot, COMPANION)?;
        let (question, later) = (None, Vec::new());
        let whole = WantedMessage { slot, tokens, cost: tokens, is_best: false, question, later };
        Ok((tokens <= COMPANION).then_some(whole))
    }

    /// Adds a message if it fits, with the facts that supersede its content. Adds a long message in
    /// part, unless the other messages, with `others` tokens, leave room for the whole.
    fn add_message(
        &mut self,
        room: &mut BudgetUse,
        wanted: &WantedMessage,
        others: usize,
    ) -> Result<bool> {
        let &WantedMessage { slot, mut tokens, cost, is_best, .. } = wanted;
        let (day, _) = self.writer.place(slot);
        let heading = if room.days.contains(&day) { 0 } else { self.day_tokens };
        let successors = self.missing_successors(slot);
        let facts: usize =
            successors.iter().map(|number| self.fact_tokens[*number] + self.year_tokens).sum();
        let left = self.budget.saturating_sub(room.used + heading + facts);
        let most = left.min(cost.max(left.saturating_sub(others)));
        if cost < tokens && tokens > if is_best { left } else { most } {
            let Some((parts, counted)) = self.excerpt(slot, most, left)? else { return Ok(false) };
            self.excerpts.insert(slot, parts);
            tokens = counted;
        }
        if tokens > left {
            return Ok(false);
        }
        if let Some(parts) = self.material.own.get(&slot) {
            self.excerpts.insert(slot, parts.clone());
        }
        room.used += tokens + heading + facts;
        room.days.insert(day);
        self.inside.insert(slot);
        self.chosen.push(slot);
        self.known.extend(successors);
        Ok(true)
    }

    /// Tokens that the selection uses so far.
    fn room(&self) -> Result<BudgetUse> {
        let days = self.chosen.iter().map(|slot| self.writer.place(*slot).0).collect();
        Ok(BudgetUse { used: self.used()?, days })
    }

    /// The best-matching parts of a message, about `room` tokens, and their token count; `None` if
    /// even the best part does not fit into `left`.
    fn excerpt(&mut self, slot: u32, room: usize, left: usize) -> Result<Option<(Parts, usize)>> {
        let content = &self.material.index.get(slot).content;
        let compared = self.sought.compare(content, self.writer.control)?;
        let mut chars = TOKEN_CHARS * room;
        loop {
            let parts = compared.excerpt(chars);
            let tokens = self.writer.excerpt_tokens(slot, &parts)?;
            if tokens <= if chars > 0 { room } else { left } {
                return Ok((!parts.is_empty()).then_some((parts, tokens)));
            }
            if chars == 0 {
                return Ok(None);
            }
            chars = if chars > TOKEN_CHARS { chars * room / (tokens + 1) } else { 0 };
        }
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

    /// Adds the `wanted` facts, best first, that no included message states, as long as all facts
    /// have at most `most` tokens.
    fn add_facts(&mut self, most: usize, wanted: impl Fn(&KnownFact) -> bool) {
        let mut used = self.known_tokens();
        for number in 0..self.material.asked {
            let fits = used + self.fact_tokens[number] <= most;
            let is_wanted = fits && wanted(&self.material.facts[number]);
            if is_wanted && !self.known.contains(&number) && !self.is_told(number) {
                self.known.push(number);
                match self.known_tokens() {
                    tokens if tokens <= most => used = tokens,
                    _ => drop(self.known.pop()),
                }
            }
        }
    }

    /// True if the messages that prove a fact are included, and their lines have each name, number
    /// and date of the fact. Of a fact in a script without capitals, they must have each character.
    fn is_told(&self, number: usize) -> bool {
        let fact = &self.material.facts[number];
        if fact.sources.is_empty() || !fact.sources.iter().all(|slot| self.is_whole(*slot)) {
            return false;
        }
        let lines: Vec<String> = fact.sources.iter().map(|slot| self.line_words(*slot)).collect();
        let said: HashSet<_> = lines.iter().flat_map(|line| plain_words(line)).collect();
        let is_value = |word: &str| {
            word.contains(|c: char| c.is_numeric() || c.is_uppercase() || is_cjk(c))
                && !is_function_word(&fold(word))
        };
        let since = self.writer.since(fact).in_text(true);
        let since = words(&since).filter(|word| word.contains(char::is_numeric));
        let mut values = words(&fact.text).filter(|word| is_value(word)).chain(since);
        values.all(|word| plain_words(word).all(|word| said.contains(&word)))
    }

    /// What a message's line and its heading tell: speaker, day, and words with resolved dates.
    fn line_words(&self, slot: u32) -> String {
        let message = self.material.index.get(slot);
        let day = self.writer.date(message.timestamp).strftime("%-d %B %b %Y");
        format!("{} {day} {}", message.speaker(), self.writer.whole(slot))
    }

    /// Removes facts that included messages state, except those that supersede a message's content.
    fn drop_told(&mut self) {
        let outdated = self.chosen.iter().filter_map(|slot| self.material.outdated.get(slot));
        let needed: HashSet<usize> =
            outdated.flat_map(|content| content.facts.iter().copied()).collect();
        let mut known = std::mem::take(&mut self.known);
        known.retain(|number| needed.contains(number) || !self.is_told(*number));
        self.known = known;
    }

    /// Token count of the facts selected so far.
    fn known_tokens(&self) -> usize {
        let year = |number: &usize| self.writer.date(self.material.facts[*number].since).year();
        let years: HashSet<i16> = self.known.iter().map(year).collect();
        let facts: usize = self.known.iter().map(|number| self.fact_tokens[*number]).sum();
        facts + years.len() * self.year_tokens
    }

    /// Summaries, best first and within the budget, of episodes that have no included message.
    fn summaries(&self) -> Result<Vec<usize>> {
        let mut used = self.used()?;
        let (mut shown, mut lines) = (Vec::new(), HashSet::new());
        for (number, summary) in self.material.summaries.iter().enumerate() {
            if summary.sources.iter().any(|slot| self.inside.contains(slot)) {
                continue;
            }
            let line = self.writer.summary_line(number);
            let heading = if shown.is_empty() { self.material.form.summaries_tokens() } else { 0 };
            let tokens = self.writer.count(&line)? + heading;
            if used + tokens <= self.budget && lines.insert(line) {
                used += tokens;
                shown.push(number);
            }
        }
        Ok(shown)
    }

    /// Upper bound of the selection's token count. The exact count is lower, since a name is
    /// omitted if the same speaker continues.
    fn used(&self) -> Result<usize> {
        if self.chosen.is_empty() && self.known.is_empty() {
            return Ok(self.material.form.frame_tokens());
        }
        Ok(self.writer.write(&self.known, &self.chosen, &[], &self.excerpts)?.tokens + 1)
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
