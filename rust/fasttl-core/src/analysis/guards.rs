//! The conditions under which compiled code may be used again: tables `guards` and `guard_sets`.
//!
//! A record has all guards of one compile. Which guards there are does not depend on their order in the text, nor
//! on ids of objects: `set_md5` is the same for the same guards in two processes.

use std::borrow::Cow;

use rayon::prelude::*;
use rustc_hash::FxHashSet;

use super::places::places;
use crate::error::Result;
use crate::format::frame::Frame;
use crate::format::guards::comment::{self, Comment, Place};
use crate::format::guards::ids::without_ids;
use crate::format::guards::list::{self, Listed};
use crate::format::guards::{self, Guard, Manager};
use crate::format::kind::Kind;
use crate::format::payload::md5;
use crate::index::{PayloadState, Record};
use crate::tables::{Row, Table, TableBuilder, TableDef, compile_columns};
use crate::trace::{Log, Trace};

pub(super) const GUARDS: TableDef =
    TableDef { name: "guards", about: "a guard: a condition under which compiled code may be used again", build };
pub(super) const GUARD_SETS: TableDef =
    TableDef { name: "guard_sets", about: "a record of guards: all those of one compile", build: build_sets };

/// A record with guards, and its payload; `None` where there is none.
struct Text<'t> {
    row: Row<'t>,
    payload: Option<String>,
}

/// Makes something of each record with guards, log by log. The texts of all ranks together are large: what `make` does
/// not keep of one is dropped before the next.
fn of_each_text<'t, T: Send>(trace: &'t Trace, make: impl Fn(Text<'t>) -> T + Sync) -> Result<Vec<T>> {
    let mut all = Vec::new();
    let wanted = |record: &&Record| record.kind.is(Kind::DynamoCppGuardsStr) || record.kind.is(Kind::DynamoGuards);
    for (file, log) in (0..).zip(&trace.logs) {
        let view = log.view()?;
        let of = |record| {
            let payload = match log.index.payload(record, &view).text() {
                _ if matches!(record.payload, PayloadState::None | PayloadState::Missing) => None,
                text => Some(String::from_utf8(text).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into())),
            };
            make(Text { row: Row { file, log, record }, payload })
        };
        let records: Vec<&Record> = log.index.records.iter().filter(wanted).collect();
        all.par_extend(records.into_par_iter().map(of));
    }
    Ok(all)
}

/// A guard, however it was logged.
struct GuardRow<'t> {
    row: Row<'t>,
    position: u32,
    guard: Guard<'t>,
    /// The condition.
    code: Option<Cow<'t, str>>,
    comment: Comment<'t>,
    user_stack: Option<Vec<String>>,
    framework_stack: Option<Vec<String>>,
    duplicate: bool,
}

/// What a record has.
struct Set<'t> {
    guards: Vec<GuardRow<'t>>,
    managers: Option<u64>,
    latency_us: Option<f64>,
    has_payload: bool,
}

/// The guards of a record.
fn set<'t>(trace: &Trace, text: &'t Text<'_>) -> Set<'t> {
    let row = text.row;
    let payload = text.payload.as_deref().unwrap_or_default();
    let has_payload = text.payload.is_some();
    let mut set = if row.record.kind.is(Kind::DynamoGuards) {
        let listed = list::parse(payload.as_bytes()).into_iter();
        let guards = listed.map(|listed| of_list(trace, row, listed)).collect();
        Set { guards, managers: None, latency_us: None, has_payload }
    } else {
        let tree = guards::parse(payload);
        let guards = tree.guards.into_iter().map(|guard| of_tree(row, guard)).collect();
        let managers = has_payload.then_some(tree.managers);
        Set { guards, managers, latency_us: tree.latency_us, has_payload }
    };
    let mut seen = FxHashSet::default();
    for (position, guard) in (0..).zip(&mut set.guards) {
        guard.position = position;
        let code = guard.code.clone();
        // Without a condition, it is one that was printed in full elsewhere.
        guard.duplicate = code.is_some() && !seen.insert((guard.guard.kind, guard.guard.manager.source, code));
    }
    set
}

