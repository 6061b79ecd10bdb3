//! What a log says of an export: what failed in it, which conditions on sizes it met, what it produced.
//!
//! `torch.export` logs its begin and its program only with `TORCH_DTRACE`; `draft_export` writes a log of its
//! own, with its findings but without the begin.

use rustc_hash::FxHashSet;

use crate::format::frame::{Frame, is_framework, parse_stack};
use crate::format::kind::Kind;
use crate::format::{envelope, json};
use crate::index::{Index, KindId, Record};
use crate::trace::{Log, Trace};

/// What an export met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FindingKind {
    /// It began, and the log has no program of it.
    NoProgram,
    /// A condition on data could not be decided, and the export stopped.
    Undecided,
    /// A condition on data was decided by a run with the example inputs.
    DataDependent,
    /// An operator has no implementation for fake tensors.
    MissingFakeKernel,
    /// An operator's implementation for fake tensors gives another result than the real one.
    MismatchedFakeKernel,
    /// A size of an input was fixed to one value.
    SizeFixed,
    /// A condition on sizes that the program relies on; none of the above.
    Guard,
}

impl FindingKind {
    /// Whether it keeps the program from being right, or from being at all.
    pub(crate) const fn is_failure(self) -> bool {
        !matches!(self, Self::Guard)
    }
}

/// One thing that an export met.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    /// What it is.
    pub(crate) kind: FindingKind,
    /// The record that says so.
    pub(crate) record: usize,
    /// The expression or the operator; for an export without a program, its number from 1.
    pub(crate) subject: Option<String>,
    /// What the condition was taken to be, why kernels do not agree, or why a size was fixed.
    pub(crate) answer: Option<String>,
    /// How a guard came about: `eval`, `runtime_assert`, with or without ` [guard suppressed]`.
    pub(crate) prefix: Option<String>,
}

/// The exports of a log.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exports {
    /// What they met, in the order of the log.
    pub(crate) findings: Vec<Finding>,
    /// Records with their programs.
    pub(crate) programs: Vec<usize>,
    /// How many began, as far as the log says.
    pub(crate) begun: usize,
    /// Whether the log has any record that only exports write, or one of what failed in one.
    pub(crate) any: bool,
}

impl Exports {
    /// Findings that are failures.
    pub(crate) fn failures(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.kind.is_failure())
    }
}

/// Whether only exports write records of this kind.
fn is_of_export(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Export
            | Kind::ExportedProgram
            | Kind::MissingFakeKernel
            | Kind::MismatchedFakeKernel
            | Kind::PropagateRealTensors
            | Kind::PropagateRealTensorsProvenance
            | Kind::GuardOnDataDependentError
    )
}

/// Number of records that only exports write.
pub(crate) fn export_records(index: &Index) -> usize {
    index.records.iter().filter(|r| matches!(r.kind, KindId::Known(kind) if is_of_export(kind))).count()
}

/// The exports of a log.
pub(crate) fn exports(log: &Log, bytes: &[u8]) -> Exports {
    let mut pass = Pass { index: &log.index, bytes, open: None, out: Exports::default() };
    for (at, record) in log.index.records.iter().enumerate() {
        if let KindId::Known(kind) = record.kind {
            pass.out.any |= is_of_export(kind);
            pass.record(at, record, kind);
        }
    }
    pass.close();
    let mut out = pass.out;
    without_repeats(&mut out.findings, &log.index);
    out.any = out.any || out.failures().next().is_some();
    out.findings.sort_by_key(|finding| finding.record);
    out
}

struct Pass<'a> {
    index: &'a Index,
    bytes: &'a [u8],
    /// The record of an export that has begun and has no program yet.
    open: Option<usize>,
    out: Exports,
}

