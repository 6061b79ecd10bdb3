//! The settings of a compile that its metrics hold, without folders, which differ from machine to machine.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::format::payload::md5;
use crate::format::{json, strict};

/// Fields of the metrics that hold settings, and what they are called here.
pub(super) const FIELDS: &[(&str, &str)] = &[
    ("dynamo_config", "dynamo"),
    ("inductor_config", "inductor"),
    ("functorch_config", "functorch"),
    ("compiler_config", "compiler"),
];

/// The settings in a field: JSON inside a string. `None` where it is no JSON object.
pub(super) fn settings(text: &[u8]) -> Option<BTreeMap<String, Value>> {
    let outer = json::unescape(text);
    let text = outer.as_deref().map_or(text, str::as_bytes);
    let value: Value = serde_json::from_slice(&strict::to_strict(text)).ok()?;
    let Value::Object(members) = value else { return None };
    Some(members.into_iter().collect())
}

/// Whether a value is a folder or a file, or a list or an object of nothing else.
pub(super) fn is_path(value: &Value) -> bool {
    match value {
        Value::String(text) => text.starts_with('/') || text.contains("://"),
        Value::Array(all) => all.iter().any(is_path) && all.iter().all(|value| value.is_null() || is_path(value)),
        Value::Object(all) => all.values().any(is_path) && all.values().all(|value| value.is_null() || is_path(value)),
        _ => false,
    }
}

/// MD5 of the settings but for paths; of the text where it is no JSON object.
pub(super) fn digest(text: &[u8]) -> [u8; 16] {
    let Some(mut settings) = settings(text) else { return md5(text) };
    settings.retain(|_, value| !is_path(value));
    md5(serde_json::to_string(&settings).unwrap_or_default().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_and_order_do_not_count() {
        let of = |text: &str| digest(text.as_bytes());
        assert_eq!(of(r#""{\"a\": 1, \"dir\": \"/x\"}""#), of(r#"{"dir": "/y", "a": 1}"#));
        assert_ne!(of(r#"{"a": 1}"#), of(r#"{"a": 2}"#));
        assert_ne!(of("\"no JSON\""), of("\"other\""));
    }
}
