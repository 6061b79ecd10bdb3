//! Reasons of a recompile: which guard of which compiled entry turned a call away.
//!
//! PyTorch writes them in `torch/_dynamo/guards.py`: the artifact `recompile_reasons` is a JSON list of texts, or since
//! 2.11 the bare text where there is one. A text is `<entry>: <reason>; <reason>…`, and each reason is a condition with
//! the user's line behind `#`, or a sentence of the tensor check in `torch/csrc/dynamo/guards.cpp`.

use super::code_place::{CodePlace, traceback};
use super::compile_id::CompileId;
use super::guards::comment;
use super::json;
use super::python::{Unclosed, expression_before, opens_string, outside_of_strings};

/// What kind of thing was other than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cause {
    /// Size of a dimension.
    Size,
    /// Stride of a dimension.
    Stride,
    /// Number of dimensions.
    Dimensions,
    /// Type of a tensor's elements.
    Dtype,
    /// Device of a tensor.
    Device,
    /// Whether a tensor wants a gradient.
    RequiresGrad,
    /// Kind of tensor otherwise: its dispatch keys, its layout, its class.
    TensorKind,
    /// A floating-point number.
    Float,
    /// An integer.
    Integer,
    /// Another constant: text, truth value, None.
    Constant,
    /// A global variable of the program.
    Global,
    /// Which object a name stands for.
    ObjectId,
    /// Class of an object.
    Type,
    /// Length or keys of a container.
    Container,
    /// Whether an object has an attribute.
    Attribute,
    /// Whether two names stand for one tensor.
    Aliasing,
    /// Whether gradients are recorded.
    GradMode,
    /// Another setting of PyTorch: autocast, default type, number of threads and so on.
    GlobalState,
    /// The backend that was asked for.
    Backend,
    /// The recompile limit, where nothing else is said.
    Limit,
    /// Anything else.
    Other,
}

impl Cause {
    /// Name in the tables and on pages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Size => "size",
            Self::Stride => "stride",
            Self::Dimensions => "dimensions",
            Self::Dtype => "dtype",
            Self::Device => "device",
            Self::RequiresGrad => "requires grad",
            Self::TensorKind => "tensor kind",
            Self::Float => "float",
            Self::Integer => "integer",
            Self::Constant => "constant",
            Self::Global => "global",
            Self::ObjectId => "object id",
            Self::Type => "type",
            Self::Container => "container",
            Self::Attribute => "attribute",
            Self::Aliasing => "aliasing",
            Self::GradMode => "grad mode",
            Self::GlobalState => "global state",
            Self::Backend => "backend",
            Self::Limit => "limit",
            Self::Other => "other",
        }
    }
}

/// One guard that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The compiled entry that turned the call away; `None` where the text does not begin with one.
    pub entry: Option<CompileId>,
    /// The condition, without what the user's line adds.
    pub guard: String,
    /// What kind of thing was other.
    pub cause: Cause,
    /// How user code reaches what was other, such as `x` or `self.depth`.
    pub source: Option<String>,
    /// Which dimension, from 0.
    pub dimension: Option<u32>,
    /// What the entry wants.
    pub expected: Option<String>,
    /// What the call had.
    pub actual: Option<String>,
    /// The user's source line that the guard is for.
    pub code: Option<String>,
    /// Where that is.
    pub place: Option<CodePlace>,
    /// What PyTorch adds for the user.
    pub hint: Option<String>,
    /// The condition with ids, numbers and compared values blanked: equal for reasons of one pattern.
    pub pattern: String,
}

/// The texts of a `recompile_reasons` payload, newest entry first.
pub fn texts(payload: &[u8]) -> Vec<String> {
    let text = |value: &[u8]| json::unescape(value).unwrap_or_else(|| String::from_utf8_lossy(value).into_owned());
    match json::only_value(payload) {
        Ok((list, _)) if payload.get(list.start) == Some(&b'[') => {
            payload.get(list).and_then(json::elements).map(|list| list.map(text).collect()).unwrap_or_default()
        }
        _ => vec![text(payload)],
    }
}