impl Pass<'_> {
    fn record(&mut self, at: usize, record: &Record, kind: Kind) {
        let meta = self.index.metadata(record, self.bytes);
        let text = |name: &[u8]| json::member(meta, name).and_then(json::unescape);
        let found = match kind {
            Kind::Export => {
                self.close();
                self.open = Some(at);
                self.out.begun += 1;
                return;
            }
            Kind::ExportedProgram => {
                self.open = None;
                self.out.programs.push(at);
                return;
            }
            Kind::PropagateRealTensors | Kind::PropagateRealTensorsProvenance => {
                Finding { answer: text(b"result"), ..finding(FindingKind::DataDependent, at, text(b"expr")) }
            }
            Kind::GuardOnDataDependentError => finding(FindingKind::Undecided, at, text(b"expr")),
            Kind::MissingFakeKernel => finding(FindingKind::MissingFakeKernel, at, text(b"op")),
            Kind::MismatchedFakeKernel => {
                Finding { answer: text(b"reason"), ..finding(FindingKind::MismatchedFakeKernel, at, text(b"op")) }
            }
            Kind::GuardAdded => self.guard(at, record, text(b"expr"), text(b"prefix")),
            Kind::SymbolicShapeSpecialization if self.in_export(record) => {
                let (Some(symbol), Some(value)) = (text(b"symbol"), text(b"value")) else { return };
                if value.parse::<i64>().is_err() {
                    // A symbol that stands for another one is not fixed.
                    return;
                }
                let subject = Some(format!("Eq({symbol}, {value})"));
                Finding { answer: text(b"reason"), ..finding(FindingKind::SizeFixed, at, subject) }
            }
            _ => return,
        };
        self.out.findings.push(found);
    }

    fn guard(&self, at: usize, record: &Record, expr: Option<String>, prefix: Option<String>) -> Finding {
        let fixes = prefix.as_deref() == Some("eval") && expr.as_deref().is_some_and(|expr| fixed(expr).is_some());
        let kind = if fixes && self.in_export(record) { FindingKind::SizeFixed } else { FindingKind::Guard };
        Finding { prefix, ..finding(kind, at, expr) }
    }

    /// Compiles of code fix sizes too, and may: only within an export that is a failure.
    fn in_export(&self, record: &Record) -> bool {
        self.open.is_some() || self.index.names.id(record).is_none()
    }

    /// Ends the export that is open: it has no program.
    fn close(&mut self) {
        if let Some(record) = self.open.take() {
            let number = Some(self.out.begun.to_string());
            self.out.findings.push(finding(FindingKind::NoProgram, record, number));
        }
    }
}

fn finding(kind: FindingKind, record: usize, subject: Option<String>) -> Finding {
    Finding { kind, record, subject, answer: None, prefix: None }
}

/// Leaves out what a more detailed record says again.
fn without_repeats(findings: &mut Vec<Finding>, index: &Index) {
    let is = |finding: &Finding, kind| index.records.get(finding.record).is_some_and(|r| r.kind.is(kind));
    let subjects = |kind| -> FxHashSet<String> {
        findings.iter().filter(|f| is(f, kind)).filter_map(|f| f.subject.clone()).collect()
    };
    let decided = subjects(Kind::PropagateRealTensorsProvenance);
    let guarded = subjects(Kind::GuardAdded);
    findings.retain(|finding| {
        let subject = finding.subject.as_ref();
        let again = is(finding, Kind::PropagateRealTensors) && subject.is_some_and(|s| decided.contains(s))
            || is(finding, Kind::SymbolicShapeSpecialization) && subject.is_some_and(|s| guarded.contains(s));
        !again
    });
}

/// Symbol and value of `Eq(s77, 8)`, where the symbol is the size of an input.
fn fixed(expr: &str) -> Option<(&str, i64)> {
    let (symbol, value) = expr.strip_prefix("Eq(")?.strip_suffix(')')?.split_once(", ")?;
    let digits = symbol.strip_prefix('s')?;
    let is_symbol = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    Some((symbol, value.parse().ok()?)).filter(|_| is_symbol)
}

/// Where a record comes from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin {
    /// The user's stack, as PyTorch cut it out.
    pub(crate) user_stack: Vec<Frame>,
    /// The whole stack.
    pub(crate) stack: Vec<Frame>,
    /// The innermost frame of the user's code.
    pub(crate) place: Option<Frame>,
}

/// Where a record comes from: by its metadata, else by its head.
pub(crate) fn origin(trace: &Trace, log: &Log, bytes: &[u8], record: &Record) -> Origin {
    let meta = log.index.metadata(record, bytes);
    let stack = |name: &[u8]| json::member(meta, name).map(parse_stack).unwrap_or_default();
    let user_stack = stack(b"user_stack");
    let mut whole = stack(b"stack");
    if whole.is_empty() {
        let head = log.index.json(record, bytes);
        let range = envelope::parse(head).ok().and_then(|e| e.stack);
        whole = range.and_then(|range| head.get(range)).map(parse_stack).unwrap_or_default();
    }
    let of_user = |frame: &&Frame| {
        let file = frame.filename.and_then(|id| trace.string(log, id, record.offset));
        file.is_some_and(|file| !is_framework(file))
    };
    let innermost = |frames: &[Frame]| frames.iter().rev().find(of_user).cloned();
    let place = innermost(&user_stack).or_else(|| innermost(&whole));
    Origin { user_stack, stack: whole, place }
}

