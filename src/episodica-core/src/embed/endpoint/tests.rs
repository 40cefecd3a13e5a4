use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::control::CancelFlag;
use crate::embed::Embedder;
use crate::error::ErrorKind;
use crate::llm::UsageLedger;
use crate::remote::testing::VirtualTimer;
use crate::remote::testing::{FaultServer, ReceivedRequest, ScriptedAct};

/// Answers with the vectors (length of the text, 1), in reverse order, and 2 tokens per text.
fn server() -> FaultServer {
    FaultServer::start(|_, request| embeddings(request))
}

fn embeddings(request: &ReceivedRequest) -> ScriptedAct {
    let texts = inputs(request);
    let row = |(index, text): (usize, &String)| {
        json!(
            {"index": index, "embedding": [text.len() as f32, 1.0]}
        )
    };
    let data: Vec<Value> = texts.iter().enumerate().rev().map(row).collect();
    ScriptedAct::Json(
        200,
        json!({"data": data, "usage": {"prompt_tokens": 2 * texts.len()}}).to_string(),
    )
}

fn inputs(request: &ReceivedRequest) -> Vec<String> {
    serde_json::from_value(request.body["input"].clone()).unwrap()
}

fn embedder(
    server: &FaultServer,
    change: impl Fn(&mut EmbeddingSettings),
) -> (EndpointEmbedder, Arc<UsageLedger>) {
    let mut settings = EmbeddingSettings {
        endpoint: server.endpoint(),
        ..EmbeddingSettings::new("tiny-embed", "")
    };
    change(&mut settings);
    let ledger = Arc::new(UsageLedger::default());
    (
        EndpointEmbedder::with_timer(
            settings,
            Arc::clone(&ledger),
            Arc::new(VirtualTimer::default()),
        )
        .unwrap(),
        ledger,
    )
}

fn answers(rows: Value) -> FaultServer {
    FaultServer::script(vec![ScriptedAct::Json(200, json!({"data": rows}).to_string())])
}

#[test]
fn rows_come_in_order_and_normalised() {
    let server = server();
    let (embedder, ledger) = embedder(&server, |_| {});
    assert_eq!(
        (embedder.dimension(), embedder.is_local(), embedder.model_name()),
        (None, false, "tiny-embed")
    );
    let rows = embedder.embed_texts(&["abc", "", "a", "  "]).unwrap();
    assert_eq!(rows.dim(), (4, 2));
    assert!(
        (rows[[0, 0]] / rows[[0, 1]] - 3.0).abs() < 1e-6
            && (rows[[2, 0]] / rows[[2, 1]] - 1.0).abs() < 1e-6
    );
    for (row, length) in rows.rows().into_iter().zip([1.0, 0.0, 1.0, 0.0]) {
        assert!((row.dot(&row) - length).abs() < 1e-6);
    }
    assert_eq!(server.requests()[0].path, "/v1/embeddings");
    assert_eq!(server.requests()[0].body, json!({"model": "tiny-embed", "input": ["abc", "a"]}));
    let usage = ledger.usage();
    assert_eq!(usage.by_phase["embedding"].calls, 1);
    assert_eq!((usage.total.prompt_tokens, usage.total.counted_locally), (4, 0));
}

#[test]
fn the_same_text_is_never_sent_twice() {
    let server = server();
    let (embedder, _) = embedder(&server, |_| {});
    let first = embedder.embed_texts(&["one", "two!", "one"]).unwrap();
    let second = embedder.embed_texts(&["two!", "three", "one"]).unwrap();
    assert_eq!(
        server.requests().iter().map(inputs).collect::<Vec<_>>(),
        [vec!["one", "two!"], vec!["three"]]
    );
    assert_eq!((first.row(0), first.row(1)), (second.row(2), second.row(0)));
    assert_eq!(first.row(0), first.row(2));
    assert_eq!(embedder.service_health().unwrap().cache_entries, 3);
}