fn of_tree<'t>(row: Row<'t>, guard: Guard<'t>) -> GuardRow<'t> {
    let comment = guard.comment.map(comment::parse).unwrap_or_default();
    GuardRow {
        row,
        position: 0,
        guard,
        code: guard.code.map(Cow::Borrowed),
        comment,
        user_stack: None,
        framework_stack: comment.framework.map(|place| vec![place.to_owned()]),
        duplicate: false,
    }
}

fn of_list<'t>(trace: &Trace, row: Row<'t>, listed: Listed<'t>) -> GuardRow<'t> {
    let stack = |frames: Option<Vec<Frame>>| frames.map(|frames| places(trace, row.log, row.record.offset, &frames));
    GuardRow {
        row,
        position: 0,
        guard: Guard::default(),
        user_stack: stack(listed.user_stack),
        framework_stack: stack(listed.stack),
        code: Some(listed.code),
        comment: Comment::default(),
        duplicate: false,
    }
}

/// MD5 of the guards as a set.
fn set_md5(guards: &[GuardRow<'_>]) -> [u8; 16] {
    // A guard on several values is printed in full at the first of them, and which that is depends on the order.
    let named_alone = guards.iter().filter(|guard| guard.code.is_none());
    let on_several: FxHashSet<&str> = named_alone.filter_map(|guard| guard.guard.kind).collect();
    let line = |guard: &GuardRow<'_>| {
        let kind = guard.guard.kind.unwrap_or_default();
        let source = guard.guard.manager.source.filter(|_| !on_several.contains(kind)).unwrap_or_default();
        let code = without_ids(guard.code.as_deref()?);
        Some(format!("{kind}\0{}\0{code}\0", without_ids(source)))
    };
    let mut lines: Vec<String> = guards.iter().filter_map(line).collect();
    lines.sort_unstable();
    lines.dedup();
    md5(lines.concat().as_bytes())
}

fn build(trace: &Trace) -> Result<Table> {
    let texts = of_each_text(trace, |text| text)?;
    let sets: Vec<Set<'_>> = texts.par_iter().map(|text| set(trace, text)).collect();
    let rows: Vec<GuardRow<'_>> = sets.into_iter().flat_map(|set| set.guards).collect();
    let builder = compile_columns(TableBuilder::new(&rows), |r| r.row)
        .u64("offset", "Byte at which the record starts.", |r| Some(r.row.record.offset))
        .u32("position", "Place among the guards of the record, from 0.", |r| Some(r.position))
        .name(
            "kind",
            "Kind of the guard, such as TENSOR_MATCH; null where the log names none (`dynamo_guards`, text that is no \
             guard).",
            |r| r.guard.kind.map(Cow::Borrowed),
        )
        .name("source", "Expression of the value that it is a condition on, such as `L['x']`; null at the root.", |r| {
            r.guard.manager.source.map(Cow::Borrowed)
        })
        .text(
            "code",
            "The condition. A guard on several values has it once; at the others it is null. Text that is no guard as \
             it stands.",
            |r| r.code.as_deref().map(Cow::Borrowed),
        )
        .text("normal", "The condition with `#` for each id of an object and each address, to be compared.", |r| {
            r.code.as_deref().map(without_ids)
        })
        .bool("duplicate", "Whether an earlier guard of the record has the same source, kind and condition.", |r| {
            Some(r.duplicate)
        });
    places_of(values(builder)).finish("guards")
}

/// Columns about the value that a guard looks at.
fn values<'r>(builder: TableBuilder<'r, GuardRow<'r>>) -> TableBuilder<'r, GuardRow<'r>> {
    let manager = |r: &'r GuardRow<'r>| -> Manager<'r> { r.guard.manager };
    builder
        .name("accessed_by", "How the value is reached from the one above it, as PyTorch prints it.", move |r| {
            manager(r).accessed_by.map(Cow::Borrowed)
        })
        .name("value_type", "Type of the value, such as `<class 'dict'>`; early releases do not print it.", move |r| {
            manager(r).value_type.map(Cow::Borrowed)
        })
        .u32(
            "depth",
            "Depth in the tree: 0 for conditions that are checked after all others, 1 below the root; null where there \
             is no tree.",
            |r| r.guard.depth,
        )
}

