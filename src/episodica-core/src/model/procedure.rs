//! A procedure: an agent's goal, its steps and their outcome.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Key of a procedure in the metadata of its fact.
pub const PROCEDURE: &str = "procedure";

/// Number of characters that the text of a procedure shows of the goal, of the outcome and of each
/// part of a step. The metadata has them whole.
const SHOWN_CHARS: usize = 200;

/// One action of an agent, verbatim.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcedureStep {
    /// The action, such as the name of a tool.
    pub action: String,
    /// Arguments of the action: any JSON.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub arguments: Value,
    /// Result of the action: any JSON.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub result: Value,
    /// Error of the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// How an agent pursued a goal, verbatim.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Procedure {
    /// The goal.
    pub goal: String,
    /// The steps, in order.
    #[serde(default)]
    pub steps: Vec<ProcedureStep>,
    /// The outcome, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// True if the goal was reached; `None` = unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worked: Option<bool>,
}

impl Procedure {
    /// The procedure on one line, as it is searched and shown: goal, outcome, then the steps, each
    /// shortened.
    pub fn text(&self) -> String {
        let mut text = one_line(&self.goal);
        text.push_str(match self.worked {
            Some(true) => " [worked]",
            Some(false) => " [failed]",
            None => "",
        });
        if let Some(outcome) = &self.outcome {
            text.push_str(": ");
            text.push_str(&one_line(outcome));
        }
        for (number, step) in (1..).zip(&self.steps) {
            text.push_str(&format!(" {number}. {}", one_line(&step.action)));
            if !step.arguments.is_null() {
                text.push_str(&format!("({})", one_line(&plain_value(&step.arguments))));
            }
            if !step.result.is_null() {
                text.push_str(&format!(" -> {}", one_line(&plain_value(&step.result))));
            }
            if let Some(error) = &step.error {
                text.push_str(&format!(" -> error: {}", one_line(error)));
            }
            text.push(';');
        }
        text.strip_suffix(';').map(str::to_owned).unwrap_or(text)
    }

    /// True if a step failed.
    pub fn has_errors(&self) -> bool {
        self.steps.iter().any(|step| step.error.is_some())
    }
}

/// A text as it stands, any other value as JSON.
fn plain_value(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The text on one line, shortened.
fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_text_has_goal_outcome_and_steps_on_one_line() {
        let procedure: Procedure = serde_json::from_value(json!({
            "goal": "Deploy the site\nto staging",
            "steps": [
                {"action": "run_tests", "arguments": {"path": "tests"}, "result": "12 passed"},
                {"action": "deploy", "error": "no route to host"},
            ],
            "outcome": "The site is down.",
            "worked": false,
        }))
        .unwrap();
        assert_eq!(
            procedure.text(),
            "Deploy the site to staging [failed]: The site is down. \
             1. run_tests({\"path\":\"tests\"}) -> 12 passed; 2. deploy -> error: no route to host"
        );
        assert!(procedure.has_errors());
        let long = Procedure { goal: "é".repeat(500), ..Procedure::default() };
        assert_eq!(long.text().chars().count(), SHOWN_CHARS + 1);
    }
}
