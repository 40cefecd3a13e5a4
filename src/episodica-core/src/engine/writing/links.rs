//! Links new quotations with earlier ones of the same speaker.
//!
//! How sure a link of two quotations is depends on their words alone, so a deletion that takes one
//! away leaves the links of the others as they are.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::clock::Moment;
use crate::engine::memory::view::UserView;
use crate::generate::facts::next_revision;
use crate::generate::links::LinkableQuote;
use crate::index::TextTerms;
use crate::model::{FactLink, FactQuote, LinkKind, SaidBy, SemanticMemory};

/// Number of earlier quotations that are compared: those that share the rarest words.
const COMPARED: usize = 32;
/// A word in more facts than this finds no quotation to compare.
const FREQUENT: usize = 2_000;
/// Most links of a quotation, the latest.
const MAX_LINKS: usize = 16;

/// The quotations that a step of learning compares.
#[derive(Default)]
pub(super) struct LinkingStep {
    /// By the slots of known facts.
    known: FxHashMap<u32, LinkableQuote>,
    /// Those that the step adds, by id.
    new: Vec<(String, LinkableQuote)>,
    /// Facts that get other words than the view has.
    reworded: HashSet<String>,
}

/// Returns a fact as the step leaves it.
pub(super) type FindFact<'a, 'f> = &'a dyn Fn(&str) -> Option<&'f Arc<SemanticMemory>>;

impl LinkingStep {
    /// A step that also gives other words to these facts.
    pub fn rewording(facts: impl Iterator<Item = String>) -> Self {
        Self { reworded: facts.collect(), ..Self::default() }
    }

    /// Links a new fact with earlier ones, and later ones with it: what was said first may be told
    /// last. Returns the fact, and the next revisions of the later ones.
    pub fn link(
        &mut self,
        view: &UserView,
        find: FindFact<'_, '_>,
        fact: SemanticMemory,
        now: Moment,
    ) -> Vec<SemanticMemory> {
        let Some(quote) = fact.quote.as_deref().filter(|quote| is_of_person(quote)) else {
            return vec![fact];
        };
        let own = LinkableQuote::of(&quote.text);
        let mut links: Vec<FactLink> = Vec::new();
        let mut later: Vec<(&SemanticMemory, FactLink)> = Vec::new();
        let mut compare = |other, known: &LinkableQuote| match is_before(view, other, &fact) {
            Some(true) => links.extend(link_of((other, known), (&fact, &own))),
            Some(false) => {
                later.extend(link_of((&fact, &own), (other, known)).map(|link| (other, link)));
            }
            None => {}
        };
        for slot in slots_to_compare(view, &quote.text) {
            let known = view.facts.get(slot).map(|fact| &fact.memory_id);
            let known = known.filter(|id| !self.reworded.contains(*id));
            let Some(other) = known.and_then(|id| find(id)) else { continue };
            compare(other, self.known.entry(slot).or_insert_with(|| linkable(other)));
        }
        for (id, known) in &self.new {
            find(id).into_iter().for_each(|other| compare(other, known));
        }
        self.new.push((fact.memory_id.clone(), own));
        let find = |id: &str| {
            if id == fact.memory_id { Some(&fact) } else { find(id).map(|known| &**known) }
        };
        sort_links(&mut links, &find);
        let mut linked = Vec::new();
        for (known, link) in later {
            let mut next = next_revision(known, now);
            next.links.retain(|one| one.old != link.old);
            next.links.push(link);
            sort_links(&mut next.links, &find);
            if next.links != known.links {
                linked.push(next);
            }
        }
        linked.insert(0, SemanticMemory { links, ..fact });
        linked
    }
}

/// Puts the links with the latest words first, and leaves out those beyond [`MAX_LINKS`].
fn sort_links<'f>(links: &mut Vec<FactLink>, find: &dyn Fn(&str) -> Option<&'f SemanticMemory>) {
    links.sort_by_cached_key(|link| {
        let old = find(&link.old);
        let said = old.and_then(|old| old.quote.as_deref()).map(|quote| quote.said_at);
        let message = old.map(|old| old.source_messages.clone());
        std::cmp::Reverse((said, message, link.old_span[0]))
    });
    links.truncate(MAX_LINKS);
}

fn is_of_person(quote: &FactQuote) -> bool {
    quote.said_by == SaidBy::User
}

fn linkable(fact: &SemanticMemory) -> LinkableQuote {
    LinkableQuote::of(fact.quote.as_ref().map_or("", |quote| &*quote.text))
}

/// True if the first of two quotations of one speaker was said before the other; `None` for two
/// speakers, or one message. Of two messages of one time, the one that came first was said first.
fn is_before(view: &UserView, one: &SemanticMemory, other: &SemanticMemory) -> Option<bool> {
    let (said, quote) = one.quote.as_deref().zip(other.quote.as_deref())?;
    let is_of_both = said.speaker == quote.speaker && is_of_person(said);
    if !is_of_both || one.source_messages == other.source_messages {
        return None;
    }
    let slot = |fact: &SemanticMemory| view.messages.slot_of(fact.source_messages.first()?);
    Some((said.said_at, slot(one)) < (quote.said_at, slot(other)))
}

fn link_of(
    (old, known): (&SemanticMemory, &LinkableQuote),
    (new, own): (&SemanticMemory, &LinkableQuote),
) -> Option<FactLink> {
    let (said, quote) = old.quote.as_deref().zip(new.quote.as_deref())?;
    let found = known.link_with(own)?;
    Some(FactLink {
        old: old.memory_id.clone(),
        old_span: span_in_message(said, &found.old),
        span: span_in_message(quote, &found.new),
        kind: LinkKind::Later,
        score: (found.score * 1000.0).round() / 1000.0,
        kept: None,
    })
}

/// A part of a quotation as code points of its message.
fn span_in_message(quote: &FactQuote, part: &Range<usize>) -> [u32; 2] {
    let count = |text: &str| text.chars().count() as u32;
    let start = quote.span[0] + count(&quote.text[..part.start]);
    [start, start + count(&quote.text[part.clone()])]
}

/// The slots of the facts that share the rarest words with a text.
fn slots_to_compare(view: &UserView, text: &str) -> Vec<u32> {
    let postings = &view.statements.postings;
    let terms = TextTerms::from_text(text);
    let mut distinct: Vec<&str> = terms.iter().map(|term| term.text).collect();
    distinct.sort_unstable();
    distinct.dedup();
    let mut sums: FxHashMap<u32, f32> = FxHashMap::default();
    for term in distinct {
        let list = postings.term_postings(term);
        if list.len() > FREQUENT {
            continue;
        }
        let idf = postings.idf(postings.document_frequency(term));
        for posting in list.iter().filter(|posting| postings.is_alive(posting.slot)) {
            *sums.entry(posting.slot).or_default() += idf;
        }
    }
    let mut slots: Vec<(f32, u32)> = sums.into_iter().map(|(slot, sum)| (sum, slot)).collect();
    slots.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
    slots.into_iter().take(COMPARED).map(|(_, slot)| slot).collect()
}
