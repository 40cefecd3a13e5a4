//! Listings: which records of a view, in which order. The pages of one listing share the order, so
//! that reading all pages takes time in proportion to the records.

use std::sync::Arc;

use crate::sync::Mutex;

use crate::clock::Moment;
use crate::engine::memory::records::AnyRecord;
use crate::engine::memory::view::UserView;
use crate::score::RecordFilter;

/// Number of listings of one user whose orders are kept.
const KEPT: usize = 4;

/// The kinds of record that can be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordKind {
    /// Messages.
    Message,
    /// Episodes.
    Episode,
    /// Facts.
    Semantic,
}

/// The parameters of one page of a listing.
#[derive(Debug, Clone, Default)]
pub struct ListingPage {
    /// Conditions on the records.
    pub filter: RecordFilter,
    /// Newest first instead of oldest first.
    pub newest_first: bool,
    /// Number of records to skip.
    pub offset: usize,
    /// Ids of the last records of the page before, in order. The page begins after the last of them
    /// that still exists, even if records were added meanwhile. If none of them exists, `offset`
    /// counts.
    pub after: Vec<String>,
    /// Maximum number of records.
    pub limit: usize,
    /// Includes superseded facts.
    pub include_superseded: bool,
    /// Includes archived records and expired facts.
    pub include_archived: bool,
}

/// A record in a list of names, without its contents.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordOutline {
    /// Its id.
    pub id: String,
    /// When a message was said, an episode took place, or a fact began to hold.
    pub at: Moment,
    /// The title of an episode, the text of a fact; empty for a message.
    pub text: String,
    /// The session of a message or an episode, the kind of a fact.
    pub group: Option<String>,
}

/// The orders of the latest listings, oldest first.
#[derive(Default)]
pub(crate) struct ListingOrders(Mutex<Vec<ListingOrder>>);

/// The slots of a listing.
struct ListingOrder {
    kind: RecordKind,
    filter: RecordFilter,
    newest_first: bool,
    include_superseded: bool,
    include_archived: bool,
    /// The state of the view when the order was computed.
    state: [usize; 7],
    slots: Arc<[u32]>,
}

impl ListingOrder {
    fn is_of(&self, kind: RecordKind, page: &ListingPage) -> bool {
        self.kind == kind
            && self.newest_first == page.newest_first
            && self.include_superseded == page.include_superseded
            && self.include_archived == page.include_archived
            && self.filter == page.filter
    }
}

impl UserView {
    /// One page of a listing, by time.
    pub fn listing_page(&self, kind: RecordKind, page: &ListingPage) -> Vec<AnyRecord> {
        let slots = self.listing_order(kind, page);
        let first = self.page_start(kind, page, &slots);
        if first.saturating_add(page.limit) >= slots.len() {
            self.orders.0.lock().retain(|order| !order.is_of(kind, page));
        }
        let chosen = slots.iter().skip(first).take(page.limit);
        chosen.filter_map(|slot| self.record_at(kind, *slot)).collect()
    }

    /// [`UserView::listing_page`] without the contents.
    pub fn outline_page(&self, kind: RecordKind, page: &ListingPage) -> Vec<RecordOutline> {
        let slots = self.listing_order(kind, page);
        let chosen = slots.iter().skip(page.offset).take(page.limit);
        chosen.filter_map(|slot| self.record_outline(kind, *slot)).collect()
    }

    fn record_outline(&self, kind: RecordKind, slot: u32) -> Option<RecordOutline> {
        let session = |session: &Option<Arc<str>>| session.as_deref().map(str::to_owned);
        Some(match kind {
            RecordKind::Message => {
                let message = self.messages.get(slot);
                RecordOutline {
                    id: message.message_id.clone(),
                    at: message.timestamp,
                    text: String::new(),
                    group: session(&message.session_id),
                }
            }
            RecordKind::Episode => {
                let episode = self.episodes.get(slot)?;
                RecordOutline {
                    id: episode.episode_id.clone(),
                    at: episode.timestamp,
                    text: episode.title.clone(),
                    group: session(&episode.session_id),
                }
            }
            RecordKind::Semantic => {
                let fact = self.facts.get(slot)?;
                RecordOutline {
                    id: fact.memory_id.clone(),
                    at: fact.valid_from,
                    text: fact.content.clone(),
                    group: Some(fact.kind.name().to_owned()),
                }
            }
        })
    }

    /// The place in the order at which a page begins.
    fn page_start(&self, kind: RecordKind, page: &ListingPage, slots: &[u32]) -> usize {
        let place = |id: &String| {
            let slot = match kind {
                RecordKind::Message => self.messages.slot_of(id),
                RecordKind::Episode => self.episodes.slot_by_id(id),
                RecordKind::Semantic => self.facts.slot_by_id(id),
            }?;
            let unmoved = page.offset.checked_sub(1).filter(|at| slots.get(*at) == Some(&slot));
            unmoved.or_else(|| slots.iter().position(|other| *other == slot))
        };
        page.after.iter().rev().find_map(place).map_or(page.offset, |last| last + 1)
    }

    /// The number of records of a listing, whatever its offset; at most its limit.
    pub fn listing_count(&self, kind: RecordKind, page: &ListingPage) -> usize {
        self.listing_order(kind, page).len().min(page.limit)
    }

