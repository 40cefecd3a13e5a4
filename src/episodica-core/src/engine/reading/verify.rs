//! Checks a store in use: files against their checksums, indexes against the logs. Changes nothing;
//! every problem names its remedy.

use crate::control::CallControl;
use crate::engine::lifecycle::Engine;
use crate::engine::memory::vectors::KnownVectors;
use crate::engine::memory::view::UserView;
use crate::engine::user::OpenUser;
use crate::error::{Error, Result};
use crate::model::{StoreProblem, VerifyReport};

impl Engine {
    /// Files of the store that need a person's attention. Reads no log.
    ///
    /// # Errors
    /// `Closed`; `Io` if a directory can't be read.
    pub fn check_files(&self) -> Result<Vec<StoreProblem>> {
        self.check_open()?;
        let store = &self.services.store;
        let exists =
            |problem: &&StoreProblem| !matches!(store.backend().stat_path(&problem.path), Ok(None));
        let mut problems: Vec<_> = store.problems().iter().filter(exists).cloned().collect();
        problems.extend(store.check_files(&self.services.tenant)?);
        Ok(problems)
    }

    /// Reads every file of the users again and compares it with its checksums, and the indexes with
    /// the records.
    ///
    /// # Errors
    /// `Interrupted`; `Closed`; `Io` if a directory can't be read. A damaged file is a problem in
    /// the report, not an error.
    pub fn verify(&self, user_id: Option<&str>, control: &dyn CallControl) -> Result<VerifyReport> {
        let mut report = VerifyReport { problems: self.check_files()?, ..VerifyReport::default() };
        let users = match self.selected_users(user_id) {
            Ok(users) => users,
            Err(error) => {
                report.problems.push(self.opening_problem(error)?);
                Vec::new()
            }
        };
        let total = users.len();
        for (done, user_id) in users.into_iter().enumerate() {
            control.check()?;
            match self.known_user(&user_id, control) {
                Ok(Some(user)) => self.verify_user(&user, &mut report)?,
                Ok(None) => {}
                Err(error) => report.problems.push(self.opening_problem(error)?),
            }
            self.services.callouts.report_progress(control, "users", done + 1, total);
        }
        let mut seen = std::collections::HashSet::new();
        report.problems.retain(|problem| {
            seen.insert((problem.path.clone(), problem.line, problem.message.clone()))
        });
        report.errors = report.problems.iter().filter(|problem| !problem.mended).count();
        Ok(report)
    }

    /// Turns an error at opening a user into a problem of the file that it names.
    fn opening_problem(&self, error: Error) -> Result<StoreProblem> {
        let Some(path) = error.path().map(std::path::Path::to_owned) else { return Err(error) };
        let remedy = error.hint().unwrap_or("remove the cause and open the store again").to_owned();
        Ok(StoreProblem {
            path,
            line: error.line(),
            message: error.cause_chain(),
            remedy,
            mended: false,
        })
    }

    fn verify_user(&self, user: &OpenUser, report: &mut VerifyReport) -> Result<()> {
        report.problems.extend(user.problems.iter().cloned());
        report.problems.extend(user.store.check_logs()?);
        let (store, embedder) = (&self.services.store, &*self.services.embedder);
        match KnownVectors::read_segment(store, &user.owner, embedder) {
            Ok((_, problems)) => report.problems.extend(problems),
            Err(error) => report.problems.push(self.opening_problem(error)?),
        }
        let view = user.view.read();
        for message in find_contradictions(&view) {
            report.problems.push(StoreProblem {
                path: self.path().to_owned(),
                line: None,
                message: format!("user `{}`: {message}", user.owner.user),
                remedy: "delete the record, or restore a backup".to_owned(),
                mended: false,
            });
        }
        let mut check = |what: &str, records: usize, indexed: usize, waiting: usize| {
            report.total += records;
            report.indexed += indexed.min(records);
            report.skipped += waiting.min(records.saturating_sub(indexed));
            if indexed + waiting != records {
                report.problems.push(StoreProblem {
                    path: self.path().to_owned(),
                    line: None,
                    message: format!(
                        "user `{}` has {records} {what} and {indexed} of them in the index",
                        user.owner.user
                    ),
                    remedy: "call rebuild_indices".to_owned(),
                    mended: false,
                });
            }
        };
        let without = |vectors: usize, records: usize| {
            if vectors == 0 { records } else { records.saturating_sub(vectors) }
        };
        let messages = view.messages.len();
        check(
            "messages",
            messages,
            view.messages.field.vector_count(),
            view.backlog.unembedded_slots().len(),
        );
        for (what, records, field) in [
            ("abstracts", view.episodes.len(), &view.abstracts),
            ("narratives", view.episodes.len(), &view.narratives),
            ("semantic memories", view.facts.len(), &view.statements),
        ] {
            check(what, records, field.vector_count(), without(field.vector_count(), records));
            if field.postings.len() != records {
                check(what, records, field.postings.len(), 0);
            }
        }
        Ok(())
    }
}

/// Contradictions in a user's records: successors that don't exist, and dates that exclude each
/// other. Sources are not checked: facts may outlive their messages and episodes.
fn find_contradictions(view: &UserView) -> Vec<String> {
    let mut found = Vec::new();
    for (_, fact) in view.facts.iter() {
        let id = &fact.memory_id;
        // An import from another program may lack records that its facts name.
        let is_foreign = fact.provenance.method == "imported";
        if let Some(by) = &fact.superseded_by
            && !is_foreign
            && view.facts.slot_by_id(by).is_none()
        {
            found.push(format!("the fact `{id}` names a successor that does not exist: `{by}`"));
        }
        if fact.valid_to.is_some_and(|until| until < fact.valid_from) {
            found.push(format!("the fact `{id}` ends before it begins"));
        }
        if fact.superseded_by.is_some() && fact.valid_to.is_none() {
            found.push(format!("the fact `{id}` was superseded and has no end"));
        }
    }
    for slot in view.episodes.current_slots() {
        let Some(episode) = view.episodes.get(slot) else { continue };
        if episode.ended_at < episode.timestamp {
            found.push(format!("the episode `{}` ends before it begins", episode.episode_id));
        }
    }
    found
}
