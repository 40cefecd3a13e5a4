//! `_native.Engine`: one method per public operation, each with the same three steps: convert, work
//! without the interpreter, convert back.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use episodica_core::clock::Moment;
use episodica_core::clock::{DisplayZone, SystemClock};
use episodica_core::config::MemoryConfig;
use episodica_core::embed::StaticTable;
use episodica_core::engine::{
    AnyRecord, ChangeEvent, ChangeKind, ContextRequest, Engine as Core, EngineHandle, EngineParts,
    ImportedRecords, TurnedDown,
};
use episodica_core::ids::Owner;
use episodica_core::llm::UsageLedger;
use episodica_core::model::NewMessage;
use episodica_core::score::OutputForm;
use episodica_core::store::RequestStep;
use episodica_core::{Error, ErrorKind, Result};
use episodica_faiss::FaissFactory;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::control::PythonControl;
use crate::made::{create_embedder, language_model};
use crate::place::StorePlace;
use crate::records::RecordFrame;
use crate::results::{self, HitResults};
use crate::{errors, logging, options, records, reports};

/// The engine; see `episodica.MemorySystem`.
#[pyclass(frozen, name = "Engine", module = "episodica._native")]
pub(crate) struct PyEngine {
    core: Arc<EngineHandle>,
    tenant: String,
    /// The time zone in which dates are shown.
    zone: DisplayZone,
}

impl PyEngine {
    /// Wraps every call: releases the interpreter, runs `work`, and converts errors. An exception
    /// of a signal handler takes precedence. A panic becomes an error.
    fn run_call<T: Send>(
        &self,
        py: Python<'_>,
        progress: Option<Py<PyAny>>,
        work: impl FnOnce(&Core, &PythonControl) -> Result<T> + Send,
    ) -> PyResult<T> {
        let control = PythonControl::new(progress);
        let outcome = py.detach(|| self.core.run_guarded(|core| work(core, &control)));
        logging::hand_on(py);
        match (control.take_raised(), outcome) {
            (Some(raised), _) => Err(raised),
            (None, outcome) => outcome.map_err(|error| errors::to_exception(py, &error)),
        }
    }

    fn record_frame(&self, user_id: &str) -> RecordFrame {
        let owner = Owner { tenant: self.tenant.clone(), user: user_id.to_owned() };
        RecordFrame { owner, zone: self.zone.clone() }
    }

    fn record_list<'py>(
        &self,
        py: Python<'py>,
        user_id: &str,
        all: &[AnyRecord],
    ) -> PyResult<Bound<'py, PyAny>> {
        let shown = self.record_frame(user_id);
        let made = all.iter().map(|one| records::convert_record(py, &shown, one));
        Ok(PyList::new(py, made.collect::<PyResult<Vec<_>>>()?)?.into_any())
    }

    fn episode_list<'py>(
        &self,
        py: Python<'py>,
        user_id: &str,
        episodes: &[Arc<episodica_core::model::Episode>],
    ) -> PyResult<Bound<'py, PyAny>> {
        let all: Vec<AnyRecord> = episodes.iter().cloned().map(AnyRecord::Episode).collect();
        self.record_list(py, user_id, &all)
    }
}

#[pymethods]
impl PyEngine {
    #[new]
    #[expect(clippy::too_many_arguments, reason = "the keywords of a Python call")]
    #[pyo3(signature = (path, *, caches, tenant, config, read_only, embedding, llm))]
    fn new(
        py: Python<'_>,
        path: &str,
        caches: Option<PathBuf>,
        tenant: String,
        config: &str,
        read_only: bool,
        embedding: Option<&Bound<'_, PyDict>>,
        llm: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        logging::install_logger(py)?;
        let config: MemoryConfig = serde_json::from_str(config).map_err(|error| {
            errors::to_exception(
                py,
                &Error::new(ErrorKind::Config, format!("configuration is not valid: `{error}`")),
            )
        })?;
        let zone = config.zone().map_err(|error| errors::to_exception(py, &error))?;
        let ledger: Arc<UsageLedger> = Arc::default();
        let embedder = create_embedder(py, embedding, &ledger)?;
        let llm = llm.map(|llm| language_model(py, llm)).transpose()?;
        let core = py
            .detach(|| {
                let place = StorePlace::open(path, caches.as_deref(), read_only)?;
                Core::open(EngineParts {
                    path: place.path,
                    logs: place.logs,
                    backend: place.backend,
                    tenant: tenant.clone(),
                    config,
                    read_only,
                    clock: Arc::new(SystemClock),
                    embedder,
                    vectors: Arc::new(FaissFactory),
                    tokens: StaticTable::shared(),
                    llm,
                    ledger,
                })
            })
            .map_err(|error| errors::to_exception(py, &error))?;
        logging::hand_on(py);
        Ok(Self { core: Arc::new(core), tenant, zone })
    }

