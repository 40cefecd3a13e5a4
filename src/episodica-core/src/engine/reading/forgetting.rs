//! Proposes records to archive, by their strength and the other conditions of a policy; facts of
//! some kinds are never proposed. The caller archives.

use std::collections::BTreeMap;

use crate::clock::Moment;
use crate::engine::memory::listing::RecordKind;
use crate::engine::memory::records::AnyRecord;
use crate::engine::memory::view::UserView;
use crate::generate::facts::is_vital;
use crate::model::{Episode, MemoryKind, SemanticMemory};
use crate::score::RecordFilter;
use crate::store::RecordUse;

/// Share of the strength that is lost in a day without use.
const DECAY_PER_DAY: f64 = 0.1;
/// How much each use slows the loss.
const USES_SLOW: f64 = 0.2;
const SECONDS_PER_DAY: f64 = 86_400.0;

/// Conditions for a proposal; all that are set must hold. Expired facts only have to meet `filter`
/// and `kinds`.
#[derive(Debug, Clone, Default)]
pub struct ForgettingPolicy {
    /// Only records with less strength.
    pub strength: Option<f64>,
    /// Only records written at least this many days ago.
    pub older_than_days: Option<f64>,
    /// Only records not returned, changed or confirmed for this many days.
    pub unused_days: Option<f64>,
    /// Only records returned at most this often.
    pub max_uses: Option<u64>,
    /// Only facts of at most this importance; episodes have none.
    pub max_importance: Option<f32>,
    /// Conditions on the records themselves.
    pub filter: RecordFilter,
    /// Kinds of records: facts, episodes.
    pub kinds: Vec<RecordKind>,
    /// Categories of facts that are never proposed.
    pub exempt_kinds: Vec<MemoryKind>,
}

/// The proposal of a policy.
#[derive(Debug, Clone, Default)]
pub struct ForgettingPlan {
    /// The records, weakest first.
    pub candidates: Vec<ForgottenRecord>,
    /// How many records met the conditions but are exempt.
    pub exempt: usize,
}

/// A record that is proposed for archiving.
#[derive(Debug, Clone)]
pub struct ForgottenRecord {
    /// The record.
    pub record: AnyRecord,
    /// 0 to 1: `confidence x exp(-0.1 x days since the last use / (1 + 0.2 x uses))`.
    pub strength: f64,
    /// How often searches returned the record.
    pub uses: u64,
    /// When the record was last returned, changed or confirmed.
    pub last_used: Moment,
    /// Why the record is proposed, for people.
    pub reasons: Vec<String>,
}

/// The strength of a memory, 0 to 1.
pub fn memory_strength(confidence: f64, days: f64, uses: u64) -> f64 {
    confidence * (-DECAY_PER_DAY * days.max(0.0) / (1.0 + USES_SLOW * uses as f64)).exp()
}

/// A record as the conditions see it.
struct RecordFacts {
    strength: f64,
    age_days: f64,
    unused_days: f64,
    uses: u64,
    importance: Option<f32>,
    last_used: Moment,
}

impl ForgettingPolicy {
    /// Applies the policy to the records of a view.
    pub(crate) fn apply_policy(
        &self,
        view: &UserView,
        uses: &BTreeMap<String, RecordUse>,
        now: Moment,
    ) -> ForgettingPlan {
        let mut found = ForgettingPlan::default();
        if self.kinds.contains(&RecordKind::Semantic) {
            for (_, fact) in view.facts.iter() {
                if self.filter.admits_fact(fact, &view.messages) {
                    found.add_proposal(self.propose_fact(fact, uses.get(&fact.memory_id), now));
                }
            }
        }
        if self.kinds.contains(&RecordKind::Episode) {
            for (_, episode) in view.episodes.iter() {
                // An episode must be learned from before it is archived.
                let waits = view.backlog.unlearned_episodes().contains_key(&episode.episode_id);
                if !waits && self.filter.admits_episode(episode) {
                    found.add_proposal(self.propose_episode(
                        episode,
                        uses.get(&episode.episode_id),
                        now,
                    ));
                }
            }
        }
        found.candidates.sort_by(|a, b| {
            a.strength.total_cmp(&b.strength).then_with(|| a.record.id().cmp(b.record.id()))
        });
        found
    }

    fn propose_fact(
        &self,
        fact: &SemanticMemory,
        used: Option<&RecordUse>,
        now: Moment,
    ) -> RecordProposal {
        if fact.archived_at.is_some() || !fact.holds_at(now) {
            return RecordProposal::Kept;
        }
        let written = (fact.created_at, fact.updated_at);
        let confidence = f64::from(fact.confidence);
        let seen = RecordFacts::new(confidence, Some(fact.importance), written, used, now);
        if let Some(expires) = fact.expires_at.filter(|expires| *expires <= now) {
            let reason = format!("expired on {}", expires.local().date());
            return RecordProposal::from_record(
                AnyRecord::Semantic(fact.clone().into()),
                &seen,
                vec![reason],
            );
        }
        let Some(reasons) = self.proposal_reasons(&seen) else { return RecordProposal::Kept };
        if is_vital(fact) || self.exempt_kinds.contains(&fact.kind) {
            return RecordProposal::Exempt;
        }
        RecordProposal::from_record(AnyRecord::Semantic(fact.clone().into()), &seen, reasons)
    }

