//! What a log says of symbolic sizes, record by record: table `symbols`.
//!
//! A size of an input becomes a symbol, conditions on symbols become guards, some fix a symbol to a value, and a
//! condition on data is decided or stops the compile. With `TORCH_DTRACE` each expression is logged, with the nodes
//! that it was made of.

use std::borrow::Cow;

use rayon::prelude::*;

use super::export::{Origin, address, condition, origin};
use super::places::places;
use crate::error::Result;
use crate::format::frame::Frame;
use crate::format::json;
use crate::format::kind::Kind;
use crate::index::{KindId, Record};
use crate::tables::{Row, Table, TableBuilder, TableDef, compile_columns};
use crate::trace::Trace;

pub(super) const SYMBOLS: TableDef =
    TableDef { name: "symbols", about: "a fact about symbolic sizes: a symbol, a condition, an expression", build };

/// What a kind of record tells, or `None` where it is about something else.
fn fact(kind: KindId) -> Option<&'static str> {
    let KindId::Known(kind) = kind else { return None };
    Some(match kind {
        Kind::CreateSymbol => "created",
        Kind::CreateUnbackedSymbol => "unbacked",
        Kind::SymbolicShapeSpecialization => "specialized",
        Kind::GuardAdded | Kind::GuardAddedFast => "guard",
        Kind::PropagateRealTensors | Kind::PropagateRealTensorsProvenance => "propagated",
        Kind::GuardOnDataDependentError => "data dependent",
        Kind::ExpressionCreated => "expression",
        _ => return None,
    })
}

/// What a record says.
#[derive(Debug, Default)]
struct Facts {
    symbol: Option<String>,
    value: Option<String>,
    range: Option<String>,
    sources: Option<Vec<String>>,
    source_symbols: Option<Vec<String>>,
    expr: Option<String>,
    unhinted: Option<String>,
    detail: Option<String>,
    arguments: Option<Vec<String>>,
    node: Option<u64>,
    argument_ids: Option<Vec<Option<u64>>>,
}

/// Reads the metadata of one of these records. A field of another type is lost alone.
fn facts(meta: &[u8], kind: KindId) -> Facts {
    let mut it = Facts::default();
    let is_expression = kind.is(Kind::ExpressionCreated);
    // What can be read of a broken object is kept.
    let _: Result<json::Oddities, json::JsonError> = json::each_member(meta, |key, value| {
        let text = || json::unescape(value);
        match key {
            b"symbol" => it.symbol = text(),
            b"result" if is_expression => it.expr = text(),
            b"val" | b"value" | b"result" => it.value = text(),
            b"vr" => it.range = text().filter(|range| !range.is_empty()),
            b"source" => it.sources = text().map(|source| vec![source]),
            b"sources" => it.sources = texts(value),
            b"expr" => it.expr = text(),
            b"unhinted_expr" => it.unhinted = text(),
            b"reason" | b"prefix" | b"method" => it.detail = text(),
            b"arguments" => it.arguments = texts(value),
            b"node_id" | b"expr_node_id" | b"expr_id" | b"result_id" => it.node = id(value),
            b"argument_ids" => it.argument_ids = json::elements(value).map(|ids| ids.map(id).collect()),
            _ => {}
        }
        true
    });
    if kind.is(Kind::GuardAdded) || kind.is(Kind::PropagateRealTensorsProvenance) {
        let (symbols, sources) = condition(meta).symbols.into_iter().unzip();
        it.source_symbols = Some(symbols);
        it.sources = Some(sources);
    }
    it
}

/// What a record says in a line, without addresses of nodes; `None` for one about something else, and for expressions,
/// which are parts of what other records say.
pub(super) fn sentence(meta: &[u8], kind: KindId) -> Option<String> {
    let fact = fact(kind).filter(|_| !kind.is(Kind::ExpressionCreated))?;
    let it = facts(meta, kind);
    let mut text = fact.to_owned();
    for part in [it.symbol, it.expr].into_iter().flatten() {
        text += &format!(" {part}");
    }
    // What a new symbol stands for at first is a hint: the code serves other values, too.
    if let Some(value) = it.value.filter(|_| !kind.is(Kind::CreateSymbol)) {
        text += &format!(" = {value}");
    }
    if let Some(range) = it.range {
        text += &format!(" in {range}");
    }
    if let Some(sources) = it.sources.filter(|sources| !sources.is_empty()) {
        text += &format!(" of {}", sources.join(", "));
    }
    Some(text)
}

