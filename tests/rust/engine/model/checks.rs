//! The promises that hold after every step.

use episodica_core::engine::{AnyRecord, RecordKind};
use episodica_core::score::SearchMethod;

use crate::engine::support::*;

use super::USERS;
use super::operations::Op;
use super::world::{Fate, World, id_of, text_of};

impl World {
    /// Checks everything that must hold at any time.
    pub fn check(&self) {
        let engine = self.engine();
        for (user, name) in USERS.iter().enumerate() {
            let there = records(engine, name, RecordKind::Message);
            let contents: Vec<&str> = there.iter().map(text_of).collect();
            let mut rest = contents.iter();
            for said in self.said.get(&user).into_iter().flatten() {
                let open = said.fate == Fate::Open;
                assert!(
                    open && !contents.contains(&said.content.as_str())
                        || rest.any(|content| *content == said.content),
                    "lost or out of order: {said:?} in {contents:?}"
                );
            }
            let own = |content: &str| {
                self.said
                    .get(&user)
                    .is_some_and(|all| all.iter().any(|said| said.content == content))
            };
            assert!(
                contents.iter().all(|content| own(content)),
                "an unknown message: {contents:?}"
            );
            self.check_episodes(name, &there);
        }
        for content in &self.gone {
            assert!(
                files_with(&self.disk, content).is_empty(),
                "deleted and back: `{content}` in {:?}",
                files_with(&self.disk, content)
            );
        }
        for (user, id, word) in &self.edits {
            let history = engine.history(USERS[*user], id, &NOW).unwrap();
            assert!(
                history.iter().any(|record| text_of(record).contains(word.as_str())),
                "an edit of {id} is lost: {word}"
            );
        }
        for ((user, id), archived) in &self.shelved {
            if let Some(AnyRecord::Semantic(fact)) = engine.get(USERS[*user], id, &NOW).unwrap() {
                assert_eq!(fact.archived_at.is_some(), *archived, "{fact:?}");
            }
        }
    }

    pub fn check_episodes(&self, user: &str, messages: &[AnyRecord]) {
        let mut inside: Vec<String> = Vec::new();
        for record in records(self.engine(), user, RecordKind::Episode) {
            let AnyRecord::Episode(episode) = record else { panic!("asked for episodes") };
            assert_eq!(episode.message_count, episode.original_messages.len());
            inside
                .extend(episode.original_messages.iter().map(|message| message.message_id.clone()));
        }
        let count = inside.len();
        inside.sort();
        inside.dedup();
        assert_eq!(inside.len(), count, "a message is in two episodes");
        assert!(
            inside.iter().all(|id| messages.iter().any(|message| id_of(message) == id)),
            "an episode of lost messages"
        );
        for record in records(self.engine(), user, RecordKind::Semantic) {
            let AnyRecord::Semantic(memory) = record else { panic!("asked for memories") };
            let known = |id: &String| messages.iter().any(|message| id_of(message) == id);
            assert!(
                memory.source_messages.iter().all(known),
                "a memory of deleted messages: {memory:?}"
            );
        }
    }

    pub fn check_buffers(&self, flushed: bool, users: &[usize]) {
        self.disk.heal();
        for user in users.iter().filter(|_| flushed) {
            assert_eq!(
                self.engine().user_stats(USERS[*user], &NOW).unwrap().buffered,
                0,
                "after a flush"
            );
        }
    }

    pub fn check_search(&self, user: usize) {
        for (owner, name) in USERS.iter().enumerate() {
            let Some(last) = self
                .said
                .get(&user)
                .and_then(|all| all.iter().rfind(|said| said.fate == Fate::Kept))
            else {
                return;
            };
            let word = last.id.strip_prefix("m-").unwrap();
            let hits = found(self.engine(), name, word, SearchMethod::Bm25);
            if owner == user {
                assert_eq!(hits.first(), Some(&last.content), "not found: {word}")
            } else {
                assert!(!hits.contains(&last.content), "found by another user: {word}")
            }
        }
    }

    /// Closes the engine, opens it again, and checks all records and files.
    pub fn finish(&mut self) {
        self.run(&Op::Reopen, false);
        self.check();
        let verified = self.engine().verify(None, &NOW).unwrap();
        self.run(&Op::Reopen, false);
        let again = self.engine().verify(None, &NOW).unwrap();
        assert!(again.errors == 0 && again.errors <= verified.errors, "{:?}", again.problems);
        for (_, said) in
            self.said.iter().flat_map(|(user, all)| all.iter().map(move |said| (user, said)))
        {
            assert!(said.fate == Fate::Open || !files_with(&self.disk, &said.content).is_empty());
        }
        (0..USERS.len()).for_each(|user| self.check_search(user));
    }
}
