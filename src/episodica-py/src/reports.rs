//! Converts reports of operations and of the memory to Python values.

use std::collections::BTreeMap;

use episodica_core::clock::DisplayZone;
use episodica_core::engine::{ChangeEvent, EventPage, ForgettingPlan, ForgottenRecord};
use episodica_core::model::{
    AddReport, BackupReport, CallCost, CompactReport, DeleteReport, EmbeddingHealth, ImportReport,
    LlmHealth, ModelHealth, ModelUsage, RebuildReport, ServiceHealth, StoreHealth, StoreProblem,
    StoreStats, UserStats, VectorCounts, VerifyReport,
};
use episodica_core::store::TraceStep;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use crate::classes::{
    ADD_RESULT, BACKUP_REPORT, COMPACT_REPORT, COST, DELETE_REPORT, EMBEDDING_HEALTH, EVENT,
    EVENTS, FORGETTING_CANDIDATE, FORGETTING_REPORT, HEALTH, IMPORT_REPORT, LLM_HEALTH, PROBLEM,
    REBUILD_REPORT, SERVICE_HEALTH, STORE_HEALTH, STORE_STATS, TRACE_STEP, USAGE, USER_STATS,
    VECTOR_COUNTS, VERIFY_REPORT, build,
};
use crate::records::{RecordFrame, convert_moment, convert_record as shown_record};

type Made<'py> = PyResult<Bound<'py, PyAny>>;

pub(crate) fn add_result(py: Python<'_>, report: AddReport) -> Made<'_> {
    build!(py, ADD_RESULT, report => AddReport {
        messages_added,
        duplicates,
        edited,
        buffered,
        episodes: PyTuple::new(py, &episodes)?,
        pending_semantic,
        message_ids: PyTuple::new(py, &message_ids)?,
        secrets,
        deleted,
    })
}

pub(crate) fn convert_events<'py>(
    py: Python<'py>,
    zone: &DisplayZone,
    page: EventPage,
) -> Made<'py> {
    build!(py, EVENTS, page => EventPage {
        events: PyTuple::new(
            py,
            events
                .into_iter()
                .map(|one| convert_event(py, zone, one))
                .collect::<PyResult<Vec<_>>>()?,
        )?,
        cursor,
        complete,
    })
}

pub(crate) fn convert_event<'py>(
    py: Python<'py>,
    zone: &DisplayZone,
    event: ChangeEvent,
) -> Made<'py> {
    build!(py, EVENT, event => ChangeEvent {
        at: convert_moment(py, zone, at)?,
        user_id,
        change: change.name(),
        id,
        statement,
        previous,
        previous_id,
        evidence: PyTuple::new(py, &evidence)?,
        reason,
        cursor,
    })
}

pub(crate) fn delete_report(py: Python<'_>, report: DeleteReport) -> Made<'_> {
    build!(py, DELETE_REPORT, report => DeleteReport {
        messages,
        episodes,
        semantic_memories,
        files,
        episodes_rewritten,
        semantic_memories_rewritten,
        message_ids: PyTuple::new(py, &message_ids)?,
        episode_ids: PyTuple::new(py, &episode_ids)?,
        fact_ids: PyTuple::new(py, &fact_ids)?,
        still_in_messages: PyTuple::new(py, &still_in_messages)?,
    })
}

pub(crate) fn convert_plan<'py>(
    py: Python<'py>,
    shown: &RecordFrame,
    found: ForgettingPlan,
) -> Made<'py> {
    build!(py, FORGETTING_REPORT, found => ForgettingPlan {
        candidates: PyTuple::new(
            py,
            candidates
                .into_iter()
                .map(|one| convert_candidate(py, shown, one))
                .collect::<PyResult<Vec<_>>>()?,
        )?,
        exempt,
    })
}

fn convert_candidate<'py>(
    py: Python<'py>,
    shown: &RecordFrame,
    found: ForgottenRecord,
) -> Made<'py> {
    build!(py, FORGETTING_CANDIDATE, found => ForgottenRecord {
        record: shown_record(py, shown, &record)?,
        strength,
        uses,
        last_used: convert_moment(py, &shown.zone, last_used)?,
        reasons: PyTuple::new(py, &reasons)?,
    })
}

