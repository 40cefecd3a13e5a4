//! Ends the process some time after a signal, whatever its threads do.
//!
//! Python runs its signal handlers, and every deadline written in Python, only once a thread lets
//! go of the interpreter. A long call into C or Rust may never do that. So this thread knows no
//! Python: the operating system's handler wakes it, and it kills the process.

use std::io::{self, Write};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Signal, getpid, kill_process};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Milliseconds from a signal to the end of the process; `OFF` where nothing ends it.
static LIMIT: AtomicU64 = AtomicU64::new(OFF);
const OFF: u64 = u64::MAX;
static STARTED: Once = Once::new();

/// Sets the seconds from SIGTERM or SIGINT to the end of the process, or calls it off.
///
/// The present handlers of both are kept and called, too; handlers set later replace them all.
pub(crate) fn end_after_signal(seconds: Option<f64>) -> io::Result<()> {
    let limit = seconds.map_or(OFF, |seconds| (seconds.max(0.0) * 1e3) as u64);
    LIMIT.store(limit, Ordering::SeqCst);
    let mut started = Ok(());
    if limit != OFF {
        STARTED.call_once(|| started = start());
    }
    started
}

fn start() -> io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGINT])?;
    thread::Builder::new().name("ending".into()).spawn(move || {
        for _ in signals.forever() {
            let limit = LIMIT.load(Ordering::SeqCst);
            if limit != OFF {
                end_at(Instant::now() + Duration::from_millis(limit));
            }
        }
    })?;
    Ok(())
}

fn end_at(deadline: Instant) {
    thread::sleep(deadline.saturating_duration_since(Instant::now()));
    // Not through the log, which belongs to Python.
    let _ = io::stderr().write_all(b"the process is ended: it did not end by itself\n");
    // Nothing acknowledged is lost: it is on disk. An orderly exit would wait for other threads.
    let _ = kill_process(getpid(), Signal::KILL);
}
