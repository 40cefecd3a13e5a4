use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::control::{CancelFlag, Uninterrupted};
use crate::error::ErrorKind;
use crate::llm::{AnswerSchema, ChatPrompt, LanguageModel, LlmSettings, UsagePhase};
use crate::remote::SecretText;
use crate::remote::testing::VirtualTimer;
use crate::remote::testing::{FaultServer, ReceivedRequest, ScriptedAct};

fn prompt() -> ChatPrompt {
    ChatPrompt {
        phase: UsagePhase::Episode,
        system: "Write it down.".into(),
        user: "the secret diary".into(),
        schema: AnswerSchema { name: "episode", schema: json!({"type": "object"}) },
        max_tokens: 500,
    }
}

fn says(content: &Value) -> ScriptedAct {
    ScriptedAct::Json(
        200,
        json!({
            "choices": [{"message": {"content": content}}],
            "usage": {"prompt_tokens": 11, "completion_tokens": 7},
        })
        .to_string(),
    )
}

fn refuses(status: u16, message: &str) -> ScriptedAct {
    ScriptedAct::Json(status, json!({"error": {"message": message}}).to_string())
}

fn settings(server: &FaultServer) -> LlmSettings {
    LlmSettings { endpoint: server.endpoint(), ..LlmSettings::new("tiny", "") }
}

fn model(server: &FaultServer) -> OpenAiModel {
    OpenAiModel::with_timer(settings(server), Arc::new(VirtualTimer::default())).unwrap()
}

#[test]
fn a_prompt_becomes_a_strict_request_and_its_answer_an_answer() {
    let server = FaultServer::script(vec![says(&"{}".into())]);
    let mut settings = settings(&server);
    settings.max_tokens = Some(100);
    settings.extra.insert("seed".into(), 3.into());
    let answer =
        OpenAiModel::new(settings).unwrap().complete_prompt(&prompt(), &Uninterrupted).unwrap();
    assert_eq!((answer.text.as_str(), answer.model.as_str(), answer.attempts), ("{}", "tiny", 1));
    assert_eq!(
        (answer.prompt_tokens, answer.completion_tokens, answer.counted_locally),
        (11, 7, false)
    );
    assert_eq!(
        server.requests()[0].body,
        json!({
            "model": "tiny",
            "messages": [
                {"role": "system", "content": "Write it down."},
                {"role": "user", "content": "the secret diary"},
            ],
            "max_tokens": 100,
            "temperature": 0,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "episode", "strict": true, "schema": {"type": "object"}},
            },
            "seed": 3,
        })
    );
}