#[test]
fn the_cache_is_bounded_and_a_call_does_not_need_it() {
    let server = server();
    let texts: Vec<String> = (1..=5).map(|length| "x".repeat(length)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    for (entries, held, sent) in [(2, 2, 6), (0, 0, 8)] {
        let before: usize = server.requests().iter().map(|request| inputs(request).len()).sum();
        let (embedder, _) = embedder(&server, |settings| settings.cache_entries = entries);
        let rows = embedder.embed_texts(&texts).unwrap();
        assert!((rows[[4, 0]] / rows[[4, 1]] - 5.0).abs() < 1e-5);
        embedder.embed_texts(&texts[2..]).unwrap();
        assert_eq!(embedder.service_health().unwrap().cache_entries, held);
        let after: usize = server.requests().iter().map(|request| inputs(request).len()).sum();
        assert_eq!(after - before, sent, "{entries}");
    }
}

#[test]
fn many_texts_are_sent_in_batches() {
    let server = server();
    let texts: Vec<String> = (0..70).map(|number| format!("text {number}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let (embedder, _) = embedder(&server, |_| {});
    embedder.embed_texts(&texts).unwrap();
    assert_eq!(
        server.requests().iter().map(|request| inputs(request).len()).collect::<Vec<_>>(),
        [32, 32, 6]
    );
}

#[test]
fn nothing_but_white_space_still_has_a_shape() {
    let server = server();
    let (embedder, _) = self::embedder(&server, |_| {});
    assert_eq!(embedder.embed_texts(&[]).unwrap().dim(), (0, 0));
    assert!(server.requests().is_empty());
    assert_eq!(embedder.embed_texts(&[" "]).unwrap().dim(), (1, 2));
    assert_eq!(server.requests().len(), 1, "one probe");
    let (embedder, _) = self::embedder(&server, |settings| settings.dimensions = Some(7));
    assert_eq!(embedder.embed_texts(&[" "]).unwrap().dim(), (1, 7));
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn answers_of_another_shape_are_refused() {
    for (rows, message) in [
        (
            json!([{"index": 0, "embedding": [1.0]}]),
            "server gave another number of vectors than the 2 asked for: `1`",
        ),
        (
            json!([{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}]),
            "server gave an index twice or out of range: `0`",
        ),
        (
            json!([{"index": 0, "embedding": [1.0]}, {"index": 2, "embedding": [1.0]}]),
            "server gave an index twice or out of range: `2`",
        ),
        (
            json!([{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0, 2.0]}]),
            "server gave a vector of another dimension than 1: `2`",
        ),
        (
            json!([{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": []}]),
            "server gave an empty vector for item `2`",
        ),
        (
            json!([{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1e300]}]),
            "server's answer is not a list of embeddings",
        ),
        (
            json!([{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [null]}]),
            "server's answer is not a list of embeddings",
        ),
    ] {
        let server = answers(rows);
        let (embedder, ledger) = embedder(&server, |_| {});
        let error = embedder.embed_texts(&["a", "b"]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Embedding);
        assert!(error.to_string().starts_with(message), "{error}");
        assert_eq!((embedder.dimension(), ledger.usage().total.failures), (None, 1));
    }
    let server = answers(json!([{"embedding": [0.0, 2.0]}, {"embedding": [0.0, 0.0]}]));
    let (embedder, ledger) = self::embedder(&server, |_| {});
    assert_eq!(
        embedder.embed_texts(&["a", "b"]).unwrap(),
        ndarray::array![[0.0, 1.0], [0.0, 0.0]],
        "the index may be left out"
    );
    assert_eq!(ledger.usage().total.counted_locally, 1);
    assert!(embedder.embed_texts(&["c"]).is_err(), "and another number of rows is still an error");
}

#[test]
fn a_refused_text_is_found_and_named() {
    let server = FaultServer::start(|_, request| {
        if inputs(request).iter().any(|text| text.contains("secret")) {
            ScriptedAct::Json(
                400,
                r#"{"error":{"message":"secret is too long","code":"too_long"}}"#.into(),
            )
        } else {
            embeddings(request)
        }
    });
    let (embedder, _) = embedder(&server, |_| {});
    let error = embedder.embed_texts(&["a", "bb", "ccc", "the secret", "eeeee"]).unwrap_err();
    assert_eq!(error.to_string(), "cannot embed item `4`");
    assert!(
        error.cause_chain().contains("status `400` (too_long)")
            && !error.cause_chain().contains("secret"),
        "{}",
        error.cause_chain()
    );
    assert!(embedder.is_available(), "the server lives");
}

#[test]
fn a_text_that_is_too_long_is_cut_and_the_others_are_whole() {
    let server = FaultServer::start(|_, request| {
        match inputs(request).iter().map(String::len).sum::<usize>() {
            0..=9_000 => embeddings(request),
            _ => ScriptedAct::Json(400, "{}".into()),
        }
    });
    let (embedder, _) = embedder(&server, |_| {});
    let long = "é".repeat(50_000);
    let rows = embedder.embed_texts(&["a", &long, "ccc"]).unwrap();
    assert_eq!(rows.nrows(), 3);
    assert!(rows.rows().into_iter().all(|row| row.iter().any(|&value| value != 0.0)));
    let sent = server.requests().len();
    assert!(sent < 12, "{sent} requests");
    embedder.embed_texts(&[&long]).unwrap();
    assert_eq!(server.requests().len(), sent, "the vector of the whole text is known");
}

#[test]
fn a_server_that_takes_fewer_texts_gets_fewer() {
    let server = FaultServer::start(|_, request| match inputs(request).len() {
        0..=2 => embeddings(request),
        _ => ScriptedAct::Json(413, "{}".into()),
    });
    let (embedder, _) = embedder(&server, |_| {});
    let rows = embedder.embed_texts(&["a", "bb", "ccc", "dddd"]).unwrap();
    assert!((rows[[3, 0]] / rows[[3, 1]] - 4.0).abs() < 1e-5);
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn outages_open_the_breaker_and_stops_are_stops() {
    let server = FaultServer::script(vec![ScriptedAct::Json(503, "{}".into())]);
    let (embedder, ledger) = embedder(&server, |_| {});
    for _ in 0..3 {
        assert_eq!(embedder.embed_texts(&["a"]).unwrap_err().kind(), ErrorKind::Embedding);
    }
    assert_eq!((server.requests().len(), embedder.is_available()), (5, false));
    assert_eq!(ledger.usage().by_model["tiny-embed"].failures, 3);
    let flag = CancelFlag::default();
    flag.cancel();
    let (embedder, ledger) = self::embedder(&server, |_| {});
    assert_eq!(
        embedder.embed_controlled(&["a"], &flag).unwrap_err().kind(),
        ErrorKind::Interrupted
    );
    assert_eq!(ledger.usage().total.failures, 0);
}

#[test]
fn settings_out_of_bounds_are_named() {
    let make = |json: &str| {
        EndpointEmbedder::new(EmbeddingSettings::from_json(json)?, Arc::default())
            .map(|embedder| embedder.dimension())
    };
    let endpoint = r#""endpoint":{"base_url":"http://localhost:1"}"#;
    assert_eq!(make(&format!(r#"{{"model":"m",{endpoint},"dimensions":8}}"#)).unwrap(), Some(8));
    let error = make(&format!(r#"{{"model":"m",{endpoint},"batch_size":101}}"#)).unwrap_err();
    assert_eq!(error.to_string(), "batch_size of the embedder is outside 1 to 100: `101`");
    for wrong in [r#""model":" ""#, r#""model":"m","dimensions":0"#, r#""model":"m","dimension":1"#]
    {
        assert_eq!(
            make(&format!("{{{wrong},{endpoint}}}")).unwrap_err().kind(),
            ErrorKind::Config,
            "{wrong}"
        );
    }
}