/// What the symbol that a record creates stands for, such as `L['x'].size()[0]`.
pub(super) fn source(meta: &[u8]) -> Option<String> {
    json::member(meta, b"source").and_then(json::unescape)
}

/// Whether a record is about symbolic sizes.
pub(super) fn is_fact(kind: KindId) -> bool {
    fact(kind).is_some()
}

/// The address of a node. It is never negative.
fn id(value: &[u8]) -> Option<u64> {
    u64::try_from(address(value)?).ok()
}

/// The texts of a list; of what is no text, the JSON.
fn texts(value: &[u8]) -> Option<Vec<String>> {
    let text = |value: &[u8]| json::unescape(value).unwrap_or_else(|| String::from_utf8_lossy(value).into_owned());
    json::elements(value).map(|all| all.map(text).collect())
}

struct SymbolRow<'t> {
    row: Row<'t>,
    fact: &'static str,
    it: Facts,
    place: Option<Frame>,
    file_name: Option<&'t str>,
    user_stack: Option<Vec<String>>,
}

fn build(trace: &Trace) -> Result<Table> {
    let mut rows: Vec<SymbolRow<'_>> = Vec::new();
    for (file, log) in (0..).zip(&trace.logs) {
        let view = log.view()?;
        let wanted = |record: &&Record| fact(record.kind).is_some();
        let records: Vec<&Record> = log.index.records.iter().filter(wanted).collect();
        let row = |record| symbol_row(trace, Row { file, log, record }, &view);
        rows.par_extend(records.into_par_iter().filter_map(row));
    }
    let builder = compile_columns(TableBuilder::new(&rows), |r| r.row)
        .u64("offset", "Byte at which the record starts.", |r| Some(r.row.record.offset))
        .time("time", "When it was logged.", |r| r.row.record.time_us())
        .name("kind", "Kind of the record.", |r| Some(Cow::Borrowed(r.row.log.index.names.kind(r.row.record.kind))))
        .name(
            "fact",
            "created (a size became a symbol), unbacked (a size that is known at run time only), specialized (a symbol \
             was fixed), guard (a condition was added), propagated (a condition on data was decided by real values), \
             data dependent (one could not be decided), expression (one was made of others).",
            |r| Some(Cow::Borrowed(r.fact)),
        );
    places_of(nodes(what(builder))).finish("symbols")
}

fn symbol_row<'t>(trace: &'t Trace, row: Row<'t>, bytes: &[u8]) -> Option<SymbolRow<'t>> {
    let meta = row.log.index.metadata(row.record, bytes);
    let offset = row.record.offset;
    let Origin { user_stack, place, .. } = origin(trace, row.log, bytes, row.record);
    let file_name = place.as_ref().and_then(|frame| trace.string(row.log, frame.filename?, offset));
    let has_stack = json::member(meta, b"user_stack").is_some_and(|stack| stack.starts_with(b"["));
    let user_stack = has_stack.then(|| places(trace, row.log, offset, &user_stack));
    Some(SymbolRow {
        row,
        fact: fact(row.record.kind)?,
        it: facts(meta, row.record.kind),
        place,
        file_name,
        user_stack,
    })
}

/// Columns with what a record says.
fn what<'r>(builder: TableBuilder<'r, SymbolRow<'r>>) -> TableBuilder<'r, SymbolRow<'r>> {
    builder
        .name("symbol", "The symbol, such as `s77`, or `u0` for a size that is known at run time only.", |r| {
            r.it.symbol.as_deref().map(Cow::Borrowed)
        })
        .text(
            "value",
            "Of a new symbol its size in the example input, of a specialized one the value or the other symbol that \
             it was fixed to, of a condition on data what it was taken to be.",
            |r| r.it.value.as_deref().map(Cow::Borrowed),
        )
        .name("range", "Values that a new symbol may have, such as `[2, int_oo]`.", |r| {
            r.it.range.as_deref().map(Cow::Borrowed)
        })
        .texts(
            "sources",
            "How the inputs give the symbol, such as `L['x'].size()[0]`; of a condition, its symbols.",
            |r| r.it.sources.clone(),
        )
        .texts("source_symbols", "Of a condition, the symbol that each of the sources gives.", |r| {
            r.it.source_symbols.clone()
        })
        .text("expr", "The condition, or the expression that was made.", |r| r.it.expr.as_deref().map(Cow::Borrowed))
        .text("unhinted", "The same before sizes of the example were put in.", |r| {
            r.it.unhinted.as_deref().map(Cow::Borrowed)
        })
        .name(
            "detail",
            "Why a symbol was specialized, how a guard came about (eval, runtime_assert), or the method that made an \
             expression.",
            |r| r.it.detail.as_deref().map(Cow::Borrowed),
        )
}

