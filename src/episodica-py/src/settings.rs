//! Converts the tables of settings to Python values.

use episodica_core::config::{SettingKind, SettingRow};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::records::json_value;

/// One dictionary per setting.
pub(crate) fn setting_table(
    py: Python<'_>,
    settings: Vec<SettingRow>,
) -> PyResult<Vec<Bound<'_, PyDict>>> {
    settings.into_iter().map(|setting| setting_row(py, &setting)).collect()
}

fn setting_row<'py>(py: Python<'py>, setting: &SettingRow) -> PyResult<Bound<'py, PyDict>> {
    let SettingRow { name, kind, default, bounds, documentation } = setting;
    let (kind, choices) = match kind {
        SettingKind::Boolean => ("boolean", None),
        SettingKind::Integer => ("integer", None),
        SettingKind::Number => ("number", None),
        SettingKind::Numbers(_) => ("numbers", None),
        SettingKind::Text => ("text", None),
        SettingKind::Choice(words) => ("choice", Some(words.to_vec())),
    };
    let row = PyDict::new(py);
    row.set_item("name", name)?;
    row.set_item("kind", kind)?;
    row.set_item("default", json_value(py, default)?)?;
    row.set_item("minimum", bounds.minimum)?;
    row.set_item("above", bounds.above)?;
    row.set_item("maximum", bounds.maximum)?;
    row.set_item("allowed", bounds.in_words())?;
    row.set_item("choices", choices)?;
    row.set_item("documentation", documentation)?;
    Ok(row)
}