/// The guards that one text names.
pub fn reasons(text: &str) -> Vec<Reason> {
    let (entry, rest) = match text.split_once(": ") {
        Some((id, rest)) if !id.contains(' ') => match CompileId::parse(id) {
            Some(id) => (Some(id), rest),
            None => (None, text),
        },
        _ => (None, text),
    };
    let (rest, stack) = match rest.split_once("\nUser stack trace:\n") {
        Some((rest, stack)) => (rest, traceback(stack)),
        None => (rest, Vec::new()),
    };
    let mut found: Vec<Reason> = split(rest).into_iter().map(|part| reason(entry, part)).collect();
    // The stack belongs to the reason that it stands behind, and names the file in full.
    if let Some((place, code)) = stack.into_iter().next_back()
        && let Some(last) = found.last_mut()
    {
        last.place = Some(place);
        last.code = code.or(last.code.take());
    }
    found
}

/// Bytes of a comment up to which its end is looked for; what is longer is taken as a whole.
const LONGEST: usize = 4096;

/// Splits at `; `, but not in brackets, in quotes, or in the user's code behind `#`.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut from, mut depth, mut quote, mut comment) = (0, 0_u32, None, None);
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match (quote, byte) {
            (Some(_), b'\\') => at += 1,
            (Some(open), _) if byte == open => quote = None,
            (None, b'\'' | b'"') if comment.is_none() && opens_string(bytes, at) => quote = Some(byte),
            (None, b'(' | b'[' | b'{') if comment.is_none() => depth += 1,
            (None, b')' | b']' | b'}') if comment.is_none() => depth = depth.saturating_sub(1),
            (None, b'#') if depth == 0 && comment.is_none() && at > 0 && bytes.get(at - 1) == Some(&b' ') => {
                comment = Some(at);
            }
            (None, b';') if depth == 0 && bytes.get(at + 1) == Some(&b' ') => {
                // The user's code may hold anything; it is over once its place was named.
                let over = comment.is_none_or(|start| {
                    text.get(start..at).is_some_and(|said| said.len() <= LONGEST && names_place(said))
                });
                if over {
                    parts.extend(text.get(from..at));
                    from = at + 2;
                    comment = None;
                }
            }
            _ => {}
        }
        at += 1;
    }
    parts.extend(text.get(from..));
    parts.retain(|part| !part.trim().is_empty());
    parts
}

fn names_place(comment: &str) -> bool {
    let hint_is_open = comment.contains(" (HINT: ") && !comment.ends_with(')');
    !hint_is_open && {
        let said = comment::parse(comment.trim_start_matches('#').trim_start());
        said.user.is_some() || said.framework.is_some()
    }
}

/// One reason, without the entry.
fn reason(entry: Option<CompileId>, text: &str) -> Reason {
    // A guard may compare with a text that holds ` #`.
    let found = outside_of_strings(text.as_bytes(), |_, rest| rest.starts_with(b" #"));
    let (guard, comment) = match found.unwrap_or_else(|Unclosed| text.find(" #")) {
        Some(at) => (text.get(..at).unwrap_or(text), text.get(at + 2..).map(str::trim)),
        None => (text, None),
    };
    let guard = guard.trim().to_owned();
    let said = comment.map(comment::parse).unwrap_or_default();
    let user = said.user.map(|place| CodePlace {
        file: place.file.to_owned(),
        line: place.line,
        function: Some(place.function.to_owned()),
    });
    let code =
        said.user.and_then(|place| place.code).or(comment.filter(|_| user.is_none() && said.framework.is_none()));
    let code = code.map(str::to_owned).filter(|code| !code.is_empty());
    // A place in PyTorch is where the guard was made, and nothing of the program.
    let place = user;
    let hint = said.hint.map(str::to_owned);
    let mut found = Reason {
        entry,
        cause: Cause::Other,
        source: None,
        dimension: None,
        expected: None,
        actual: None,
        code,
        place,
        hint,
        pattern: blank(&guard),
        guard,
    };
    classify(&mut found);
    found
}

