//! A Python callable as a language model. `episodica.models` interprets its return value; this
//! module only calls it.

use std::time::Instant;

use episodica_core::ErrorKind;
use episodica_core::control::CallControl;
use episodica_core::llm::{ChatAnswer, ChatPrompt, LanguageModel, NoAnswer};
use episodica_core::model::ServiceHealth;
use episodica_core::text::count_tokens;
use pyo3::prelude::*;

use crate::calls::CallCounts;
use crate::errors;
use crate::leaving::call_function;

/// Calls `ask(system, user, schema_name, schema_json, max_tokens)`, which returns text, prompt
/// tokens and completion tokens (both `None` if not counted).
pub(crate) struct CallableModel {
    ask: Py<PyAny>,
    model: String,
    calls: CallCounts,
}

type Returned = (String, Option<[u64; 4]>);

impl CallableModel {
    pub(crate) fn new(ask: Py<PyAny>, model: String) -> Self {
        Self { ask, model, calls: CallCounts::default() }
    }
}

impl LanguageModel for CallableModel {
    fn model_name(&self) -> &str {
        &self.model
    }

    fn complete_prompt(
        &self,
        prompt: &ChatPrompt,
        control: &dyn CallControl,
    ) -> Result<ChatAnswer, Box<NoAnswer>> {
        control.check()?;
        let started = Instant::now();
        let arguments = (
            &prompt.system,
            &prompt.user,
            prompt.schema.name,
            prompt.schema.schema.to_string(),
            prompt.max_tokens,
        );
        let returned = Python::attach(|py| {
            call_function(self.ask.bind(py), &arguments.into_pyobject(py)?)?.extract::<Returned>()
        });
        let (text, counted) = self.calls.count_outcome(returned).map_err(|error| {
            errors::from_python(ErrorKind::Llm, "the llm callable failed", &error)
        })?;
        let [prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens] = counted
            .unwrap_or_else(|| {
                let sent = count_tokens(&prompt.system) + count_tokens(&prompt.user);
                [sent as u64, count_tokens(&text) as u64, 0, 0]
            });
        Ok(ChatAnswer {
            text,
            model: self.model.clone(),
            prompt_tokens,
            completion_tokens,
            cached_tokens,
            reasoning_tokens,
            counted_locally: counted.is_none(),
            attempts: 1,
            seconds: started.elapsed().as_secs_f64(),
        })
    }

    fn service_health(&self) -> ServiceHealth {
        self.calls.service_health(&self.model)
    }
}