#[test]
fn the_format_goes_down_to_what_the_server_takes_and_stays_there() {
    let invalid = "1 validation error: {'loc': ('body', 'response_format', 'type'), 'msg': \"Input \
        should be 'text' or 'json_object'\"}";
    for (status, words) in [
        (400, "json_schema is unknown"),
        (415, ""),
        (422, "extra fields"),
        (501, ""),
        (404, "no response_format here"),
        (500, invalid),
    ] {
        let server = FaultServer::start(move |_, request: &ReceivedRequest| {
            match request.body.get("response_format") {
                Some(_) => refuses(status, words),
                None => says(&"{}".into()),
            }
        });
        let model = model(&server);
        assert_eq!(
            model.complete_prompt(&prompt(), &Uninterrupted).unwrap().attempts,
            4,
            "{status}"
        );
        assert_eq!(
            model.complete_prompt(&prompt(), &Uninterrupted).unwrap().attempts,
            1,
            "{status}"
        );
        let requests = server.requests();
        let inside = json!({"type": "json_object", "schema": {"type": "object"}});
        assert_eq!(requests[1].body["response_format"], inside);
        assert_eq!(requests[2].body["response_format"], json!({"type": "json_object"}));
        let system = requests[4].body["messages"][0]["content"].as_str().unwrap();
        assert!(
            system.contains("JSON object that fits this JSON schema")
                && system.contains(r#"{"type":"object"}"#)
        );
        assert_eq!(model.service_health().format, "text");
        assert_eq!(model.service_health().breaker, "closed");
    }
}

#[test]
fn what_is_no_matter_of_form_is_asked_once() {
    for (status, words) in [
        (404, "The model `tiny` does not exist"),
        (400, "This model's maximum context length is 8 tokens"),
        (401, "response_format"),
        (403, ""),
    ] {
        let server = FaultServer::script(vec![refuses(status, words)]);
        let model = model(&server);
        let error = model.complete_prompt(&prompt(), &Uninterrupted).unwrap_err().error;
        assert_eq!(error.kind(), ErrorKind::Llm);
        assert_eq!(server.requests().len(), 1, "{words}");
        assert_eq!(model.service_health().format, "json_schema");
    }
    // A refusal without a reason is retried in every form, but a form that never worked isn't
    // stored.
    let server = FaultServer::script(vec![refuses(400, "")]);
    let model = model(&server);
    assert!(model.complete_prompt(&prompt(), &Uninterrupted).is_err());
    assert_eq!(server.requests().len(), 4);
    assert_eq!(model.service_health().format, "json_schema");
}

#[test]
fn other_names_for_the_limit_and_fixed_temperatures_are_learned() {
    let server = FaultServer::start(|_, request: &ReceivedRequest| {
        if request.body.get("max_tokens").is_some() {
            return refuses(
                400,
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use \
                 'max_completion_tokens' instead.",
            );
        }
        match request.body.get("temperature") {
            Some(_) => {
                refuses(400, "Unsupported value: 'temperature' does not support 0 with this model.")
            }
            None => says(&"{}".into()),
        }
    });
    let model = model(&server);
    model.complete_prompt(&prompt(), &Uninterrupted).unwrap();
    model.complete_prompt(&prompt(), &Uninterrupted).unwrap();
    let requests = server.requests();
    assert_eq!(requests.len(), 4);
    assert_eq!(requests[3].body["max_completion_tokens"], 500);
    assert_eq!(requests[3].body["response_format"]["type"], "json_schema");
}

#[test]
fn content_comes_in_parts_and_without_usage_is_counted_here() {
    let parts = json!(
        [{"type": "text", "text": "{\"a\""}, {"type": "image"}, {"type": "text", "text": ":1}"}]
    );
    let server = FaultServer::script(vec![
        says(&parts),
        ScriptedAct::Json(200, r#"{"choices":[{"message":{"content":"hello world"}}]}"#.into()),
    ]);
    let model = model(&server);
    assert_eq!(model.complete_prompt(&prompt(), &Uninterrupted).unwrap().text, r#"{"a":1}"#);
    let answer = model.complete_prompt(&prompt(), &Uninterrupted).unwrap();
    assert_eq!(
        (answer.prompt_tokens, answer.completion_tokens, answer.counted_locally),
        (7, 2, true)
    );
}

#[test]
fn an_answer_without_text_is_an_error_that_says_why() {
    for (body, reason) in [
        (
            json!({"choices": [{"message": {"content": null}, "finish_reason": "length"}]}),
            "text, because all tokens allowed were used up",
        ),
        (
            json!({"choices": [{"message": {"content": null, "refusal": "I won't"}}]}),
            "text, because it refuses the content",
        ),
        (json!({"choices": [{"message": {"content": " "}}]}), "text: "),
        (json!({"choices": []}), "a choice: "),
        (json!({"error": {"message": "my diary"}}), "a choice: "),
        (json!([1]), "a choice: "),
    ] {
        let server = FaultServer::script(vec![ScriptedAct::Json(200, body.to_string())]);
        let error = model(&server).complete_prompt(&prompt(), &Uninterrupted).unwrap_err().error;
        assert_eq!(error.kind(), ErrorKind::Llm);
        assert!(
            error.to_string().starts_with(&format!("server answered without {reason}")),
            "{error}"
        );
    }
}

#[test]
fn the_fallback_answers_while_the_first_endpoint_is_down() {
    let (dead, live) = (
        FaultServer::script(vec![ScriptedAct::Json(500, "{}".into())]),
        FaultServer::script(vec![says(&"{}".into())]),
    );
    let mut both = settings(&dead);
    both.fallback = Some(Box::new(LlmSettings { model: "spare".into(), ..settings(&live) }));
    let model = OpenAiModel::with_timer(both, Arc::new(VirtualTimer::default())).unwrap();
    let answer = model.complete_prompt(&prompt(), &Uninterrupted).unwrap();
    assert_eq!((answer.model.as_str(), answer.attempts, answer.seconds), ("spare", 4, 3.0));
    model.complete_prompt(&prompt(), &Uninterrupted).unwrap();
    let answer = model.complete_prompt(&prompt(), &Uninterrupted).unwrap();
    assert_eq!(answer.attempts, 1, "the breaker keeps the dead one out");
    assert_eq!((dead.requests().len(), live.requests().len()), (5, 3));
    assert!(model.is_available());
    assert_eq!(
        (model.service_health().breaker, model.service_health().fallback.unwrap().breaker),
        ("open", "closed")
    );
}

#[test]
fn two_dead_endpoints_are_one_error_that_tells_of_both_and_of_no_secret() {
    let (first, second) = (
        FaultServer::script(vec![refuses(401, "key sk-1 of diary")]),
        FaultServer::script(vec![refuses(503, "the secret diary")]),
    );
    let mut both = settings(&first);
    both.endpoint.api_key = Some(SecretText::new("sk-1"));
    both.fallback = Some(Box::new(settings(&second)));
    let model = OpenAiModel::with_timer(both, Arc::new(VirtualTimer::default())).unwrap();
    let error = model.complete_prompt(&prompt(), &Uninterrupted).unwrap_err().error;
    assert_eq!(error.kind(), ErrorKind::Llm);
    let chain = error.cause_chain();
    assert!(chain.contains("status `401`") && chain.contains("status `503`"), "{chain}");
    let shown = format!("{chain} {error:?} {:?}", model.service_health());
    assert!(!shown.contains("sk-1") && !shown.contains("diary"), "{shown}");
}

#[test]
fn every_request_is_counted_also_those_that_only_taught_the_form() {
    let first = FaultServer::start(|_, request: &ReceivedRequest| {
        match request.body.get("response_format") {
            Some(_) => refuses(400, "no response_format"),
            None => ScriptedAct::Json(200, "{}".into()),
        }
    });
    let second = FaultServer::script(vec![says(&"{}".into())]);
    let mut both = settings(&first);
    both.fallback = Some(Box::new(settings(&second)));
    let model = OpenAiModel::with_timer(both, Arc::new(VirtualTimer::default())).unwrap();
    assert_eq!(model.complete_prompt(&prompt(), &Uninterrupted).unwrap().attempts, 5);
    assert_eq!(
        model.service_health().format,
        "json_schema",
        "a form is kept once it brought an answer"
    );
}

#[test]
fn a_stop_is_no_reason_for_the_fallback() {
    let (first, second) = (
        FaultServer::script(vec![ScriptedAct::Endless]),
        FaultServer::script(vec![says(&"{}".into())]),
    );
    let mut both = settings(&first);
    both.fallback = Some(Box::new(settings(&second)));
    let flag = CancelFlag::default();
    flag.cancel();
    let error =
        OpenAiModel::new(both).unwrap().complete_prompt(&prompt(), &flag).unwrap_err().error;
    assert_eq!(error.kind(), ErrorKind::Interrupted);
    assert!(second.requests().is_empty());
}

fn answered(reply: Value) -> String {
    let server = FaultServer::script(vec![ScriptedAct::Json(200, reply.to_string())]);
    model(&server).complete_prompt(&prompt_for("title"), &Uninterrupted).unwrap().text
}

fn prompt_for(key: &str) -> ChatPrompt {
    let schema = json!({"type": "object", "required": [key]});
    ChatPrompt { schema: AnswerSchema { name: "episode", schema }, max_tokens: 5_000, ..prompt() }
}

#[test]
fn an_answer_is_found_wherever_a_server_puts_it() {
    let text = r#"{"title": "A"}"#;
    let message = |message: Value| json!({"choices": [{"message": message}]});
    for reply in [
        message(json!({"content": text, "reasoning_content": "{\"title\": \"no\"}"})),
        message(json!({"content": null, "reasoning_content": text})),
        message(json!({"content": "", "reasoning": text})),
        message(json!({"tool_calls": [{"function": {"name": "json", "arguments": text}}]})),
        message(json!({"tool_calls": [{"function": {"arguments": {"title": "A"}}}]})),
        json!({"choices": [{"text": text}]}),
        json!({"message": {"role": "assistant", "content": text}, "done": true}),
    ] {
        let answer = answered(reply.clone());
        let read = crate::llm::json::object_with(&answer, &["title"]).expect("an object");
        assert_eq!(read.value["title"], "A", "{reply}");
    }
    // Reasoning without an answer is no answer.
    let server = FaultServer::start(|_, _| {
        let message = json!({"content": "<think> hm", "reasoning_content": "I think so"});
        ScriptedAct::Json(200, json!({"choices": [{"message": message}]}).to_string())
    });
    let failure = model(&server).complete_prompt(&prompt_for("title"), &Uninterrupted).unwrap_err();
    assert!(failure.silent && !failure.refused);
    assert_eq!(server.requests().len(), 2, "an empty answer is asked for once more");
}

#[test]
fn a_stream_and_a_mark_of_byte_order_are_read() {
    let stream = "data: {\"choices\":[{\"delta\":{\"content\":\"{\\\"a\\\"\"}}]}\n\n\
        data: {\"choices\":[{\"delta\":{\"content\":\":1}\"},\"finish_reason\":\"stop\"}]}\n\n\
        data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":2}}\n\n\
        data: [DONE]\n\n";
    let marked = format!("\u{feff}{}", json!({"choices": [{"message": {"content": "{\"a\":1}"}}]}));
    let server = FaultServer::script(vec![
        ScriptedAct::Json(200, stream.to_owned()),
        ScriptedAct::Json(200, marked),
    ]);
    let model = model(&server);
    let answer = model.complete_prompt(&prompt(), &Uninterrupted).unwrap();
    assert_eq!((answer.text.as_str(), answer.prompt_tokens), ("{\"a\":1}", 5));
    assert_eq!(model.complete_prompt(&prompt(), &Uninterrupted).unwrap().text, "{\"a\":1}");
}

#[test]
fn what_a_server_does_not_take_is_learned_from_its_words() {
    let server = FaultServer::start(|_, request: &ReceivedRequest| {
        let body = &request.body;
        let most = body["max_tokens"].as_u64().unwrap_or(0);
        if body["messages"][0]["role"] == "system" {
            return refuses(400, "System role not supported");
        }
        if body.get("stream").is_none() {
            return refuses(400, "This model only support stream mode");
        }
        if most > 4_096 {
            let words = "max_tokens is too large: 5000. This model supports at most 4096 \
                completion tokens, whereas you provided 5000.";
            return refuses(400, words);
        }
        if most > 1_500 {
            let words = "This model's maximum context length is 2048 tokens. However, you \
                requested 4600 tokens (504 in the messages, 4096 in the completion).";
            return refuses(400, words);
        }
        says(&"{}".into())
    });
    let model = model(&server);
    let first = model.complete_prompt(&prompt_for("title"), &Uninterrupted).unwrap();
    assert_eq!((first.text.as_str(), model.context_window()), ("{}", Some(2_048)));
    let asked = server.requests().len();
    model.complete_prompt(&prompt_for("title"), &Uninterrupted).unwrap();
    assert_eq!(server.requests().len(), asked + 1, "it is kept");
    let user = server.requests()[asked].body["messages"][0]["content"].as_str().unwrap().to_owned();
    assert!(user.starts_with("Write it down.") && user.ends_with("the secret diary"), "{user}");
}

#[test]
fn a_prompt_that_was_cut_in_silence_is_said_so() {
    let server = FaultServer::start(|_, _| {
        let usage = json!({"prompt_tokens": 2048, "completion_tokens": 3});
        let reply = json!({"choices": [{"message": {"content": "{}"}}], "usage": usage});
        ScriptedAct::Json(200, reply.to_string())
    });
    let model = model(&server);
    let long = ChatPrompt { user: "one two three four ".repeat(1_000), ..prompt() };
    let failure = model.complete_prompt(&long, &Uninterrupted).unwrap_err();
    assert!(failure.error.to_string().contains("num_ctx"), "{}", failure.error);
    assert_eq!(model.context_window(), Some(2_048), "the next prompts are shorter");
    assert!(model.complete_prompt(&prompt(), &Uninterrupted).is_ok());
}

#[test]
fn refused_is_only_what_a_server_calls_a_refusal() {
    for (status, words, refused) in [
        (400, "blocked by the content_filter", true),
        (400, "maximum context length", true),
        (400, "", false),
        (422, "a field is missing", false),
        (401, "policy", false),
    ] {
        let server = FaultServer::script(vec![refuses(status, words)]);
        let failure = model(&server).complete_prompt(&prompt(), &Uninterrupted).unwrap_err();
        assert_eq!(failure.refused, refused, "{words}");
    }
}