/// Tells the cause from the condition, and what was wanted and seen.
fn classify(reason: &mut Reason) {
    let guard = reason.guard.clone();
    if let Some(rest) = guard.strip_prefix("tensor '") {
        tensor(reason, rest);
    } else if let Some(state) = guard.strip_prefix("GLOBAL_STATE changed:") {
        let grad_only = state.split_whitespace().eq(["grad_mode"]);
        reason.cause = if grad_only { Cause::GradMode } else { Cause::GlobalState };
        reason.source = Some(state.trim().to_owned()).filter(|state| !state.is_empty());
    } else if let Some(rest) = guard.strip_prefix("expected type of '") {
        reason.cause = Cause::Type;
        reason.source = rest.split_once("' ").map(|(source, _)| plain(source));
    } else if let Some(rest) = guard.strip_prefix("BACKEND_MATCH failure") {
        reason.cause = Cause::Backend;
        reason.actual = Some(rest.trim_start_matches(':').trim().to_owned()).filter(|text| !text.is_empty());
    } else if guard.starts_with("Duplicate tensor") || guard.contains("check_overlapping(") {
        reason.cause = Cause::Aliasing;
    } else if let Some(rest) = guard.strip_prefix("___check_obj_id(") {
        reason.cause = Cause::ObjectId;
        (reason.source, reason.expected) = call_arguments(rest);
    } else if let Some(rest) = guard.strip_prefix("___check_type_id(") {
        reason.cause = Cause::Type;
        (reason.source, reason.expected) = call_arguments(rest);
    } else if guard.contains("hasattr(") {
        reason.cause = Cause::Attribute;
        reason.source = guard.split_once("hasattr(").and_then(|(_, rest)| call_arguments(rest).0);
    } else if let Some((_, rest)) = guard.split_once("___dict_contains(") {
        reason.cause = Cause::Container;
        // The key comes first.
        reason.source = call_arguments(rest).1.map(|dict| plain(&dict));
    } else if let Some((inner, class)) = guard.strip_prefix("type(").and_then(|rest| rest.split_once(") is ")) {
        reason.cause = Cause::Type;
        (reason.source, reason.expected) = (Some(plain(inner)), Some(class.to_owned()));
    } else if let Some((left, right)) = guard.split_once(" is ").filter(|(_, right)| is_source(right)) {
        reason.cause = Cause::Aliasing;
        (reason.source, reason.expected) = (Some(plain(left)), Some(plain(right)));
    } else if guard.contains("___key_to_id") || guard.starts_with("len(") {
        reason.cause = Cause::Container;
        condition(reason, &guard);
    } else {
        condition(reason, &guard);
    }
}

/// The sentences of the tensor check: `x' size mismatch at index 0. expected 3, actual 4`.
fn tensor(reason: &mut Reason, rest: &str) {
    const KINDS: &[(&str, Cause)] = &[
        ("' size mismatch", Cause::Size),
        ("' stride mismatch", Cause::Stride),
        ("' rank mismatch", Cause::Dimensions),
        ("' dtype mismatch", Cause::Dtype),
        ("' device", Cause::Device),
        ("' Tensor device", Cause::Device),
        ("' requires_grad mismatch", Cause::RequiresGrad),
        ("' ", Cause::TensorKind),
    ];
    // The name may hold quotes itself: `tensor 'L['x']' size mismatch`.
    let Some((at, cause)) = KINDS.iter().find_map(|(label, cause)| Some((rest.rfind(label)?, *cause))) else { return };
    reason.cause = cause;
    reason.source = rest.get(..at).map(plain);
    let said = rest.get(at..).unwrap_or_default();
    let index = said.split_once("at index ").map(|(_, rest)| rest.split(|c: char| !c.is_ascii_digit()).next());
    reason.dimension = index.flatten().and_then(|index| index.parse().ok());
    if let Some((_, values)) = said.split_once("expected ") {
        let (expected, actual) = match values.split_once(", actual ") {
            Some((expected, actual)) => (expected, Some(actual)),
            None => (values, None),
        };
        let expected = expected.trim();
        reason.expected = Some(expected.strip_prefix("requires_grad=").unwrap_or(expected).to_owned());
        reason.actual = actual.map(|actual| actual.trim().to_owned());
    }
}

