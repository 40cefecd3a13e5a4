//! For unit tests: a loopback server that fails on request, and a timer that does not wait. The
//! server stops when it is dropped, and after a minute in any case.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::sync::Mutex;
use serde_json::Value;

use super::{RemoteEndpoint, RetryTimer};
use crate::clock::Moment;
use crate::control::CallControl;
use crate::error::Result;

const LIFE: Duration = Duration::from_secs(60);

/// A scripted response.
#[derive(Debug, Clone)]
pub(crate) enum ScriptedAct {
    /// Status and JSON.
    Json(u16, String),
    /// Status, further header lines and JSON.
    With(u16, &'static str, String),
    /// 200 with this content type and body.
    Typed(&'static str, String),
    /// Closes without an answer.
    Reset,
    /// Promises more than it sends, then closes.
    Half(String),
    /// 200 and JSON of this many bytes.
    Large(usize),
    /// Sends single bytes without end.
    Endless,
    /// Waits before it answers.
    Slow(Duration, Box<ScriptedAct>),
}

/// A request that was received.
#[derive(Debug, Clone)]
pub(crate) struct ReceivedRequest {
    pub(crate) path: String,
    pub(crate) head: String,
    pub(crate) body: Value,
}

type Script = dyn Fn(usize, &ReceivedRequest) -> ScriptedAct + Send + Sync;

/// See the module's documentation.
pub(crate) struct FaultServer {
    url: String,
    stop: Arc<AtomicBool>,
    requests: Arc<Mutex<Vec<ReceivedRequest>>>,
}

impl FaultServer {
    /// Answers request number n (from 0) by `script`.
    pub(crate) fn start(
        script: impl Fn(usize, &ReceivedRequest) -> ScriptedAct + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let server = Self {
            url: format!("http://{}/v1", listener.local_addr().unwrap()),
            stop: Arc::default(),
            requests: Arc::default(),
        };
        let (stop, requests, script) = (
            Arc::clone(&server.stop),
            Arc::clone(&server.requests),
            Arc::new(script) as Arc<Script>,
        );
        std::thread::spawn(move || {
            let end = Instant::now() + LIFE;
            while !stop.load(Ordering::SeqCst) && Instant::now() < end {
                let Ok((stream, _)) = listener.accept() else {
                    std::thread::sleep(Duration::from_millis(2));
                    continue;
                };
                let (stop, requests, script) =
                    (Arc::clone(&stop), Arc::clone(&requests), Arc::clone(&script));
                // A client may disconnect at any time.
                std::thread::spawn(move || serve(stream, &requests, &*script, &stop).ok());
            }
        });
        server
    }

    /// Answers each request with the next of `acts`, and all further ones with the last.
    pub(crate) fn script(acts: Vec<ScriptedAct>) -> Self {
        Self::start(move |number, _| acts[number.min(acts.len() - 1)].clone())
    }

    /// This server as an endpoint, with a short timeout.
    pub(crate) fn endpoint(&self) -> RemoteEndpoint {
        RemoteEndpoint { timeout_seconds: 5.0, ..RemoteEndpoint::new(&self.url) }
    }

    pub(crate) fn requests(&self) -> Vec<ReceivedRequest> {
        self.requests.lock().clone()
    }
}

impl Drop for FaultServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
    }
}

fn serve(
    stream: TcpStream,
    requests: &Mutex<Vec<ReceivedRequest>>,
    script: &Script,
    stop: &AtomicBool,
) -> std::io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(LIFE))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Ok(());
        }
    }
    let length = head
        .lines()
        .find_map(|line| line.to_lowercase().strip_prefix("content-length: ").map(str::to_owned));
    let mut body = vec![0; length.and_then(|text| text.parse().ok()).unwrap_or(0)];
    reader.read_exact(&mut body)?;
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let request =
        ReceivedRequest { path, head, body: serde_json::from_slice(&body).unwrap_or(Value::Null) };
    let number = {
        let mut all = requests.lock();
        all.push(request.clone());
        all.len() - 1
    };
    answer(stream, script(number, &request), stop)
}

fn answer(mut stream: TcpStream, act: ScriptedAct, stop: &AtomicBool) -> std::io::Result<()> {
    let mut whole = |status: u16, kind: &str, more: &str, body: &str| {
        let length = body.len();
        write!(
            stream,
            "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: \
             {length}\r\n{more}connection: close\r\n\r\n{body}"
        )
    };
    let json = "application/json";
    match act {
        ScriptedAct::Json(status, body) => whole(status, json, "", &body),
        ScriptedAct::With(status, header, body) => {
            whole(status, json, &format!("{header}\r\n"), &body)
        }
        ScriptedAct::Typed(kind, body) => whole(200, kind, "", &body),
        ScriptedAct::Large(bytes) => {
            whole(200, json, "", &format!("\"{}\"", "x".repeat(bytes.saturating_sub(2))))
        }
        ScriptedAct::Reset => Ok(()),
        ScriptedAct::Half(body) => {
            let length = body.len() + 100;
            write!(
                stream,
                "HTTP/1.1 200 X\r\ncontent-type: {json}\r\ncontent-length: {length}\r\n\r\n{body}"
            )
        }
        ScriptedAct::Endless => {
            write!(
                stream,
                "HTTP/1.1 200 X\r\ncontent-type: {json}\r\ntransfer-encoding: chunked\r\n\r\n"
            )?;
            let end = Instant::now() + LIFE;
            while !stop.load(Ordering::SeqCst) && Instant::now() < end {
                write!(stream, "1\r\n \r\n")?;
                stream.flush()?;
                std::thread::sleep(Duration::from_millis(10));
            }
            Ok(())
        }
        ScriptedAct::Slow(wait, act) => {
            std::thread::sleep(wait);
            answer(stream, *act, stop)
        }
    }
}

/// A timer that does not wait: sleeping advances it at once and is recorded. Clones share their
/// time; `random_fraction` is always 0.5.
#[derive(Debug, Clone, Default)]
pub(crate) struct VirtualTimer(Arc<Mutex<VirtualTime>>);

#[derive(Debug, Default)]
struct VirtualTime {
    seconds: f64,
    slept: Vec<f64>,
}

impl VirtualTimer {
    /// Advances it by `seconds`.
    pub(crate) fn advance(&self, seconds: f64) {
        self.0.lock().seconds += seconds;
    }

    /// All waits so far, in seconds and in order.
    pub(crate) fn slept(&self) -> Vec<f64> {
        self.0.lock().slept.clone()
    }
}

impl RetryTimer for VirtualTimer {
    fn elapsed_seconds(&self) -> f64 {
        self.0.lock().seconds
    }

    /// 1970 plus the seconds since this timer was created.
    fn now(&self) -> Moment {
        Moment::new((self.elapsed_seconds() * 1e6) as i64, 0).unwrap_or(Moment::MAX)
    }

    fn sleep(&self, seconds: f64, control: &dyn CallControl) -> Result<()> {
        control.check()?;
        let mut time = self.0.lock();
        time.seconds += seconds;
        time.slept.push(seconds);
        Ok(())
    }

    fn random_fraction(&self) -> f64 {
        0.5
    }
}