    /// The slots of a listing in its order: cached, unless the view has changed.
    fn listing_order(&self, kind: RecordKind, page: &ListingPage) -> Arc<[u32]> {
        // Slots are never reused, and a deletion lowers the number of records, so these numbers
        // identify the state.
        let state = [
            self.messages.slot_count(),
            self.messages.len(),
            self.episodes.slot_count(),
            self.episodes.len(),
            self.facts.slot_count(),
            self.facts.len(),
            self.hidden.expired,
        ];
        {
            let mut orders = self.orders.0.lock();
            orders.retain(|order| order.state == state);
            if let Some(order) = orders.iter().find(|order| order.is_of(kind, page)) {
                return Arc::clone(&order.slots);
            }
        }
        let slots: Arc<[u32]> = self.sorted_slots(kind, page).into();
        let order = ListingOrder {
            kind,
            filter: page.filter.clone(),
            newest_first: page.newest_first,
            include_superseded: page.include_superseded,
            include_archived: page.include_archived,
            state,
            slots: Arc::clone(&slots),
        };
        let mut orders = self.orders.0.lock();
        if orders.len() == KEPT {
            orders.remove(0);
        }
        orders.push(order);
        slots
    }

    fn sorted_slots(&self, kind: RecordKind, page: &ListingPage) -> Vec<u32> {
        let filter = &page.filter;
        let mut dated: Vec<(Moment, u32)> = match kind {
            RecordKind::Message => {
                let messages = self.messages.iter();
                let admitted = messages.filter(|(_, message)| filter.admits_message(message));
                admitted.map(|(slot, message)| (message.timestamp, slot)).collect()
            }
            RecordKind::Episode => {
                let episodes = self.episodes.iter();
                let admitted = episodes
                    .filter(|(slot, _)| page.include_archived || !self.is_episode_hidden(*slot))
                    .filter(|(_, episode)| filter.admits_episode(episode));
                admitted.map(|(slot, episode)| (episode.timestamp, slot)).collect()
            }
            RecordKind::Semantic => {
                let facts = self.facts.iter();
                let admitted = facts
                    .filter(|(slot, _)| page.include_archived || !self.is_fact_hidden(*slot))
                    .filter(|(slot, _)| page.include_superseded || self.is_current(*slot))
                    .filter(|(_, fact)| filter.admits_fact(fact, &self.messages));
                admitted.map(|(slot, fact)| (fact.valid_from, slot)).collect()
            }
        };
        // A stable sort keeps records of one moment in the order of arrival.
        dated.sort_by_key(|(moment, _)| *moment);
        if page.newest_first {
            dated.reverse();
        }
        dated.into_iter().map(|(_, slot)| slot).collect()
    }

    fn record_at(&self, kind: RecordKind, slot: u32) -> Option<AnyRecord> {
        match kind {
            RecordKind::Message => Some(AnyRecord::Message(Arc::clone(self.messages.get(slot)))),
            RecordKind::Episode => self.episodes.get(slot).cloned().map(AnyRecord::Episode),
            RecordKind::Semantic => self.facts.get(slot).cloned().map(AnyRecord::Semantic),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::MessageReading;
    use crate::model::testing::said;

    fn view(count: u64) -> UserView {
        let mut view = UserView::default();
        (0..count).for_each(|seq| add(&mut view, seq));
        view
    }

    fn add(view: &mut UserView, seq: u64) {
        let text = format!("Note {seq}");
        let message = said(seq, "user", None, "2024-03-11T09:30:00Z", &text);
        view.add_messages(&[message], &[MessageReading::from_content(&text, Vec::new())]);
    }

    fn page(offset: usize) -> ListingPage {
        ListingPage { offset, limit: 256, ..ListingPage::default() }
    }

    #[test]
    fn pages_of_a_listing_share_one_order() {
        let view = view(1_000);
        let order = view.listing_order(RecordKind::Message, &page(0));
        for offset in [0, 256, 512] {
            assert_eq!(view.listing_page(RecordKind::Message, &page(offset)).len(), 256);
            assert!(Arc::ptr_eq(
                &order,
                &view.listing_order(RecordKind::Message, &page(offset + 256))
            ));
        }
        let newest = ListingPage { newest_first: true, ..page(0) };
        view.listing_page(RecordKind::Message, &newest);
        assert!(Arc::ptr_eq(&order, &view.listing_order(RecordKind::Message, &page(768))));
        assert_eq!(view.listing_count(RecordKind::Message, &page(0)), 256);
    }

    #[test]
    fn the_last_page_lets_the_order_go() {
        let view = view(300);
        view.listing_page(RecordKind::Message, &page(0));
        assert_eq!(view.orders.0.lock().len(), 1);
        assert_eq!(view.listing_page(RecordKind::Message, &page(256)).len(), 44);
        assert!(view.orders.0.lock().is_empty());
    }

    #[test]
    fn what_is_added_or_deleted_meanwhile_changes_the_order() {
        let mut view = view(300);
        assert_eq!(view.listing_order(RecordKind::Message, &page(0)).len(), 300);
        add(&mut view, 300);
        assert_eq!(view.listing_order(RecordKind::Message, &page(0)).len(), 301);
        view.messages.remove_message("m7").unwrap();
        assert_eq!(view.listing_order(RecordKind::Message, &page(0)).len(), 300);
    }

    #[test]
    fn few_orders_are_kept() {
        let view = view(1_000);
        for number in 0..10 {
            let filter =
                RecordFilter { session_id: Some(format!("s{number}")), ..RecordFilter::default() };
            view.listing_order(RecordKind::Message, &ListingPage { filter, ..page(0) });
        }
        assert_eq!(view.orders.0.lock().len(), KEPT);
    }
}