/// The first two arguments of a call whose name was cut off, brackets counted.
fn call_arguments(rest: &str) -> (Option<String>, Option<String>) {
    let mut depth = 0_u32;
    let (mut comma, mut end) = (None, rest.len());
    for (at, char) in rest.char_indices() {
        match char {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth == 0 => {
                end = at;
                break;
            }
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 && comma.is_none() => comma = Some(at),
            _ => {}
        }
    }
    let text = |range: std::ops::Range<usize>| {
        rest.get(range).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    let first = text(0..comma.unwrap_or(end)).map(|source| plain(&source));
    (first, comma.and_then(|comma| text(comma + 1..end)))
}

/// A condition that Python prints: `alpha == 0.5`, `2 <= x.size()[0]`, `not flag`, `x is None`.
fn condition(reason: &mut Reason, guard: &str) {
    let equal = guard.split_once(" == ").or_else(|| guard.split_once(" is "));
    if let Some((left, right)) = equal {
        // A number may stand first: `3 == n`.
        let (left, right) = if is_number(left.trim()) { (right, left) } else { (left, right) };
        reason.expected = Some(right.trim().to_owned());
        let mut pattern = blank(left);
        pattern += if guard.contains(" == ") { " == #" } else { " is #" };
        reason.pattern = pattern;
    }
    let operators = [" == ", " != ", " <= ", " >= ", " < ", " > ", " is not ", " is ", " in "];
    let sides = operators.iter().find_map(|operator| guard.split_once(operator));
    // A bound may stand first: the side with a name is the one that user code knows.
    let side = match sides {
        Some((left, right)) if is_number(left.trim()) => right,
        Some((left, _)) => left,
        None => guard.strip_prefix("not ").unwrap_or(guard),
    };
    let dimension = |of: &str| {
        let at = side.find(of)?;
        let rest = side.get(at + of.len()..)?;
        Some((plain(expression_before(side, at)), rest.split(']').next()?.parse().ok()))
    };
    let sized = dimension(".size()[").map(|found| (found, Cause::Size));
    if let Some(((source, dimension), cause)) = sized.or_else(|| dimension(".stride()[").map(|f| (f, Cause::Stride))) {
        (reason.cause, reason.source, reason.dimension) = (cause, Some(source), dimension);
        return;
    }
    let source = side.strip_prefix("len(").and_then(|inner| inner.strip_suffix(')')).unwrap_or(side).trim();
    reason.source = Some(plain(source)).filter(|source| !source.is_empty());
    if reason.cause == Cause::Container {
        return;
    }
    reason.cause = match reason.expected.as_deref() {
        _ if source.starts_with("G[") => Cause::Global,
        Some(value) if value.parse::<i64>().is_ok() => Cause::Integer,
        Some(value) if is_number(value) => Cause::Float,
        Some(_) => Cause::Constant,
        None => Cause::Other,
    };
}

/// Whether a text is the name of something of the program, and no value.
fn is_source(text: &str) -> bool {
    let text = text.trim();
    (text.starts_with("L['") || text.starts_with("G['"))
        || (text.contains(['.', '[']) && text.starts_with(|c: char| c.is_alphabetic()))
}

fn is_number(text: &str) -> bool {
    text.parse::<f64>().is_ok()
}

/// How user code names what guards call `L['x'].y`: `x.y`.
pub fn plain(source: &str) -> String {
    let Some(rest) = source.strip_prefix("L['") else { return source.to_owned() };
    match rest.split_once("']") {
        Some((name, rest)) if !name.is_empty() => format!("{name}{rest}"),
        _ => source.to_owned(),
    }
}

/// A text with its numbers blanked, object ids and addresses among them. Digits within a name stay.
pub fn blank(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut before = ' ';
    while let Some(char) = chars.next() {
        if !char.is_ascii_digit() || before.is_alphanumeric() || before == '_' {
            out.push(char);
            before = char;
            continue;
        }
        let mut last = char;
        while let Some(&next) = chars.peek() {
            let sign = matches!(next, '+' | '-') && matches!(last, 'e' | 'E');
            if !(next.is_ascii_alphanumeric() || next == '.' || sign) {
                break;
            }
            last = next;
            chars.next();
        }
        // `index 0. expected` ends a sentence.
        out.push('#');
        if last == '.' {
            out.push('.');
        }
        before = last;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(text: &str) -> Reason {
        let mut found = reasons(text);
        assert_eq!(found.len(), 1, "{text}");
        found.remove(0)
    }

    #[test]
    fn the_sentences_of_the_tensor_check_are_read() {
        let size = only("0/0: tensor 'x' size mismatch at index 1. expected 3, actual 4");
        assert_eq!((size.cause, size.dimension), (Cause::Size, Some(1)));
        assert_eq!(size.entry.unwrap().to_string(), "0/0");
        assert_eq!(size.source.as_deref(), Some("x"));
        assert_eq!((size.expected.as_deref(), size.actual.as_deref()), (Some("3"), Some("4")));
        assert_eq!(size.pattern, "tensor 'x' size mismatch at index #. expected #, actual #");
        for (text, cause) in [
            ("14/0: tensor 'L['tensor']' rank mismatch. expected 2, actual 1", Cause::Dimensions),
            ("0/0: tensor 'L['x']' dtype mismatch. expected Float, actual Double", Cause::Dtype),
            ("0/0: tensor 'x' stride mismatch at index 0. expected 3, actual 1", Cause::Stride),
            ("0/0: tensor 'x' requires_grad mismatch. expected requires_grad=0", Cause::RequiresGrad),
            (
                "0/0: tensor 'x' dispatch key set mismatch. expected DispatchKeySet(CPU), actual DispatchKeySet(CUDA)",
                Cause::TensorKind,
            ),
            ("0/0: tensor 'x' Tensor device index mismatch. Expected device index to be 0", Cause::Device),
        ] {
            let found = only(text);
            assert_eq!(found.cause, cause, "{text}");
            assert!(["x", "tensor"].contains(&found.source.as_deref().unwrap()), "{text}");
        }
    }

    #[test]
    fn conditions_are_told_apart_by_what_they_compare() {
        for (text, cause, source, expected) in [
            ("1/0: alpha == 0.5      # return x * alpha  # job/a.py:22 in f", Cause::Float, "alpha", Some("0.5")),
            (
                "2/0: self.depth == 1   # for _ in range(1):  # a.py:3 in forward (HINT: static)",
                Cause::Integer,
                "self.depth",
                Some("1"),
            ),
            ("0/0: L['mode'] == 'a; b # c'", Cause::Constant, "mode", Some("'a; b # c'")),
            ("0/0: G['flag'] == True", Cause::Global, "G['flag']", Some("True")),
            ("0/0: L['x'] is None", Cause::Constant, "x", Some("None")),
            (
                "3/0: len(self.state[list(dict.keys(self.state))[0]]) != 0",
                Cause::Container,
                "self.state[list(dict.keys(self.state))[0]]",
                None,
            ),
            (
                "24/0: ___check_obj_id(L['f'].last_params, 105251315093216)",
                Cause::ObjectId,
                "f.last_params",
                Some("105251315093216"),
            ),
            ("0/0: ___check_type_id(L['self'], 94218242207840)", Cause::Type, "self", Some("94218242207840")),
            ("0/0: GLOBAL_STATE changed: grad_mode ", Cause::GradMode, "grad_mode", None),
            (
                "0/0: GLOBAL_STATE changed: grad_mode autocast_state ",
                Cause::GlobalState,
                "grad_mode autocast_state",
                None,
            ),
            ("0/0: L['x'].size()[0] == 8", Cause::Size, "x", Some("8")),
            ("0/0: 2 <= L['x'].size()[1]", Cause::Size, "x", None),
            ("0/0: hasattr(L['x'], '_dynamo_static_indices') == False", Cause::Attribute, "x", None),
        ] {
            let found = only(text);
            assert_eq!(found.cause, cause, "{text}");
            assert_eq!(found.source.as_deref(), Some(source), "{text}");
            assert_eq!(found.expected.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn strings_arithmetic_and_other_shapes_of_guards_are_understood() {
        let found = only("0/0: L['s'] == \"it's\"  # if s == \"it's\":  # job/a.py:3 in f");
        assert_eq!((found.expected.as_deref(), found.code.as_deref()), (Some("\"it's\""), Some("if s == \"it's\":")));
        assert_eq!(found.place.unwrap().line, Some(3));
        assert_eq!(reasons("0/0: it doesn't hold; n == 3").len(), 2);
        for (text, cause, source, dimension) in [
            ("0/0: ((x.size()[0] % 8)) == 0", Cause::Size, "x", Some(0)),
            ("0/0: Mod(L['x'].size()[1], 8) == 0", Cause::Size, "x", Some(1)),
            ("0/0: 2*y.size()[1] == x.size()[0]", Cause::Size, "y", Some(1)),
            ("0/0: L['xs'][0] is L['xs'][1]", Cause::Aliasing, "xs[0]", None),
            ("0/0: not ___dict_contains('k', G['D'])", Cause::Container, "G['D']", None),
            ("0/0: type(L['x']) is int", Cause::Type, "x", None),
            ("0/0: 3 == n", Cause::Integer, "n", None),
        ] {
            let found = only(text);
            assert_eq!(
                (found.cause, found.source.as_deref(), found.dimension),
                (cause, Some(source), dimension),
                "{text}"
            );
        }
        assert_eq!(only("0/0: 3 == n").expected.as_deref(), Some("3"));
    }

    #[test]
    fn the_users_line_is_cut_off_and_kept() {
        let found = only(
            "1/0: alpha == 0.5     # return x * alpha  # job/r.py:22 in by_float (HINT: a; b)\nUser stack trace:\n  File \"/tmp/job/r.py\", line 22, in by_float\n    return x * alpha",
        );
        assert_eq!(found.guard, "alpha == 0.5");
        assert_eq!(found.code.as_deref(), Some("return x * alpha"));
        assert_eq!(found.place.unwrap().to_string(), "/tmp/job/r.py:22 in by_float");
        assert_eq!(found.hint.as_deref(), Some("a; b"));
        assert_eq!(found.pattern, "alpha == #");
        let framework = only("3/1: self.lr == 0.05  # (_dynamo/output_graph.py:3375 in f)");
        assert_eq!(framework.place, None);
        assert_eq!(framework.code, None);
    }

    #[test]
    fn several_reasons_of_one_entry_are_split_with_care() {
        let found = reasons(
            "0/0: a == 1  # x; y  # f.py:1 in g; tensor 'b' size mismatch at index 0. expected 2, actual 3; f(c; d)",
        );
        let guards: Vec<&str> = found.iter().map(|r| r.guard.as_str()).collect();
        assert_eq!(guards, ["a == 1", "tensor 'b' size mismatch at index 0. expected 2, actual 3", "f(c; d)"]);
        assert!(found.iter().all(|r| r.entry.is_some()));
        assert!(reasons("").is_empty());
        assert_eq!(only("Unexpected recompilation: x").entry, None);
    }

    #[test]
    fn patterns_blank_ids_and_numbers_and_nothing_else() {
        assert_eq!(
            blank("___check_obj_id(self._modules['attn2'].layers[3], 140491146774816)"),
            "___check_obj_id(self._modules['attn2'].layers[#], #)"
        );
        assert_eq!(blank("x1 + 0x7f3c + 1e-05 - .5"), "x1 + # + # - .#");
        assert_eq!(blank("index 0. expected 3, actual 4"), "index #. expected #, actual #");
        assert_eq!(blank("größe 3 日本4"), "größe # 日本4");
    }

    #[test]
    fn a_payload_is_a_list_or_a_text_whatever_stands_beside_it() {
        assert_eq!(texts(br#"["0/0: \udc80", 3, NaN]"#), ["0/0: \u{FFFD}", "3", "NaN"]);
        assert_eq!(texts(br#"[{"a": 1}, "0/1: y"]"#), [r#"{"a": 1}"#, "0/1: y"]);
        assert_eq!(texts(b"\"0/0: x\""), ["0/0: x"]);
        assert_eq!(texts(br#"["0/0: x", "0/1: y"]"#), ["0/0: x", "0/1: y"]);
        assert_eq!(texts(b"0/0: tensor 'x'"), ["0/0: tensor 'x'"]);
        assert_eq!(texts(b"[0/0] x"), ["[0/0] x"]);
        assert_eq!(texts(b"[]"), Vec::<String>::new());
    }
}