    /// Leaks the engine, since it belongs to another process.
    fn abandon(&self) {
        std::mem::forget(Arc::clone(&self.core));
    }

    /// The same engine, which displays dates in another time zone.
    fn in_timezone(&self, py: Python<'_>, timezone: &str) -> PyResult<Self> {
        let zone =
            DisplayZone::from_name(timezone).map_err(|error| errors::to_exception(py, &error))?;
        Ok(Self { core: Arc::clone(&self.core), tenant: self.tenant.clone(), zone })
    }

    fn config(&self, py: Python<'_>) -> PyResult<String> {
        serde_json::to_string(self.core.config())
            .map_err(|error| errors::internal_error(py, &error))
    }

    #[expect(clippy::too_many_arguments, reason = "the keywords of a Python call")]
    #[pyo3(signature = (
        user_id, messages, session_id, secrets, progress, refuses_edits=false, skips_deleted=false
    ))]
    fn add_messages<'py>(
        &self,
        py: Python<'py>,
        user_id: &str,
        messages: Vec<Bound<'py, PyDict>>,
        session_id: Option<&str>,
        secrets: Option<&str>,
        progress: Option<Py<PyAny>>,
        refuses_edits: bool,
        skips_deleted: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let secrets = secrets.map(|word| options::secret_policy(py, word)).transpose()?;
        let messages = messages
            .iter()
            .map(|message| {
                let message = options::new_message(message)?;
                let timestamp = message.timestamp.map(|at| self.zone.writer_moment(at));
                let refuses_edit = refuses_edits;
                Ok(NewMessage { timestamp, secrets, refuses_edit, skips_deleted, ..message })
            })
            .collect::<PyResult<Vec<_>>>()?;
        let report = self.run_call(py, progress, |core, control| {
            core.add_messages(user_id, messages, session_id, control)
        })?;
        reports::add_result(py, report)
    }

    fn flush<'py>(&self, py: Python<'py>, user_id: &str) -> PyResult<Bound<'py, PyAny>> {
        let episodes = self.run_call(py, None, |core, control| core.flush(user_id, control))?;
        self.episode_list(py, user_id, &episodes)
    }

    fn flush_all<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let all = self.run_call(py, None, |core, control| core.flush_all(control))?;
        let dict = PyDict::new(py);
        for (user, episodes) in all {
            dict.set_item(&user, self.episode_list(py, &user, &episodes)?)?;
        }
        Ok(dict.into_any())
    }

    fn close_session<'py>(
        &self,
        py: Python<'py>,
        user_id: &str,
        session_id: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let episodes = self
            .run_call(py, None, |core, control| core.close_session(user_id, session_id, control))?;
        self.episode_list(py, user_id, &episodes)
    }

    #[pyo3(signature = (since, user_id, limit))]
    fn events<'py>(
        &self,
        py: Python<'py>,
        since: Option<&str>,
        user_id: Option<&str>,
        limit: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let page = self.run_call(py, None, |core, _| core.events(since, user_id, limit))?;
        reports::convert_events(py, &self.zone, page)
    }

    fn main_speaker(&self, py: Python<'_>, user_id: &str) -> PyResult<Option<String>> {
        self.run_call(py, None, |core, control| core.main_speaker(user_id, control))
    }

    #[pyo3(signature = (user_id, episodes))]
    fn turned_down<'py>(
        &self,
        py: Python<'py>,
        user_id: &str,
        episodes: Option<Vec<String>>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let episodes = episodes.as_deref();
        let found =
            self.run_call(py, None, |core, control| core.turned_down(user_id, episodes, control))?;
        let event = |one: TurnedDown| ChangeEvent {
            cursor: String::new(),
            at: one.said,
            user_id: user_id.to_owned(),
            change: ChangeKind::Reject,
            id: one.message_id.clone(),
            statement: one.statement,
            previous: None,
            previous_id: None,
            evidence: vec![one.message_id],
            reason: one.reason.to_owned(),
        };
        found.into_iter().map(|one| reports::convert_event(py, &self.zone, event(one))).collect()
    }

    #[pyo3(signature = (user_id, timeout))]
    fn wait(&self, py: Python<'_>, user_id: Option<&str>, timeout: Option<f64>) -> PyResult<bool> {
        let timeout = timeout
            .map(|seconds| Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX));
        self.run_call(py, None, |core, control| core.wait(user_id, timeout, control))
    }

    fn search(
        &self,
        py: Python<'_>,
        user_id: &str,
        query: &str,
        search_options: &Bound<'_, PyDict>,
    ) -> PyResult<HitResults> {
        let request = options::search_request(query, search_options, &self.zone)?;
        let response =
            self.run_call(py, None, |core, control| core.search(user_id, &request, control))?;
        Ok(HitResults::new(
            self.record_frame(user_id),
            response.hits,
            response.degraded,
            response.intent.name(),
            options::wants_explanations(search_options)?,
        ))
    }

    fn context<'py>(
        &self,
        py: Python<'py>,
        user_id: &str,
        query: &str,
        max_tokens: usize,
        format: &str,
        search_options: &Bound<'_, PyDict>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let request = ContextRequest {
            search: options::search_request(query, search_options, &self.zone)?,
            max_tokens,
            form: OutputForm::named(format).map_err(|error| errors::to_exception(py, &error))?,
            zone: self.zone.clone(),
        };
        let context =
            self.run_call(py, None, |core, control| core.context(user_id, &request, control))?;
        results::convert_context(
            py,
            self.record_frame(user_id),
            context,
            options::wants_explanations(search_options)?,
        )
    }

    fn records<'py>(
        &self,
        py: Python<'py>,
        user_id: &str,
        kind: &str,
        page_options: &Bound<'_, PyDict>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (kind, page) = (options::record_kind(py, kind)?, options::listing_page(page_options)?);
        let records =
            self.run_call(py, None, |core, control| core.records(user_id, kind, &page, control))?;
        self.record_list(py, user_id, &records)
    }

    /// Id, date, text and group of each record of a listing.
    fn outlines<'py>(
        &self,
        py: Python<'py>,
        user_id: &str,
        kind: &str,
        page_options: &Bound<'_, PyDict>,
    ) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let (kind, page) = (options::record_kind(py, kind)?, options::listing_page(page_options)?);
        let found =
            self.run_call(py, None, |core, control| core.outlines(user_id, kind, &page, control))?;
        found.into_iter().map(|one| records::convert_outline(py, &self.zone, one)).collect()
    }

    /// For each session: id, state, date of the state, number of messages, and dates of the first
    /// and last message.
    fn sessions<'py>(&self, py: Python<'py>, user_id: &str) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let found = self.run_call(py, None, |core, _| core.sessions(user_id))?;
        found.into_iter().map(|one| records::convert_session(py, &self.zone, one)).collect()
    }

    fn count_records(
        &self,
        py: Python<'_>,
        user_id: &str,
        kind: &str,
        page_options: &Bound<'_, PyDict>,
    ) -> PyResult<usize> {
        let (kind, page) = (options::record_kind(py, kind)?, options::listing_page(page_options)?);
        self.run_call(py, None, |core, control| core.count_records(user_id, kind, &page, control))
    }

    fn get<'py>(
        &self,
        py: Python<'py>,
        user_id: &str,
        id: &str,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let record = self.run_call(py, None, |core, control| core.get(user_id, id, control))?;
        record
            .map(|record| records::convert_record(py, &self.record_frame(user_id), &record))
            .transpose()
    }

    fn history<'py>(
        &self,
        py: Python<'py>,
        user_id: &str,
        id: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let records =
            self.run_call(py, None, |core, control| core.history(user_id, id, control))?;
        self.record_list(py, user_id, &records)
    }

    fn forgetting<'py>(
        &self,
        py: Python<'py>,
        user_id: &str,
        policy_options: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let policy = options::forgetting_policy(policy_options)?;
        let found =
            self.run_call(py, None, |core, control| core.forgetting(user_id, &policy, control))?;
        reports::convert_plan(py, &self.record_frame(user_id), found)
    }

    /// Archives records, or restores them if `restores` is true.
    fn shelve<'py>(
        &self,
        py: Python<'py>,
        user_id: &str,
        ids: Vec<String>,
        restores: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let verb = if restores { Core::restore } else { Core::archive };
        let records =
            self.run_call(py, None, |core, control| verb(core, user_id, &ids, control))?;
        self.record_list(py, user_id, &records)
    }

    fn update<'py>(
        &self,
        py: Python<'py>,
        user_id: &str,
        id: &str,
        content: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let record =
            self.run_call(py, None, |core, control| core.update(user_id, id, content, control))?;
        records::convert_record(py, &self.record_frame(user_id), &record)
    }

    /// The fact, and what became of the statement: `added`, `ends` or `repeats`.
    fn remember<'py>(
        &self,
        py: Python<'py>,
        user_id: &str,
        fact: &Bound<'py, PyDict>,
    ) -> PyResult<(Bound<'py, PyAny>, &'static str)> {
        let statement = options::stated_fact(fact)?;
        let (fact, outcome) =
            self.run_call(py, None, |core, control| core.remember(user_id, statement, control))?;
        Ok((records::convert_fact(py, &self.record_frame(user_id), &fact)?, outcome.name()))
    }

    /// Whether the user has deleted the fact that a file states under this name.
    fn is_statement_deleted(&self, py: Python<'_>, user_id: &str, source: &str) -> PyResult<bool> {
        self.run_call(py, None, |core, control| core.is_statement_deleted(user_id, source, control))
    }

    /// Those of these ids of messages that the user has deleted.
    fn deleted_among(
        &self,
        py: Python<'_>,
        user_id: &str,
        ids: Vec<String>,
    ) -> PyResult<Vec<String>> {
        let ids = &ids;
        self.run_call(py, None, |core, control| core.deleted_among(user_id, ids.clone(), control))
    }

    fn close_fact<'py>(
        &self,
        py: Python<'py>,
        user_id: &str,
        id: &str,
        at: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let at = at.map(Moment::parse).transpose();
        let at = at.map_err(|error| errors::to_exception(py, &error))?;
        let fact =
            self.run_call(py, None, |core, control| core.close_fact(user_id, id, at, control))?;
        records::convert_fact(py, &self.record_frame(user_id), &fact)
    }

    /// Facts, words, kind, score and decision of each link, the latest first.
    fn changes<'py>(
        &self,
        py: Python<'py>,
        user_id: &str,
        since: Option<&str>,
        kind: Option<&str>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let since = since.map(Moment::parse).transpose();
        let since = since.map_err(|error| errors::to_exception(py, &error))?;
        let kind = kind.map(|name| options::link_kind(py, name)).transpose()?;
        let found =
            self.run_call(py, None, |core, control| core.changes(user_id, since, kind, control));
        let frame = self.record_frame(user_id);
        found?.iter().map(|change| records::said_later(py, &frame, change)).collect()
    }

    fn keep_side(
        &self,
        py: Python<'_>,
        user_id: &str,
        old: &str,
        new: &str,
        side: &str,
    ) -> PyResult<()> {
        let side = options::kept_side(py, side)?;
        self.run_call(py, None, |core, control| core.keep_side(user_id, [old, new], side, control))
    }

    /// Imports records; `records` are lines with the JSON of messages, episodes and facts.
    fn import_records<'py>(
        &self,
        py: Python<'py>,
        user_id: &str,
        records: [Vec<(u64, String)>; 3],
        unlearned: Vec<String>,
        path: PathBuf,
        adds_deleted: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let [messages, episodes, facts] = records;
        let imported = ImportedRecords { messages, episodes, facts, unlearned, adds_deleted };
        let report = self.run_call(py, None, |core, control| {
            core.import_records(user_id, &imported, &path, control)
        })?;
        reports::import_report(py, report)
    }

    /// Returns the JSON of messages, episodes and facts; their numbers; and the episodes whose
    /// facts have not been learned yet.
    #[expect(clippy::type_complexity, reason = "a tuple for Python, read in one place")]
    fn export_records(
        &self,
        py: Python<'_>,
        user_id: &str,
    ) -> PyResult<([Vec<String>; 3], (usize, usize, usize), Vec<String>)> {
        let all = self.run_call(py, None, |core, control| core.export_records(user_id, control))?;
        Ok(([all.messages, all.episodes, all.facts], all.counts, all.unlearned))
    }

    fn backup<'py>(
        &self,
        py: Python<'py>,
        path: PathBuf,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let report = self.run_call(py, progress, |core, control| core.backup(&path, control))?;
        reports::backup_report(py, report)
    }

    fn delete<'py>(
        &self,
        py: Python<'py>,
        user_id: &str,
        ids: Vec<String>,
        dry_run: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let delete = if dry_run { Core::preview_delete_all } else { Core::delete_all };
        let report =
            self.run_call(py, None, |core, control| delete(core, user_id, &ids, control))?;
        reports::delete_report(py, report)
    }

    fn delete_where<'py>(
        &self,
        py: Python<'py>,
        user_id: &str,
        kinds: Vec<String>,
        options: &Bound<'py, PyDict>,
        dry_run: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (filter, kinds) =
            (options::record_filter(options)?, options::record_kinds(py, &kinds)?);
        let delete = if dry_run { Core::preview_delete_where } else { Core::delete_where };
        let report = self
            .run_call(py, None, |core, control| delete(core, user_id, &filter, &kinds, control))?;
        reports::delete_report(py, report)
    }

    fn delete_user_data<'py>(&self, py: Python<'py>, user_id: &str) -> PyResult<Bound<'py, PyAny>> {
        let report =
            self.run_call(py, None, |core, control| core.delete_user_data(user_id, control))?;
        reports::delete_report(py, report)
    }

    fn trace<'py>(
        &self,
        py: Python<'py>,
        user_id: &str,
        id: &str,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let steps = self.run_call(py, None, |core, control| core.trace(user_id, id, control))?;
        steps.into_iter().map(|step| reports::trace_step(py, &self.zone, step)).collect()
    }

    fn users(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.run_call(py, None, |core, _| core.users())
    }

    #[pyo3(signature = (user_id))]
    fn stats<'py>(&self, py: Python<'py>, user_id: Option<&str>) -> PyResult<Bound<'py, PyAny>> {
        match user_id {
            Some(user_id) => {
                let stats =
                    self.run_call(py, None, |core, control| core.user_stats(user_id, control))?;
                reports::user_stats(py, stats)
            }
            None => {
                reports::store_stats(py, self.run_call(py, None, |core, _| core.store_stats())?)
            }
        }
    }

    fn health<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        reports::convert_health(py, self.run_call(py, None, |core, _| core.health())?)
    }

    fn usage<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        reports::convert_usage(py, self.run_call(py, None, |core, _| core.usage())?)
    }

    #[pyo3(signature = (name, body, outcome, refused))]
    fn note_request(
        &self,
        py: Python<'_>,
        name: &[u8],
        body: &[u8],
        outcome: Option<&str>,
        refused: bool,
    ) -> PyResult<Option<(String, Option<String>)>> {
        let step = match outcome {
            Some(outcome) => RequestStep::Done(outcome),
            None if refused => RequestStep::Refused,
            None => RequestStep::Begun,
        };
        let known = self.run_call(py, None, |core, _| core.note_request(name, body, step))?;
        Ok(known.map(|known| (known.body, known.outcome)))
    }

    fn check_files<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        reports::convert_problems(py, &self.run_call(py, None, |core, _| core.check_files())?)
    }

    #[pyo3(signature = (user_id, progress))]
    fn verify<'py>(
        &self,
        py: Python<'py>,
        user_id: Option<&str>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let report = self.run_call(py, progress, |core, control| core.verify(user_id, control))?;
        reports::verify_report(py, report)
    }

    #[pyo3(signature = (user_id, progress))]
    fn rebuild_indices<'py>(
        &self,
        py: Python<'py>,
        user_id: Option<&str>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let report =
            self.run_call(py, progress, |core, control| core.rebuild_indices(user_id, control))?;
        reports::rebuild_report(py, report)
    }

    #[pyo3(signature = (user_id, progress))]
    fn compact<'py>(
        &self,
        py: Python<'py>,
        user_id: Option<&str>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let report = self.run_call(py, progress, |core, control| core.compact(user_id, control))?;
        reports::compact_report(py, report)
    }

    fn load_user<'py>(&self, py: Python<'py>, user_id: &str) -> PyResult<Bound<'py, PyAny>> {
        let report = self.run_call(py, None, |core, control| core.load_user(user_id, control))?;
        reports::rebuild_report(py, report)
    }

    #[pyo3(signature = (user_id))]
    fn retry_pending(&self, py: Python<'_>, user_id: Option<&str>) -> PyResult<usize> {
        self.run_call(py, None, |core, control| core.retry_pending(user_id, control))
    }

    fn close(&self, py: Python<'_>, timeout: f64) -> PyResult<()> {
        let timeout = Duration::try_from_secs_f64(timeout.max(0.0)).unwrap_or(Duration::MAX);
        self.run_call(py, None, |core, control| core.close(timeout, control))
    }
}