/// Columns that tie expressions together.
fn nodes<'r>(builder: TableBuilder<'r, SymbolRow<'r>>) -> TableBuilder<'r, SymbolRow<'r>> {
    builder
        .texts("arguments", "What an expression was made of, numbers included.", |r| r.it.arguments.clone())
        .u64(
            "node_id",
            "Address of the node of the symbol, the condition or the expression. An address is used again when its \
             node is gone: it means the last node made before.",
            |r| r.it.node,
        )
        .u64s("argument_ids", "Addresses of the nodes among the arguments; numbers have none.", |r| {
            r.it.argument_ids.clone()
        })
}

/// Columns about where in the program it was.
fn places_of<'r>(builder: TableBuilder<'r, SymbolRow<'r>>) -> TableBuilder<'r, SymbolRow<'r>> {
    builder
        .name("user_file", "File of the innermost frame of the program; null where all frames are PyTorch's.", |r| {
            r.file_name.map(Cow::Borrowed)
        })
        .i64("user_line", "Its line.", |r| r.place.as_ref()?.line)
        .name("user_function", "Its function.", |r| r.place.as_ref()?.name.as_deref().map(Cow::Borrowed))
        .text("user_code", "Text of that line (PyTorch 2.7 and later).", |r| {
            r.place.as_ref()?.loc.as_deref().map(Cow::Borrowed)
        })
        .texts(
            "user_stack",
            "Stack of the program as PyTorch cut it out, outermost first: `file:line in function`.",
            |r| r.user_stack.clone(),
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kind: Kind, meta: &str) -> Facts {
        facts(meta.as_bytes(), KindId::Known(kind))
    }

    #[test]
    fn odd_fields_lose_only_themselves() {
        let it = of(
            Kind::ExpressionCreated,
            r#"{"method": 3, "result": "u0 > 2", "result_id": -1, "arguments": ["u0", 2, null],
                "argument_ids": [18446744073709551615, null, "7", 1e3, -4, 18446744073709551616, 7], "user_stack": 3}"#,
        );
        assert_eq!((it.detail, it.expr.as_deref(), it.value, it.node), (None, Some("u0 > 2"), None, None));
        assert_eq!(it.arguments.unwrap(), ["u0", "2", "null"]);
        assert_eq!(it.argument_ids.unwrap(), [Some(u64::MAX), None, None, None, None, None, Some(7)]);
        let it = of(Kind::CreateSymbol, r#"{"symbol": "s0", "val": 4, "vr": "", "source": ["x"], "sources": "y"}"#);
        assert_eq!((it.symbol.as_deref(), it.value, it.range), (Some("s0"), None, None));
        assert_eq!(it.sources, None);
        // What stands before a fault is kept.
        let it = of(Kind::CreateSymbol, r#"{"symbol": "s0", "val": "4", "vr": [}"#);
        assert_eq!(it.value.as_deref(), Some("4"));
        assert_eq!(of(Kind::CreateSymbol, "null").symbol, None);
    }

    #[test]
    fn conditions_name_their_symbols() {
        let it = of(
            Kind::GuardAdded,
            r#"{"expr": "Eq(s1, s2)", "prefix": "eval", "expr_node_id": 12, "symbol_to_sources": {"s1": "a", "s2": "b"}}"#,
        );
        assert_eq!((it.expr.as_deref(), it.detail.as_deref(), it.node), (Some("Eq(s1, s2)"), Some("eval"), Some(12)));
        assert_eq!(
            (it.source_symbols.unwrap(), it.sources.unwrap()),
            (vec!["s1".into(), "s2".into()], vec!["a".into(), "b".into()])
        );
        let it = of(Kind::GuardOnDataDependentError, r#"{"expr": "u0 > 2", "unhinted_expr": "u0 > s1", "expr_id": 9}"#);
        assert_eq!((it.unhinted.as_deref(), it.node, it.sources), (Some("u0 > s1"), Some(9), None));
        let it = of(Kind::PropagateRealTensors, r#"{"expr": "u0 > 2", "result": "True"}"#);
        assert_eq!((it.expr.as_deref(), it.value.as_deref()), (Some("u0 > 2"), Some("True")));
    }
}
