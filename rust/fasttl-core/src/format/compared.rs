//! Artifacts that ranks are compared by: what they look like, and where one is otherwise than PyTorch writes it.

use super::json::{self, Scanner, ValueKind};

/// The operators of an `inductor_collective_schedule`, `None` for one without a name; `None` where the text is
/// anything but a list of these.
pub fn operators(text: &[u8]) -> Option<Vec<Option<String>>> {
    json::only_value(text).ok()?;
    let operator = |value: &[u8]| if value == b"null" { Some(None) } else { json::unescape(value).map(Some) };
    json::elements(text)?.map(operator).collect()
}

/// What is wrong with the artifact `name`; `None` where nothing is, or no rank is compared by it.
///
/// ```
/// use fasttl_core::format::compared::fault;
///
/// assert_eq!(fault("graph_execution", br#"{"graph_execution_order": [{"compile_id": null}]}"#), None);
/// assert_eq!(fault("inductor_collective_schedule", b"[1]"), Some("it is no list of operators"));
/// ```
pub fn fault(name: &str, text: &[u8]) -> Option<&'static str> {
    match name {
        "inductor_collective_schedule" => operators(text).is_none().then_some("it is no list of operators"),
        "inductor_runtime_and_tensor_meta" => in_list(text, b"ops", "it has no list of operations", operation),
        "graph_execution" => in_list(text, b"graph_execution_order", "it has no list of graphs", run),
        _ => None,
    }
}

/// The first fault in the list that is the member `key`.
fn in_list(
    text: &[u8],
    key: &[u8],
    missing: &'static str,
    each: fn(&[u8]) -> Option<&'static str>,
) -> Option<&'static str> {
    let list = json::only_value(text).ok().and_then(|_| json::member(text, key)).and_then(json::elements);
    match list {
        Some(mut list) => list.find_map(each),
        None => Some(missing),
    }
}

fn operation(op: &[u8]) -> Option<&'static str> {
    if kind(op) != Some(ValueKind::Object) {
        Some("an operation is no object")
    } else if json::member(op, b"estimated_runtime_ns").and_then(kind) != Some(ValueKind::Number) {
        Some("an estimate is no number")
    } else if json::member(op, b"outputs").and_then(kind) != Some(ValueKind::Array) {
        Some("the outputs of an operation are no list")
    } else {
        None
    }
}

fn run(run: &[u8]) -> Option<&'static str> {
    match json::member(run, b"compile_id") {
        Some(id) if id == b"null" || kind(id) == Some(ValueKind::String) => None,
        _ => Some("a graph has no compile id"),
    }
}

fn kind(value: &[u8]) -> Option<ValueKind> {
    Scanner::new(value).kind().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_texts_or_without_a_name() {
        assert_eq!(operators(br#" ["a", null] "#).unwrap(), [Some("a".to_owned()), None]);
        assert_eq!(operators(b"[]").unwrap(), []);
        for text in [r#"{"a": 1}"#, "null", "", "[NaN]", r#"["a", {}]"#, r#"["a""#, r#"["a"] x"#, r#""a""#] {
            assert_eq!(operators(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn what_pytorch_writes_has_no_fault() {
        let meta = br#"{"ops": [{"name": null, "type": "compute", "estimated_runtime_ns": NaN, "outputs": []}]}"#;
        assert_eq!(fault("inductor_runtime_and_tensor_meta", meta), None);
        assert_eq!(fault("inductor_runtime_and_tensor_meta", br#"{"ops": []}"#), None);
        assert_eq!(fault("graph_execution", br#"{"graph_execution_order": [{"compile_id": "0/0"}]}"#), None);
        assert_eq!(fault("another", b"no JSON"), None);
    }

    #[test]
    fn faults_are_told_apart() {
        let ops = |op: &str| {
            let text = format!(r#"{{"ops": [{{"estimated_runtime_ns": 1.5, "outputs": []}}, {op}]}}"#);
            fault("inductor_runtime_and_tensor_meta", text.as_bytes())
        };
        assert_eq!(ops("3"), Some("an operation is no object"));
        assert_eq!(ops(r#"{"estimated_runtime_ns": "1", "outputs": []}"#), Some("an estimate is no number"));
        assert_eq!(ops(r#"{"outputs": []}"#), Some("an estimate is no number"));
        let none = Some("the outputs of an operation are no list");
        assert_eq!(ops(r#"{"estimated_runtime_ns": 1, "outputs": {}}"#), none);
        assert_eq!(ops(r#"{"estimated_runtime_ns": 1}"#), none);
        for text in ["", "[]", "null", r#"{"ops": {}}"#, r#"{"ops": []"#] {
            let found = fault("inductor_runtime_and_tensor_meta", text.as_bytes());
            assert_eq!(found, Some("it has no list of operations"), "{text}");
        }
        for run in ["3", "{}", r#"{"compile_id": 3}"#] {
            let text = format!(r#"{{"graph_execution_order": [{run}]}}"#);
            assert_eq!(fault("graph_execution", text.as_bytes()), Some("a graph has no compile id"), "{run}");
        }
    }
}
