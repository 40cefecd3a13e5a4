//! Hides or refuses secrets in a caller's messages before anything is written.

use serde_json::value::RawValue;

use crate::config::SecretPolicy;
use crate::error::{Error, Result};
use crate::model::NewMessage;
use crate::text::secrets::{find_secrets, masked_text};

/// The role of a tool's output.
const TOOL: &str = "tool";

/// Masks the secrets of messages, in their texts and their metadata, as their policies or the
/// policy of the configuration say. Returns the number of secrets masked.
///
/// # Errors
/// `InvalidInput` with the number of the message, the kind of its secret and the place; never with
/// the secret.
pub(crate) fn hide_secrets(config: SecretPolicy, messages: &mut [NewMessage]) -> Result<usize> {
    let mut hidden = 0;
    for (number, message) in messages.iter_mut().enumerate() {
        match effective_policy(config, message) {
            SecretPolicy::Auto | SecretPolicy::Keep => {}
            SecretPolicy::Refuse => refuse_secrets(number, message)?,
            SecretPolicy::Mask => hidden += mask_message(message),
        }
    }
    Ok(hidden)
}

fn effective_policy(config: SecretPolicy, message: &NewMessage) -> SecretPolicy {
    match message.secrets.unwrap_or(config) {
        SecretPolicy::Auto if message.role.trim().eq_ignore_ascii_case(TOOL) => SecretPolicy::Mask,
        policy => policy,
    }
}

fn mask_message(message: &mut NewMessage) -> usize {
    let mut hidden = 0;
    if let Some((text, found)) = masked_text(&message.content) {
        message.content = text;
        hidden += found;
    }
    if let Some((text, found)) = message.metadata.as_ref().and_then(|raw| masked_text(raw.get())) {
        // A secret in JSON ends before the quotation mark, so the rest stays JSON; a number does
        // not, and becomes a text.
        let raw = RawValue::from_string(text).or_else(|_| {
            let numbers = masked_numbers(message)?;
            masked_text(numbers.get()).map_or(Ok(numbers), |(text, _)| RawValue::from_string(text))
        });
        if let Ok(raw) = raw {
            message.metadata = Some(raw);
            hidden += found;
        }
    }
    hidden
}

/// The metadata with each text and number masked by itself, without regard to its name.
fn masked_numbers(message: &NewMessage) -> serde_json::Result<Box<RawValue>> {
    let raw = message.metadata.as_ref().map_or("null", |raw| raw.get());
    let mut value: serde_json::Value = serde_json::from_str(raw)?;
    mask_values(&mut value);
    serde_json::value::to_raw_value(&value)
}

fn mask_values(value: &mut serde_json::Value) {
    use serde_json::Value::{Array, Number, Object, String};
    let text = match value {
        String(text) => masked_text(text),
        Number(number) => masked_text(&number.to_string()),
        Array(items) => return items.iter_mut().for_each(mask_values),
        Object(fields) => return fields.values_mut().for_each(mask_values),
        _ => None,
    };
    if let Some((text, _)) = text {
        *value = String(text);
    }
}

fn refuse_secrets(number: usize, message: &NewMessage) -> Result<()> {
    let metadata = message.metadata.as_ref().map_or("", |raw| raw.get());
    for (field, text) in [("content", message.content.as_str()), ("metadata", metadata)] {
        if let Some(secret) = find_secrets(text).first() {
            let place = text[..secret.start].chars().count() + 1;
            return Err(Error::invalid(format!(
                "message {number}: `{field}` holds a secret, `{}`, at character {place}",
                secret.kind
            ))
            .with_hint("leave it out, or pass secrets=\"mask\""));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "AKIAQYLPMN5HHHFPZAM2";

    fn message(role: &str, content: &str, metadata: &str) -> NewMessage {
        NewMessage {
            role: role.to_owned(),
            content: content.to_owned(),
            metadata: Some(RawValue::from_string(metadata.to_owned()).unwrap()),
            ..NewMessage::default()
        }
    }

    #[test]
    fn secrets_are_masked_by_role_policy_and_place() {
        let text = format!("the key is {KEY}");
        let metadata = format!(r#"{{"args":{{"key":"{KEY}"}},"card":4111111111111111}}"#);
        let stored = |role: &str, own, config| {
            let mut messages = [NewMessage { secrets: own, ..message(role, &text, &metadata) }];
            let hidden = hide_secrets(config, &mut messages).unwrap();
            (hidden, messages[0].content.clone(), messages[0].metadata.take().unwrap())
        };
        for (role, own, config, hides) in [
            ("user", None, SecretPolicy::Auto, false),
            ("assistant", None, SecretPolicy::Auto, false),
            ("tool", None, SecretPolicy::Auto, true),
            ("tool", None, SecretPolicy::Keep, false),
            ("tool", Some(SecretPolicy::Keep), SecretPolicy::Mask, false),
            ("user", Some(SecretPolicy::Mask), SecretPolicy::Keep, true),
            ("user", None, SecretPolicy::Mask, true),
        ] {
            let (hidden, content, metadata) = stored(role, own, config);
            assert_eq!(content.contains(KEY), !hides, "{role} {own:?} {config:?}");
            assert_eq!(metadata.get().contains(KEY), !hides);
            assert_eq!(metadata.get().contains("4111111111111111"), !hides);
            assert_eq!(hidden, if hides { 3 } else { 0 });
        }
        let (_, content, metadata) = stored("tool", None, SecretPolicy::Auto);
        assert_eq!(content, "the key is [secret: aws access key]");
        let metadata: serde_json::Value = serde_json::from_str(metadata.get()).unwrap();
        assert_eq!(metadata["card"], "[secret: card number]");
    }

    #[test]
    fn refusals_name_the_place_and_not_the_secret() {
        let mut messages =
            [message("user", "hi", "{}"), message("user", &format!("é {KEY}"), "{}")];
        let error = hide_secrets(SecretPolicy::Refuse, &mut messages).unwrap_err().to_string();
        assert!(
            error.starts_with(
                "message 1: `content` holds a secret, `aws access key`, at character 3"
            )
        );
        assert!(!error.contains(KEY));
        let mut messages = [message("user", "hi", &format!(r#"{{"k":"{KEY}"}}"#))];
        let error = hide_secrets(SecretPolicy::Refuse, &mut messages).unwrap_err().to_string();
        assert!(error.contains("`metadata`") && !error.contains(KEY));
    }
}
