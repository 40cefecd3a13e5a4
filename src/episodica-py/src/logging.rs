//! Forwards the engine's log records to Python's `logging`.
//!
//! A thread of the engine never waits for the interpreter in order to log. Records go into a
//! bounded queue; a later call of the package that holds the interpreter forwards them, with their
//! original time and thread. So a logging handler cannot deadlock with the engine, whatever it
//! calls.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use episodica_core::fork::PerProcess;
use episodica_core::sync::Mutex;
use log::{Level, LevelFilter, Log, Metadata, Record};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors;

/// Maximum number of queued records; further ones are counted and dropped.
const MOST_WAITING: usize = 4_096;

struct ToldOnce {
    level: Level,
    target: &'static str,
    text: String,
    seconds: f64,
    thread: String,
}

#[derive(Default)]
struct LogLine {
    waiting: Mutex<VecDeque<ToldOnce>>,
    any: AtomicBool,
    dropped: AtomicU64,
}

/// The queue of each process. A forked child needs its own: a thread that exists only in the parent
/// may hold the lock of the parent's queue.
struct LogLines(PerProcess<LogLine>);

static LINES: LogLines = LogLines(PerProcess::new());

impl LogLines {
    fn own_line(&self) -> &LogLine {
        self.0.process_cell().get_or_init(LogLine::default)
    }
}

impl Log for LogLines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // Other crates' records are ignored.
        metadata.target().starts_with("episodica")
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let seconds =
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
        let thread = std::thread::current().name().unwrap_or_default().to_owned();
        let told = ToldOnce {
            level: record.level(),
            target: logger_name(record.target()),
            text: record.args().to_string(),
            seconds,
            thread,
        };
        let line = self.own_line();
        let mut waiting = line.waiting.lock();
        if waiting.len() < MOST_WAITING {
            waiting.push_back(told);
        } else {
            line.dropped.fetch_add(1, Ordering::Relaxed);
        }
        line.any.store(true, Ordering::Release);
    }

    fn flush(&self) {}
}

/// The name of the Python logger for a Rust module: `episodica.engine` for
/// `episodica_core::engine::ask`.
fn logger_name(target: &str) -> &'static str {
    match target.split("::").nth(1) {
        Some("engine") => "episodica.engine",
        Some("store") => "episodica.store",
        Some("llm") => "episodica.llm",
        Some("remote") => "episodica.remote",
        Some("embed") => "episodica.embed",
        Some("index") => "episodica.index",
        _ => "episodica",
    }
}

/// Installs the logger. Idempotent.
pub(crate) fn install_logger(py: Python<'_>) -> PyResult<()> {
    // Fails only if this logger is already installed.
    drop(log::set_logger(&LINES));
    follow_level(py)
}

/// Reads the current level of Python's logger `episodica`, so that records below it are not even
/// formatted.
fn follow_level(py: Python<'_>) -> PyResult<()> {
    let logger = py.import("logging")?.call_method1("getLogger", ("episodica",))?;
    let level: u32 = logger.call_method0("getEffectiveLevel")?.extract()?;
    log::set_max_level(match level {
        0..=5 => LevelFilter::Trace,
        6..=10 => LevelFilter::Debug,
        11..=20 => LevelFilter::Info,
        21..=30 => LevelFilter::Warn,
        31..=50 => LevelFilter::Error,
        _ => LevelFilter::Off,
    });
    Ok(())
}

/// Forwards the queued records. The caller holds the interpreter and no lock of the engine.
pub(crate) fn hand_on(py: Python<'_>) {
    let line = LINES.own_line();
    if !line.any.swap(false, Ordering::AcqRel) {
        return;
    }
    let told: Vec<ToldOnce> = line.waiting.lock().drain(..).collect();
    let dropped = line.dropped.swap(0, Ordering::Relaxed);
    let outcome = follow_level(py).and_then(|()| {
        for one in told {
            emit_lines(py, one)?;
        }
        if dropped > 0 {
            let text = format!("{dropped} records were dropped: too many at once");
            emit_lines(
                py,
                ToldOnce {
                    level: Level::Warn,
                    target: "episodica",
                    text,
                    seconds: 0.0,
                    thread: String::new(),
                },
            )?;
        }
        Ok(())
    });
    if let Err(error) = outcome
        && !errors::pass_on_interrupt(py, &error)
    {
        // If a handler raises, the call that forwards the records still succeeds.
        error.write_unraisable(py, None);
    }
}

fn emit_lines(py: Python<'_>, told: ToldOnce) -> PyResult<()> {
    let logger = py.import("logging")?.call_method1("getLogger", (told.target,))?;
    let level = match told.level {
        Level::Error => 40,
        Level::Warn => 30,
        Level::Info => 20,
        Level::Debug => 10,
        Level::Trace => 5,
    };
    if !logger.call_method1("isEnabledFor", (level,))?.is_truthy()? {
        return Ok(());
    }
    let values = PyDict::new(py);
    values.set_item("name", told.target)?;
    values.set_item("levelno", level)?;
    values.set_item("levelname", py.import("logging")?.call_method1("getLevelName", (level,))?)?;
    // Texts of endpoints and callables may contain any characters.
    values
        .set_item("msg", py.import("episodica.visible")?.call_method1("visible", (told.text,))?)?;
    if told.seconds > 0.0 {
        values.set_item("created", told.seconds)?;
    }
    if !told.thread.is_empty() {
        values.set_item("threadName", told.thread)?;
    }
    let record = py.import("logging")?.call_method1("makeLogRecord", (values,))?;
    logger.call_method1("handle", (record,)).map(drop)
}
