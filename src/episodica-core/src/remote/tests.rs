use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::testing::{FaultServer, ScriptedAct, VirtualTimer};
use super::{CallFailure, FailureCause, RemoteEndpoint, RemoteService, SecretText};
use crate::control::{CancelFlag, Uninterrupted};
use crate::error::ErrorKind;
use crate::remote::RetryTimer;
use crate::sync::Mutex;

fn ok() -> ScriptedAct {
    ScriptedAct::Json(200, r#"{"fine":true}"#.into())
}

fn status(code: u16) -> ScriptedAct {
    ScriptedAct::Json(code, "{}".into())
}

fn remote(server: &FaultServer) -> (RemoteService, VirtualTimer) {
    let timer = VirtualTimer::default();
    (RemoteService::with_timer(&server.endpoint(), Arc::new(timer.clone())).unwrap(), timer)
}

fn call(remote: &RemoteService) -> Result<super::ServiceReply, CallFailure> {
    remote.post_json("chat/completions", &json!({"secret text": 1}), &Uninterrupted)
}

#[test]
fn a_call_carries_address_key_and_headers() {
    let server = FaultServer::script(vec![ok()]);
    let mut endpoint = server.endpoint();
    endpoint.base_url.push_str("/?api-version=7");
    endpoint.api_key = Some(SecretText::new("sk-key"));
    endpoint.organization = Some("org".into());
    endpoint.headers = vec![("X-Team".into(), SecretText::new("blue"))];
    let reply = call(&RemoteService::new(&endpoint).unwrap()).unwrap();
    assert_eq!(reply.attempts, 1);
    assert_eq!(reply.parse_body::<Value>("JSON").unwrap(), json!({"fine": true}));
    let request = &server.requests()[0];
    assert_eq!(request.path, "/v1/chat/completions?api-version=7");
    assert_eq!(request.body, json!({"secret text": 1}));
    let head = request.head.to_lowercase();
    for line in [
        "authorization: bearer sk-key",
        "openai-organization: org",
        "x-team: blue",
        "content-type: application/json",
    ] {
        assert!(head.contains(line), "{line} in {head}");
    }
}

#[test]
fn a_proxy_is_asked_for_the_whole_address() {
    let server = FaultServer::script(vec![ok()]);
    let proxy = Some(SecretText::new(server.endpoint().base_url));
    let endpoint = RemoteEndpoint { proxy, ..RemoteEndpoint::new("http://models.invalid/v1") };
    call(&RemoteService::new(&endpoint).unwrap()).unwrap();
    assert_eq!(server.requests()[0].path, "http://models.invalid/v1/chat/completions");
}

#[test]
fn threads_share_one_breaker_and_one_test() {
    let server = FaultServer::start(|number, _| match number {
        0..5 => status(503),
        _ => ScriptedAct::Slow(Duration::from_millis(300), Box::new(ok())),
    });
    let (remote, timer) = remote(&server);
    (0..2).for_each(|_| drop(call(&remote)));
    timer.advance(60.0);
    let answered = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| call(&remote).is_ok())).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .filter(|answered| *answered)
            .count()
    });
    assert_eq!(
        (answered, server.requests().len()),
        (1, 6),
        "the others are refused while the test is under way"
    );
    assert!(call(&remote).is_ok());
}

#[test]
fn temporary_failures_are_tried_three_times_with_doubled_waits() {
    for act in [
        status(408),
        status(409),
        status(500),
        status(503),
        ScriptedAct::Reset,
        ScriptedAct::Half("{".into()),
    ] {
        let server = FaultServer::script(vec![act.clone(), act.clone(), ok()]);
        let (remote, timer) = remote(&server);
        assert_eq!(call(&remote).unwrap().attempts, 3, "{act:?}");
        assert_eq!(timer.slept(), [1.0, 2.0], "{act:?}");
        assert_eq!(remote.service_health().retries, 2);
        let server = FaultServer::script(vec![act.clone()]);
        let (remote, _) = self::remote(&server);
        let failure = call(&remote).unwrap_err();
        assert_eq!((failure.attempts(), server.requests().len()), (3, 3), "{act:?}");
        assert_eq!(failure.elapsed_seconds(), 3.0);
    }
}

#[test]
fn refusals_are_final_and_leave_the_breaker_closed() {
    for code in [400, 401, 403, 404, 422, 501, 307] {
        let server = FaultServer::script(vec![status(code)]);
        let (remote, timer) = remote(&server);
        for _ in 0..6 {
            assert_eq!(call(&remote).unwrap_err().cause(), FailureCause::Status(code));
        }
        assert_eq!(server.requests().len(), 6);
        assert!(timer.slept().is_empty() && remote.is_available());
        assert_eq!(remote.service_health().breaker, "closed");
    }
}