/// Columns about where a guard comes from.
fn places_of<'r>(builder: TableBuilder<'r, GuardRow<'r>>) -> TableBuilder<'r, GuardRow<'r>> {
    let user = |r: &'r GuardRow<'r>| -> Option<Place<'r>> { r.comment.user };
    builder
        .name(
            "user_code",
            "Text of the line that it comes from. Where a condition on sizes comes from several, the first.",
            move |r| user(r)?.code.map(Cow::Borrowed),
        )
        .name(
            "user_file",
            "File of that line, as PyTorch prints it: without what it has in common with PyTorch's folder, and in any \
             case without its first two characters (`mp/a.py` is `/tmp/a.py`).",
            move |r| user(r).map(|place| Cow::Borrowed(place.file)),
        )
        .i64("user_line", "Number of that line.", move |r| user(r)?.line)
        .name("user_function", "Function of that line.", move |r| user(r).map(|place| Cow::Borrowed(place.function)))
        .name("hint", "What PyTorch says of it as a hint.", |r| {
            r.comment.hint.map(Cow::Borrowed)
        })
        .name("comment", "All that stands behind the condition, hint included, as PyTorch prints it.", |r| {
            r.guard.comment.map(Cow::Borrowed)
        })
        .texts(
            "user_stack",
            "Stack of the program, outermost first: `file:line in function`. Only `dynamo_guards` has it.",
            |r| r.user_stack.clone(),
        )
        .texts(
            "framework_stack",
            "Stack in PyTorch, outermost first: `file:line in function`. Of other guards than those of `dynamo_guards`, \
             the one place that the comment names.",
            |r| r.framework_stack.clone(),
        )
}

fn build_sets(trace: &Trace) -> Result<Table> {
    let sets = of_each_text(trace, |text| set_row(text.row, &set(trace, &text)))?;
    compile_columns(TableBuilder::new(&sets), |r| r.row)
        .u64("offset", "Byte at which the record starts.", |r| Some(r.row.record.offset))
        .time("time", "When it was logged.", |r| r.row.record.time_us())
        .name("kind", "Kind of the record: dynamo_cpp_guards_str or dynamo_guards.", |r| {
            let log: &Log = r.row.log;
            Some(Cow::Borrowed(log.index.names.kind(r.row.record.kind)))
        })
        .u64(
            "guards",
            "Its guards: rows of `guards`; null where the payload is missing. `guard_count` of `metrics` is another \
             number: guards that Dynamo asked for, before they were put together.",
            |r| r.guards,
        )
        .u64(
            "managers",
            "Nodes of the tree that are no guards: managers of values, and pairs of key and value in a dict; null \
             without a tree.",
            |r| r.managers,
        )
        .u64("duplicates", "Guards that say again what an earlier one says.", |r| r.duplicates)
        .f64(
            "latency_us",
            "Microseconds that a check of all guards takes, as PyTorch measured it after the build; null where it did \
             not measure, which the log has as 0.00 or not at all.",
            |r| r.latency_us,
        )
        .md5(
            "set_md5",
            "MD5 of the guards as a set: kind, source and condition, without ids and addresses, in any order. Equal \
             ones mean equal guards.",
            |r| r.set_md5,
        )
        .finish("guard_sets")
}

/// A row of `guard_sets`.
struct SetRow<'t> {
    row: Row<'t>,
    guards: Option<u64>,
    managers: Option<u64>,
    duplicates: Option<u64>,
    latency_us: Option<f64>,
    set_md5: Option<[u8; 16]>,
}

fn set_row<'t>(row: Row<'t>, set: &Set<'_>) -> SetRow<'t> {
    let count = |n: usize| u64::try_from(n).ok().filter(|_| set.has_payload);
    SetRow {
        row,
        guards: count(set.guards.len()),
        managers: set.managers,
        duplicates: count(set.guards.iter().filter(|guard| guard.duplicate).count()),
        latency_us: set.latency_us,
        set_md5: set.has_payload.then(|| set_md5(&set.guards)),
    }
}
