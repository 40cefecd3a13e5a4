//! One setting: name, type, default, bounds and documentation, defined once in a table.
//!
//! [`settings!`] generates a struct from such a table. The Python package reads the same table and
//! derives its checks, its class and its reference page from it.

use serde_json::{Value, json};

use super::choices::{BoundaryMode, LearnFrom, RetrievalPreset, SecretPolicy};
use crate::error::{Error, ErrorKind, Result};

/// One row of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct SettingRow {
    /// Name of the field.
    pub name: &'static str,
    /// Type of the value.
    pub kind: SettingKind,
    /// The default.
    pub default: Value,
    /// The allowed numbers.
    pub bounds: NumberBounds,
    /// Its documentation.
    pub documentation: String,
}

/// The type of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingKind {
    /// `true` or `false`.
    Boolean,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// A list of this many numbers.
    Numbers(usize),
    /// Any text, or none.
    Text,
    /// One of these words.
    Choice(&'static [&'static str]),
}

/// The allowed numbers; without a limit, all finite ones.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct NumberBounds {
    /// Smallest allowed value.
    pub minimum: Option<f64>,
    /// Allowed values are larger than this.
    pub above: Option<f64>,
    /// Largest allowed value.
    pub maximum: Option<f64>,
}

impl NumberBounds {
    pub(crate) const fn at_least(minimum: f64) -> Self {
        Self { minimum: Some(minimum), above: None, maximum: None }
    }

    pub(crate) const fn above(limit: f64) -> Self {
        Self { minimum: None, above: Some(limit), maximum: None }
    }

    pub(crate) const fn between(minimum: f64, maximum: f64) -> Self {
        Self { minimum: Some(minimum), above: None, maximum: Some(maximum) }
    }

    /// Any finite number.
    pub(crate) const fn any() -> Self {
        Self { minimum: None, above: None, maximum: None }
    }

    fn contains_value(&self, value: f64) -> bool {
        value.is_finite()
            && self.minimum.is_none_or(|minimum| value >= minimum)
            && self.above.is_none_or(|above| value > above)
            && self.maximum.is_none_or(|maximum| value <= maximum)
    }

    /// The allowed values, as the rest of a sentence: `between 0 and 1`.
    pub fn in_words(&self) -> String {
        match (self.minimum, self.above, self.maximum) {
            (Some(minimum), _, Some(maximum)) => format!("between {minimum} and {maximum}"),
            (Some(minimum), _, None) => format!("at least {minimum}"),
            (None, Some(above), _) => format!("above {above}"),
            (None, None, Some(maximum)) => format!("at most {maximum}"),
            (None, None, None) => "a finite number".to_owned(),
        }
    }

    /// Checks one value of a setting.
    ///
    /// # Errors
    /// `Config`, naming the setting, its bounds and the value.
    pub fn check_value(&self, name: &str, value: f64, shown: impl std::fmt::Display) -> Result<()> {
        if self.contains_value(value) {
            return Ok(());
        }
        let allowed = if value.is_finite() { self.in_words() } else { Self::any().in_words() };
        let text = format!("{name} must be {allowed}: `{shown}`");
        Err(Error::new(ErrorKind::Config, text))
    }
}

/// A type that a setting can have.
pub(crate) trait SettingValue {
    /// The type in the table.
    const KIND: SettingKind;

    /// The value as JSON, with the digits of its own precision only.
    fn to_json(&self) -> Value;

    /// The numbers to which the bounds apply.
    fn bounded_numbers(&self) -> Vec<f64> {
        Vec::new()
    }
}

impl SettingValue for bool {
    const KIND: SettingKind = SettingKind::Boolean;

    fn to_json(&self) -> Value {
        json!(self)
    }
}

impl SettingValue for usize {
    const KIND: SettingKind = SettingKind::Integer;

    fn to_json(&self) -> Value {
        json!(self)
    }

    fn bounded_numbers(&self) -> Vec<f64> {
        vec![*self as f64]
    }
}

impl SettingValue for u32 {
    const KIND: SettingKind = SettingKind::Integer;

    fn to_json(&self) -> Value {
        json!(self)
    }

    fn bounded_numbers(&self) -> Vec<f64> {
        vec![f64::from(*self)]
    }
}