#[test]
fn retry_after_is_obeyed_up_to_a_minute() {
    let server =
        FaultServer::script(vec![ScriptedAct::With(429, "retry-after: 17", "{}".into()), ok()]);
    let (remote, timer) = remote(&server);
    call(&remote).unwrap();
    assert_eq!(timer.slept(), [17.0]);
    let server = FaultServer::script(vec![
        ScriptedAct::With(503, "retry-after: Thu, 01 Jan 1970 00:00:25 GMT", "{}".into()),
        ok(),
    ]);
    let (remote, timer) = self::remote(&server);
    call(&remote).unwrap();
    assert_eq!(timer.slept(), [25.0]);
    let server =
        FaultServer::script(vec![ScriptedAct::With(429, "retry-after: 3600", "{}".into()), ok()]);
    let (remote, timer) = self::remote(&server);
    assert_eq!(call(&remote).unwrap_err().attempts(), 1);
    assert!(timer.slept().is_empty());
    let failure = call(&remote).unwrap_err();
    assert_eq!((failure.cause(), failure.attempts()), (FailureCause::Refused, 0));
    assert_eq!(failure.message(), "server takes no requests for 3600 s");
    assert!(!remote.is_available());
}

#[test]
fn a_limit_of_requests_makes_everybody_wait_and_is_no_failure() {
    // The server takes three requests in ten seconds.
    let (timer, taken) = (VirtualTimer::default(), Mutex::new(Vec::<f64>::new()));
    let clock = timer.clone();
    let server = FaultServer::start(move |_, _| {
        let (now, mut taken) = (clock.elapsed_seconds(), taken.lock());
        taken.retain(|at| now - at < 10.0);
        if taken.len() < 3 {
            taken.push(now);
            return ok();
        }
        ScriptedAct::With(429, "retry-after: 10", "{}".into())
    });
    let remote = RemoteService::with_timer(&server.endpoint(), Arc::new(timer.clone())).unwrap();
    std::thread::scope(|scope| {
        let calls: Vec<_> = (0..12).map(|_| scope.spawn(|| call(&remote).is_ok())).collect();
        assert!(calls.into_iter().all(|call| call.join().unwrap()), "all are served");
    });
    let health = remote.service_health();
    assert_eq!((health.breaker, health.failures, health.refused), ("closed", 0, 0));
    assert!(!health.failing && remote.is_available());
    // A server that never takes one again ends the call, without opening the breaker.
    let server = FaultServer::script(vec![status(429)]);
    let (remote, timer) = self::remote(&server);
    let failure = call(&remote).unwrap_err();
    assert_eq!((failure.cause(), failure.attempts()), (FailureCause::Status(429), 9));
    assert_eq!(timer.slept(), [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]);
    assert_eq!(remote.service_health().breaker, "closed");
    timer.advance(60.0);
    assert_eq!(call(&remote).unwrap_err().attempts(), 1, "and then each call after one request");
    // Used up money does not come back by waiting.
    let quota = ScriptedAct::Json(429, r#"{"error":{"code":"insufficient_quota"}}"#.into());
    let server = FaultServer::script(vec![quota]);
    assert_eq!(call(&self::remote(&server).0).unwrap_err().attempts(), 3);
}

#[test]
fn a_dead_server_costs_five_requests_and_then_a_fast_refusal() {
    let server = FaultServer::script(vec![
        status(500),
        status(500),
        status(500),
        status(500),
        status(500),
        status(500),
        ok(),
    ]);
    let (remote, timer) = remote(&server);
    assert_eq!(call(&remote).unwrap_err().attempts(), 3);
    assert_eq!(
        call(&remote).unwrap_err().attempts(),
        2,
        "no wait and no attempt after the breaker opened"
    );
    assert_eq!(timer.slept(), [1.0, 2.0, 1.0]);
    let failure = call(&remote).unwrap_err();
    assert_eq!((failure.cause(), failure.attempts()), (FailureCause::Refused, 0));
    assert!(
        failure.message().contains("next test in 60 s")
            && failure.message().contains("status `500`"),
        "{}",
        failure.message()
    );
    assert!(!remote.is_available());
    assert_eq!(server.requests().len(), 5);
    timer.advance(60.0);
    assert_eq!(remote.service_health().breaker, "half_open");
    assert_eq!(call(&remote).unwrap_err().attempts(), 1, "the test is one attempt");
    assert!(!remote.is_available());
    timer.advance(60.0);
    call(&remote).unwrap();
    assert_eq!(remote.service_health().breaker, "closed");
    assert_eq!(remote.service_health().refused, 1);
}

#[test]
fn what_cannot_be_an_answer_is_said_clearly_and_not_tried_again() {
    let cases = [
        (
            ScriptedAct::Typed("text/html", "<html>my secret</html>".into()),
            "server answered with something other than JSON",
        ),
        (ScriptedAct::Large(17 * 1024 * 1024), "server answered with more than 16 MB"),
    ];
    for (act, message) in cases {
        let server = FaultServer::script(vec![act]);
        let failure = call(&remote(&server).0).unwrap_err();
        assert_eq!((failure.cause(), server.requests().len()), (FailureCause::Unusable, 1));
        assert!(failure.message().starts_with(message), "{}", failure.message());
        assert!(!failure.message().contains("secret"));
    }
    let server = FaultServer::script(vec![ScriptedAct::Large(10 * 1024 * 1024)]);
    assert_eq!(call(&remote(&server).0).unwrap().body.len(), 10 * 1024 * 1024);
    let server = FaultServer::script(vec![ScriptedAct::Json(200, "{\"cut\": ".into())]);
    let failure =
        call(&remote(&server).0).unwrap().parse_body::<Value>("a chat completion").unwrap_err();
    assert_eq!(failure.message(), "server's answer is not a chat completion, at line 1 column `8`");
}

#[test]
fn a_stream_that_never_ends_stops_at_the_deadline() {
    for act in [ScriptedAct::Endless, ScriptedAct::Slow(Duration::from_secs(3), Box::new(ok()))] {
        let server = FaultServer::script(vec![act]);
        let endpoint =
            RemoteEndpoint { timeout_seconds: 0.3, max_attempts: 1, ..server.endpoint() };
        let started = Instant::now();
        let failure = call(&RemoteService::new(&endpoint).unwrap()).unwrap_err();
        assert_eq!(failure.cause(), FailureCause::Timeout);
        assert!(
            failure
                .message()
                .starts_with("server gave no complete answer within 0.3 s: `http://127"),
            "{}",
            failure.message()
        );
        assert!(started.elapsed() < Duration::from_secs(2));
    }
}

#[test]
fn a_call_under_way_stops_soon_after_it_is_cancelled() {
    let server = FaultServer::script(vec![ScriptedAct::Endless]);
    let (remote, flag) = (remote(&server).0, CancelFlag::default());
    let other = flag.clone();
    let thread = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        other.cancel();
    });
    let started = Instant::now();
    let failure = remote.post_json("x", &json!({}), &flag).unwrap_err();
    thread.join().unwrap();
    assert!(started.elapsed() < Duration::from_secs(2));
    assert_eq!(failure.into_error(ErrorKind::Llm).kind(), ErrorKind::Interrupted);
    assert_eq!(remote.service_health().failures, 0);
}