/// What a record says of a condition.
#[derive(Clone, Debug, Default)]
pub(crate) struct Condition {
    /// The expression.
    pub(crate) expr: Option<String>,
    /// The same before sizes of the example were put in.
    pub(crate) unhinted: Option<String>,
    /// What it was taken to be.
    pub(crate) result: Option<String>,
    /// How a guard came about.
    pub(crate) prefix: Option<String>,
    /// The expression's node.
    pub(crate) node: Option<i128>,
    /// The line of the user's code.
    pub(crate) loc: Option<String>,
    /// Local variables by name, each with what it holds of sizes and tensors; `None` where it holds neither.
    pub(crate) locals: Vec<(String, Vec<Option<String>>)>,
    /// Symbols, and how the inputs give them.
    pub(crate) symbols: Vec<(String, String)>,
}

/// Reads the metadata of a guard, or of a condition on data. A field of another type is lost alone.
pub(crate) fn condition(meta: &[u8]) -> Condition {
    let text = |name: &[u8]| json::member(meta, name).and_then(json::unescape);
    let node = json::member(meta, b"expr_node_id").or_else(|| json::member(meta, b"expr_id"));
    let frame = json::member(meta, b"frame_locals").unwrap_or_default();
    let mut condition = Condition {
        expr: text(b"expr"),
        unhinted: text(b"unhinted_expr"),
        result: text(b"result"),
        prefix: text(b"prefix"),
        node: node.and_then(address),
        loc: json::member(frame, b"loc").and_then(json::unescape),
        locals: members(frame, b"locals").into_iter().map(|(name, value)| (name, local(value))).collect(),
        symbols: Vec::new(),
    };
    let mut seen = FxHashSet::default();
    for (symbol, value) in members(frame, b"symbols").into_iter().chain(members(meta, b"symbol_to_sources")) {
        // PyTorch writes a string; a list, as for locals, would be read as well.
        for source in local(value).into_iter().flatten() {
            let pair = (symbol.clone(), source);
            if seen.insert(pair.clone()) {
                condition.symbols.push(pair);
            }
        }
    }
    condition
}

/// The members of an object within an object: names in clear, values as they stand.
fn members<'a>(text: &'a [u8], name: &[u8]) -> Vec<(String, &'a [u8])> {
    let mut members = Vec::new();
    let object = json::member(text, name).unwrap_or_default();
    // What can be read of a broken object is kept.
    let _: Result<json::Oddities, json::JsonError> = json::each_member(object, |key, value| {
        members.push((json::unescape_inner(key), value));
        true
    });
    members
}

/// What a local variable holds: a list since PyTorch 2.8, one text before.
fn local(value: &[u8]) -> Vec<Option<String>> {
    let one = |value: &[u8]| match value {
        b"null" => None,
        _ => Some(json::unescape(value).unwrap_or_else(|| String::from_utf8_lossy(value).into_owned())),
    };
    if value.starts_with(b"[") {
        json::elements(value).into_iter().flatten().map(one).collect()
    } else {
        vec![one(value)]
    }
}

/// The address that identifies a node of an expression.
pub(super) fn address(value: &[u8]) -> Option<i128> {
    std::str::from_utf8(value).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_fields_of_a_condition_lose_only_themselves() {
        let read = condition(
            br#"{"expr": 3, "prefix": "eval", "expr_node_id": 18446744073709551615, "symbol_to_sources": {"s0": ["a", 1]},
                "frame_locals": {"loc": null, "locals": {"x": ["u0", null], "y": null, "z": "t", "w": 7}, "symbols": []}}"#,
        );
        assert_eq!((read.expr, read.prefix.as_deref()), (None, Some("eval")));
        assert_eq!(read.node, Some(i128::from(u64::MAX)));
        let text = |text: &str| Some(text.to_owned());
        let locals = [
            ("x".to_owned(), vec![text("u0"), None]),
            ("y".to_owned(), vec![None]),
            ("z".to_owned(), vec![text("t")]),
            ("w".to_owned(), vec![text("7")]),
        ];
        assert_eq!(read.locals, locals);
        assert_eq!(read.symbols, [("s0".to_owned(), "a".to_owned()), ("s0".to_owned(), "1".to_owned())]);
        assert_eq!(condition(b"null").node, None);
    }

    #[test]
    fn sizes_that_are_fixed() {
        assert_eq!(fixed("Eq(s77, 8)"), Some(("s77", 8)));
        for other in ["Eq(u0, 8)", "Eq(s77, s17)", "Ne(s77, 8)", "Eq(s, 8)", "Eq(Mod(s77, 4), 0)", "Eq(s77, 8"] {
            assert_eq!(fixed(other), None, "{other}");
        }
    }
}