impl SettingValue for f64 {
    const KIND: SettingKind = SettingKind::Number;

    fn to_json(&self) -> Value {
        json!(self)
    }

    fn bounded_numbers(&self) -> Vec<f64> {
        vec![*self]
    }
}

impl SettingValue for f32 {
    const KIND: SettingKind = SettingKind::Number;

    fn to_json(&self) -> Value {
        json!(own_digits(*self))
    }

    fn bounded_numbers(&self) -> Vec<f64> {
        vec![own_digits(*self)]
    }
}

impl<const N: usize> SettingValue for [f32; N] {
    const KIND: SettingKind = SettingKind::Numbers(N);

    fn to_json(&self) -> Value {
        self.iter().map(|value| own_digits(*value)).collect()
    }

    fn bounded_numbers(&self) -> Vec<f64> {
        self.iter().map(|value| own_digits(*value)).collect()
    }
}

impl SettingValue for Option<String> {
    const KIND: SettingKind = SettingKind::Text;

    fn to_json(&self) -> Value {
        json!(self)
    }
}

impl SettingValue for BoundaryMode {
    const KIND: SettingKind = SettingKind::Choice(Self::NAMES);

    fn to_json(&self) -> Value {
        json!(self)
    }
}

impl SettingValue for LearnFrom {
    const KIND: SettingKind = SettingKind::Choice(Self::NAMES);

    fn to_json(&self) -> Value {
        json!(self)
    }
}

impl SettingValue for SecretPolicy {
    const KIND: SettingKind = SettingKind::Choice(Self::NAMES);

    fn to_json(&self) -> Value {
        json!(self)
    }
}

impl SettingValue for RetrievalPreset {
    const KIND: SettingKind = SettingKind::Choice(Self::NAMES);

    fn to_json(&self) -> Value {
        json!(self)
    }
}

/// The number with the digits of single precision: 0.8 instead of 0.800000011920929.
fn own_digits(value: f32) -> f64 {
    value.to_string().parse().unwrap_or(f64::NAN)
}

/// Defines a struct of settings from a table: one line per setting with type, default and bounds,
/// and its documentation above it.
macro_rules! settings {
    (
        $(#[$attribute:meta])*
        pub struct $config:ident {
            $($(#[doc = $line:literal])+ $name:ident: $type:ty = $default:expr, $bounds:expr;)+
        }
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $config {
            $($(#[doc = $line])+ pub $name: $type,)+
        }

        impl Default for $config {
            fn default() -> Self {
                Self { $($name: $default,)+ }
            }
        }

        impl $config {
            /// The table of all settings, in order.
            pub fn schema() -> Vec<$crate::config::SettingRow> {
                use $crate::config::setting::SettingValue;
                let default = Self::default();
                vec![$($crate::config::SettingRow {
                    name: stringify!($name),
                    kind: <$type>::KIND,
                    default: default.$name.to_json(),
                    bounds: $bounds,
                    documentation: [$($line),+].map(str::trim).join(" "),
                },)+]
            }

            /// Checks the bounds of each setting.
            fn check_bounds(&self) -> $crate::error::Result<()> {
                use $crate::config::setting::SettingValue;
                $(for value in self.$name.bounded_numbers() {
                    $bounds.check_value(stringify!($name), value, value)?;
                })+
                Ok(())
            }
        }
    };
}
pub(crate) use settings;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_told_in_words() {
        let said = |bounds: NumberBounds, value: f64| {
            bounds.check_value("x", value, value).map_err(|error| error.to_string())
        };
        assert_eq!(said(NumberBounds::between(0.0, 1.0), 1.0), Ok(()));
        let wrong = Err("x must be between 0 and 1: `1.5`".to_owned());
        assert_eq!(said(NumberBounds::between(0.0, 1.0), 1.5), wrong);
        assert_eq!(said(NumberBounds::above(0.0), 0.0), Err("x must be above 0: `0`".to_owned()));
        assert_eq!(
            said(NumberBounds::at_least(1.0), 0.0),
            Err("x must be at least 1: `0`".to_owned())
        );
        let endless = Err("x must be a finite number: `inf`".to_owned());
        assert_eq!(said(NumberBounds::any(), f64::INFINITY), endless);
    }
}