#[test]
fn nobody_listening_is_a_network_failure_without_the_path() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let endpoint = RemoteEndpoint::new(format!("http://127.0.0.1:{port}/key-in-path/v1"));
    let remote = RemoteService::with_timer(&endpoint, Arc::new(VirtualTimer::default())).unwrap();
    let failure = call(&remote).unwrap_err();
    assert_eq!((failure.cause(), failure.attempts()), (FailureCause::Network, 3));
    assert!(
        failure.message().starts_with("cannot connect to the server (connection refused"),
        "{}",
        failure.message()
    );
    assert!(!failure.message().contains("key-in-path"));
    let failure = CallFailure::from_status(400, "h", b"my diary");
    assert!(failure.mentions_word("diary") && !format!("{failure:?}").contains("diary"));
}

#[test]
fn keys_that_no_header_can_hold_are_refused_without_being_shown() {
    let endpoint = RemoteEndpoint {
        api_key: Some(SecretText::new("sk-\u{1F511}\nx")),
        ..RemoteEndpoint::new("http://localhost:1")
    };
    let error = RemoteService::new(&endpoint).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(!error.cause_chain().contains("sk-"));
    assert!(
        RemoteService::new(&RemoteEndpoint::new("https://localhost:1/v1")).is_ok(),
        "certificates of the system"
    );
    let proxied = RemoteEndpoint {
        proxy: Some(SecretText::new("::pass word")),
        ..RemoteEndpoint::new("http://localhost:1")
    };
    assert!(!RemoteService::new(&proxied).err().unwrap().cause_chain().contains("pass"));
}