    fn propose_episode(
        &self,
        episode: &Episode,
        used: Option<&RecordUse>,
        now: Moment,
    ) -> RecordProposal {
        if episode.archived_at.is_some() {
            return RecordProposal::Kept;
        }
        let written = (episode.created_at, episode.created_at);
        let seen = RecordFacts::new(1.0, None, written, used, now);
        match self.proposal_reasons(&seen) {
            Some(reasons) => RecordProposal::from_record(
                AnyRecord::Episode(episode.clone().into()),
                &seen,
                reasons,
            ),
            None => RecordProposal::Kept,
        }
    }

    /// The reasons to propose a record; `None` if a condition fails, or none is set.
    fn proposal_reasons(&self, seen: &RecordFacts) -> Option<Vec<String>> {
        let mut reasons = Vec::new();
        let mut hold = true;
        let mut demand = |holds: bool, reason: String| {
            hold &= holds;
            reasons.push(reason);
        };
        if let Some(least) = self.strength {
            let found = seen.strength;
            demand(found < least, format!("strength {found:.2} is below {least:.2}"));
        }
        if let Some(least) = self.older_than_days {
            let found = seen.age_days;
            demand(found >= least, format!("written down {found:.0} days ago"));
        }
        if let Some(least) = self.unused_days {
            let found = seen.unused_days;
            demand(found >= least, format!("not used for {found:.0} days"));
        }
        if let Some(most) = self.max_uses {
            let times = if seen.uses == 1 { "once".into() } else { format!("{} times", seen.uses) };
            demand(seen.uses <= most, format!("used {times}"));
        }
        if let Some(most) = self.max_importance {
            let found = seen.importance;
            let shown = found.unwrap_or_default();
            demand(
                found.is_some_and(|found| found <= most),
                format!("importance {shown:.2} is not above {most:.2}"),
            );
        }
        (hold && !reasons.is_empty()).then_some(reasons)
    }
}

impl RecordFacts {
    fn new(
        confidence: f64,
        importance: Option<f32>,
        (created, updated): (Moment, Moment),
        used: Option<&RecordUse>,
        now: Moment,
    ) -> Self {
        let days = |since: Moment| now.seconds_since(since).max(0.0) / SECONDS_PER_DAY;
        let uses = used.map_or(0, |used| used.uses);
        let last_used = used.map_or(updated, |used| used.last_used.max(updated));
        Self {
            strength: memory_strength(confidence, days(last_used), uses),
            age_days: days(created),
            unused_days: days(last_used),
            uses,
            importance,
            last_used,
        }
    }
}

enum RecordProposal {
    Kept,
    Exempt,
    Archived(ForgottenRecord),
}

impl RecordProposal {
    fn from_record(record: AnyRecord, seen: &RecordFacts, reasons: Vec<String>) -> Self {
        Self::Archived(ForgottenRecord {
            record,
            strength: seen.strength,
            uses: seen.uses,
            last_used: seen.last_used,
            reasons,
        })
    }
}

impl ForgettingPlan {
    fn add_proposal(&mut self, proposal: RecordProposal) {
        match proposal {
            RecordProposal::Kept => {}
            RecordProposal::Exempt => self.exempt += 1,
            RecordProposal::Archived(forgotten) => self.candidates.push(forgotten),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strength_fades_with_the_days_and_more_slowly_with_uses() {
        assert!((memory_strength(0.8, 0.0, 0) - 0.8).abs() < 1e-12);
        assert!((memory_strength(1.0, 10.0, 0) - (-1.0_f64).exp()).abs() < 1e-12);
        assert!((memory_strength(1.0, 10.0, 5) - (-0.5_f64).exp()).abs() < 1e-12);
        assert!((memory_strength(0.9, -3.0, 0) - 0.9).abs() < 1e-12);
    }

    #[test]
    fn all_conditions_must_hold_and_without_one_nothing_is_proposed() {
        let now = Moment::parse("2026-03-01T00:00:00Z").unwrap();
        let written = Moment::parse("2026-01-01T00:00:00Z").unwrap();
        let seen = RecordFacts::new(1.0, Some(0.5), (written, written), None, now);
        assert_eq!(ForgettingPolicy::default().proposal_reasons(&seen), None);
        let old = ForgettingPolicy { older_than_days: Some(30.0), ..ForgettingPolicy::default() };
        assert_eq!(old.proposal_reasons(&seen).unwrap(), ["written down 59 days ago"]);
        let both = ForgettingPolicy { max_importance: Some(0.4), ..old };
        assert_eq!(both.proposal_reasons(&seen), None);
    }
}
