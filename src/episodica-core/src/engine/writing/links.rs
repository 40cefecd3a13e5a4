//! Links new quotations with earlier ones of the same speaker.
//!
//! How sure a link of two quotations is depends on their words alone, so a deletion that takes one
//! away leaves the links of the others as they are.

use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::clock::Moment;
use crate::engine::memory::view::UserView;
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
    /// Those that the step learns, in order.
    new: Vec<(Arc<SemanticMemory>, LinkableQuote)>,
}

impl LinkingStep {
    /// Adds to a new fact its links with earlier ones.
    pub fn link(&mut self, view: &UserView, fact: SemanticMemory) -> SemanticMemory {
        let Some(quote) = fact.quote.as_deref().filter(|quote| is_of_person(quote)) else {
            return fact;
        };
        let own = LinkableQuote::of(&quote.text);
        let mut links: Vec<(LinkOrder, FactLink)> = Vec::new();
        for slot in slots_to_compare(view, &quote.text) {
            let Some(old) = view.facts.get(slot).filter(|old| is_earlier(old, &fact)) else {
                continue;
            };
            let known = self.known.entry(slot).or_insert_with(|| linkable(old));
            links.extend(link_of((old, known), (quote, &own)));
        }
        for (old, known) in self.new.iter().filter(|(old, _)| is_earlier(old, &fact)) {
            links.extend(link_of((old, known), (quote, &own)));
        }
        links.sort_by(|(a, _), (b, _)| b.cmp(a));
        let links = links.into_iter().map(|(_, link)| link).take(MAX_LINKS).collect();
        let linked = SemanticMemory { links, ..fact };
        self.new.push((Arc::new(linked.clone()), own));
        linked
    }
}

/// When the earlier words were said, and in which message and where.
type LinkOrder = (Moment, Vec<String>, u32);

fn is_of_person(quote: &FactQuote) -> bool {
    quote.said_by == SaidBy::User
}

fn linkable(fact: &SemanticMemory) -> LinkableQuote {
    LinkableQuote::of(fact.quote.as_ref().map_or("", |quote| &*quote.text))
}

/// True if a quotation is of the same speaker as a new one, and of an earlier message.
fn is_earlier(old: &SemanticMemory, new: &SemanticMemory) -> bool {
    let (Some(said), Some(now)) = (&old.quote, &new.quote) else { return false };
    said.said_at <= now.said_at
        && said.speaker == now.speaker
        && is_of_person(said)
        && old.source_messages != new.source_messages
}

fn link_of(
    (old, known): (&SemanticMemory, &LinkableQuote),
    (quote, own): (&FactQuote, &LinkableQuote),
) -> Option<(LinkOrder, FactLink)> {
    let said = old.quote.as_deref()?;
    let found = known.link_with(own)?;
    let link = FactLink {
        old: old.memory_id.clone(),
        old_span: span_in_message(said, &found.old),
        span: span_in_message(quote, &found.new),
        kind: LinkKind::Later,
        score: (found.score * 1000.0).round() / 1000.0,
        kept: None,
    };
    Some(((said.said_at, old.source_messages.clone(), link.old_span[0]), link))
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
    let terms = TextTerms::of(text);
    let mut distinct: Vec<&str> = terms.iter().map(|term| term.text).collect();
    distinct.sort_unstable();
    distinct.dedup();
    let mut sums: FxHashMap<u32, f32> = FxHashMap::default();
    for term in distinct {
        let list = postings.postings(term);
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