pub(crate) fn import_report(py: Python<'_>, report: ImportReport) -> Made<'_> {
    build!(py, IMPORT_REPORT, report => ImportReport {
        messages, episodes, semantic_memories, known, edited, deleted,
    })
}

pub(crate) fn backup_report(py: Python<'_>, report: BackupReport) -> Made<'_> {
    build!(py, BACKUP_REPORT, report => BackupReport { users, files, bytes, seconds })
}

pub(crate) fn compact_report(py: Python<'_>, report: CompactReport) -> Made<'_> {
    build!(py, COMPACT_REPORT, report => CompactReport {
        users, bytes_before, bytes_after, seconds,
    })
}

pub(crate) fn rebuild_report(py: Python<'_>, report: RebuildReport) -> Made<'_> {
    build!(py, REBUILD_REPORT, report => RebuildReport {
        users, records, vectors, embedded, seconds,
    })
}

pub(crate) fn verify_report(py: Python<'_>, report: VerifyReport) -> Made<'_> {
    build!(py, VERIFY_REPORT, report => VerifyReport {
        total,
        indexed,
        skipped,
        errors,
        problems: self::convert_problems(py, &problems)?,
    })
}

pub(crate) fn convert_problems<'py>(py: Python<'py>, found: &[StoreProblem]) -> Made<'py> {
    let problems =
        found.iter().map(|one| convert_problem(py, one)).collect::<PyResult<Vec<_>>>()?;
    Ok(PyTuple::new(py, problems)?.into_any())
}

fn convert_problem<'py>(py: Python<'py>, found: &StoreProblem) -> Made<'py> {
    build!(py, PROBLEM, found => StoreProblem {
        path: path.display().to_string(),
        line,
        message,
        remedy,
        mended,
    })
}

pub(crate) fn user_stats(py: Python<'_>, stats: UserStats) -> Made<'_> {
    build!(py, USER_STATS, stats => UserStats {
        user_id,
        messages,
        buffered,
        episodes,
        semantic_memories,
        superseded,
        archived,
        pending_semantic,
        pending_llm,
        refused_llm,
        pending_vectors,
        vectors: vector_counts(py, vectors)?,
        memory_bytes,
    })
}

fn vector_counts(py: Python<'_>, vectors: VectorCounts) -> Made<'_> {
    build!(py, VECTOR_COUNTS, vectors => VectorCounts { messages, episodes, semantic })
}

pub(crate) fn store_stats(py: Python<'_>, stats: StoreStats) -> Made<'_> {
    build!(py, STORE_STATS, stats => StoreStats {
        tenant,
        users,
        open_users,
        memory_bytes,
        embedding_model,
        embedding_dimension,
        searches,
        messages_embedded,
        embedding_failures,
        evictions,
        rejected_statements,
        mended,
    })
}

pub(crate) fn convert_health(py: Python<'_>, health: ModelHealth) -> Made<'_> {
    let status = health.status();
    build!(py, HEALTH, health => ModelHealth {
        failing: PyTuple::new(py, failing)?,
        embedding: embedding_health(py, embedding)?,
        llm: llm_health(py, llm)?,
        last_failure,
        store: store_health(py, store)?,
    } more { status: status })
}

fn embedding_health(py: Python<'_>, health: EmbeddingHealth) -> Made<'_> {
    build!(py, EMBEDDING_HEALTH, health => EmbeddingHealth {
        model,
        failures,
        endpoint: endpoint.map(|service| service_health(py, service)).transpose()?,
    })
}

fn llm_health(py: Python<'_>, health: LlmHealth) -> Made<'_> {
    build!(py, LLM_HEALTH, health => LlmHealth {
        configured,
        model,
        available,
        endpoint: endpoint.map(|service| service_health(py, service)).transpose()?,
    })
}

fn service_health(py: Python<'_>, health: ServiceHealth) -> Made<'_> {
    build!(py, SERVICE_HEALTH, health => ServiceHealth {
        model,
        kind,
        endpoint,
        breaker,
        calls,
        requests,
        retries,
        failures,
        refused,
        failing,
        format,
        cache_entries,
        fallback: fallback.map(|service| service_health(py, *service)).transpose()?,
    })
}

fn store_health(py: Python<'_>, health: StoreHealth) -> Made<'_> {
    build!(py, STORE_HEALTH, health => StoreHealth {
        backend,
        path: path.display().to_string(),
        server_version,
        failure,
        format,
        read_only,
        problems,
    })
}

pub(crate) fn convert_usage(py: Python<'_>, usage: ModelUsage) -> Made<'_> {
    let ModelUsage { total, by_phase, by_model, by_user } = usage;
    build!(py, USAGE, total => CallCost {
        calls,
        prompt_tokens,
        completion_tokens,
        cached_prompt_tokens,
        reasoning_tokens,
        seconds,
        cached,
        failures,
        retries,
        counted_locally,
    } more {
        by_phase: convert_costs(py, by_phase)?,
        by_model: convert_costs(py, by_model)?,
        by_user: convert_costs(py, by_user)?,
    })
}

fn convert_costs<K: AsRef<str>>(
    py: Python<'_>,
    all: BTreeMap<K, CallCost>,
) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    for (name, one) in all {
        dict.set_item(name.as_ref(), convert_cost(py, one)?)?;
    }
    Ok(dict)
}

fn convert_cost(py: Python<'_>, cost: CallCost) -> Made<'_> {
    build!(py, COST, cost => CallCost {
        calls,
        prompt_tokens,
        completion_tokens,
        cached_prompt_tokens,
        reasoning_tokens,
        seconds,
        cached,
        failures,
        retries,
        counted_locally,
    })
}

pub(crate) fn trace_step<'py>(py: Python<'py>, zone: &DisplayZone, step: TraceStep) -> Made<'py> {
    build!(py, TRACE_STEP, step => TraceStep {
        ids: PyTuple::new(py, &ids)?,
        phase: PyString::intern(py, &phase),
        model: PyString::intern(py, &model),
        prompt_version: PyString::intern(py, &prompt_version),
        system,
        user,
        answer,
        failure,
        cached,
        tokens,
        at: convert_moment(py, zone, at)?,
    })
}
