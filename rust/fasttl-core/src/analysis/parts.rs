//! The Inductor compiles inside one compile id: forward and backward, the pieces of `DDPOptimizer` or vLLM, what
//! comes from a cache.
//!
//! A part is a span `inductor_compile`; its end says whether it was a backward. What a cache gives back is
//! logged without such a span: there a part ends with its `fx_graph_cache_hit`, and a new one begins where a
//! graph or code comes a second time. Where no span tells the direction, the graph does: only backward graphs
//! have inputs called `tangents_`.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::format::compile_id::CompileId;
use crate::format::json;
use crate::format::kind::Kind;
use crate::index::{KindId, Record};
use crate::tables::TableBuilder;
use crate::trace::Log;

/// One Inductor compile of a compile id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Part {
    /// N-th within its compile id and try, from 0.
    pub number: u32,
    /// N-th of its direction, from 0: the same on all ranks, whichever they compiled first.
    pub nth: u32,
    /// Whether it compiled a backward graph; `None` where the log does not tell.
    pub is_backward: Option<bool>,
}

impl Part {
    /// `part 2, backward` for people, who count from 1.
    pub fn label(self) -> String {
        let direction = match self.is_backward {
            Some(true) => ", backward",
            Some(false) => ", forward",
            None => "",
        };
        format!("part {}{direction}", self.number.saturating_add(1))
    }
}

/// Which part each record of a log belongs to.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    list: Vec<Part>,
    of: FxHashMap<usize, usize>,
}

impl Parts {
    /// The part of the record number `record`; `None` for what belongs to no Inductor compile.
    pub fn of(&self, record: usize) -> Option<Part> {
        self.list.get(*self.of.get(&record)?).copied()
    }
}

/// Records that an Inductor compile has once; a second one of the same name begins another compile.
const ONCE: &[&str] = &[
    "fx_graph_runnable",
    "before_post_grad_graph",
    "after_post_grad_graph",
    "inductor_post_grad_graph",
    "inductor_output_code",
    "inductor_collective_schedule",
    "inductor_runtime_and_tensor_meta",
    "inductor_provenance_tracking_node_mappings",
];

/// Records that belong to the Inductor compile that they follow.
const MEMBERS: &[&str] = &[
    "inductor_provenance_tracking_kernel_stack_traces",
    "inductor_post_to_pre_grad_nodes",
    "inductor_generated_kernel_to_post_grad_nodes",
    "inductor_triton_kernel_to_post_grad_nodes",
    "triton_kernel_info",
    "fx_graph_cache_hash",
    "fx_graph_cache_miss",
    "fx_graph_cache_bypass",
    "inductor_aot_wrapper_code",
    "inductor_aot_kernel_code",
    "inductor_aot_header_code",
    "inductor_aot_code",
];

/// The last record of what a cache gives back.
const ENDERS: &[&str] = &["fx_graph_cache_hit", "fx_graph_bundled_cache_hit"];

/// What a compile id is doing at some record.
#[derive(Default)]
struct State<'a> {
    /// The part of the open span.
    span: Option<usize>,
    /// The part that stands outside of spans, with what it has once.
    loose: Option<(usize, FxHashSet<&'a str>)>,
    /// How many spans of a backward compile are open.
    backward: usize,
    /// All its parts.
    list: Vec<usize>,
}

/// Finds the parts of a log. `bytes` are the log's.
pub fn parts(log: &Log, bytes: &[u8]) -> Parts {
    let mut parts = Parts::default();
    let mut states: BTreeMap<(u32, CompileId), State<'_>> = BTreeMap::new();
    let mut graphs: BTreeMap<usize, usize> = BTreeMap::new();
    for (at, record) in log.index.records.iter().enumerate() {
        let id = log.index.names.id(record).collapsed();
        if record.kind.is(Kind::ChromiumEvent) {
            if let Some(span) = span(log, record, bytes) {
                let id = if id.is_none() { span.id.collapsed() } else { id };
                states.entry((record.generation, id)).or_default().event(span, &mut parts);
            }
            continue;
        }
        let Some(name) = stage(log, record) else { continue };
        let part = states.entry((record.generation, id)).or_default().part(name, &mut parts);
        parts.of.insert(at, part);
        if name.ends_with("post_grad_graph") || name == "fx_graph_runnable" {
            graphs.entry(part).or_insert(at);
        }
    }
    for (part, at) in graphs {
        let Some(part) = parts.list.get_mut(part).filter(|p| p.is_backward.is_none()) else { continue };
        if let Some(record) = log.index.records.get(at).filter(|r| r.payload.is_whole()) {
            let lines = log.index.payload(record, bytes).raw();
            part.is_backward = Some(memchr::memmem::find(lines, b"tangents_").is_some());
        }
    }
    for state in states.values() {
        let mut counts: FxHashMap<Option<bool>, u32> = FxHashMap::default();
        for at in &state.list {
            if let Some(part) = parts.list.get_mut(*at) {
                let count = counts.entry(part.is_backward).or_default();
                part.nth = *count;
                *count += 1;
            }
        }
    }
    parts
}

/// The name under which a record belongs to an Inductor compile.
fn stage<'a>(log: &'a Log, record: &Record) -> Option<&'a str> {
    let KindId::Known(kind) = record.kind else { return None };
    let name = match kind {
        Kind::Artifact | Kind::GraphDump => log.index.names.name(record)?,
        Kind::InductorPostGradGraph | Kind::InductorOutputCode => kind.info().name,
        _ => return None,
    };
    [ONCE, MEMBERS, ENDERS].iter().any(|names| names.contains(&name)).then_some(name)
}

impl<'a> State<'a> {
    fn new_part(&mut self, parts: &mut Parts) -> usize {
        let is_backward = (self.backward > 0).then_some(true);
        let number = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        self.list.push(parts.list.len());
        parts.list.push(Part { number, nth: 0, is_backward });
        parts.list.len() - 1
    }

    fn event(&mut self, span: Span, parts: &mut Parts) {
        match (span.is_inductor, span.begins) {
            (true, true) => {
                self.loose = None;
                self.span = Some(self.new_part(parts));
            }
            (true, false) => {
                let open = self.span.take().and_then(|part| parts.list.get_mut(part));
                if let (Some(part), Some(is_backward)) = (open, span.is_backward) {
                    part.is_backward = Some(is_backward);
                }
            }
            (false, true) => self.backward += 1,
            (false, false) => self.backward = self.backward.saturating_sub(1),
        }
    }

    /// The part that a record called `name` belongs to.
    fn part(&mut self, name: &'a str, parts: &mut Parts) -> usize {
        if let Some(part) = self.span {
            return part;
        }
        let once = ONCE.contains(&name);
        let (part, mut seen) = match self.loose.take() {
            Some((part, seen)) if !(once && seen.contains(name)) => (part, seen),
            _ => (self.new_part(parts), FxHashSet::default()),
        };
        if !ENDERS.contains(&name) {
            if once {
                seen.insert(name);
            }
            self.loose = Some((part, seen));
        }
        part
    }
}

/// A timing event that begins or ends an Inductor compile or a backward compile.
#[derive(Clone, Copy)]
struct Span {
    is_inductor: bool,
    begins: bool,
    is_backward: Option<bool>,
    id: CompileId,
}

fn span(log: &Log, record: &Record, bytes: &[u8]) -> Option<Span> {
    // The TABs of the lines are white space to JSON. The name is the first member, so that this is a short look.
    let text = log.index.payload(record, bytes).raw();
    let is_inductor = match json::member(text, b"name")? {
        b"\"inductor_compile\"" => true,
        b"\"entire_backward_compile\"" => false,
        _ => return None,
    };
    let begins = match json::member(text, b"ph")? {
        b"\"B\"" => true,
        b"\"E\"" => false,
        _ => return None,
    };
    let args = json::member(text, b"args").unwrap_or_default();
    let is_backward = match json::member(args, b"is_backward") {
        Some(b"true") => Some(true),
        Some(b"false") => Some(false),
        _ => None,
    };
    let id = json::member(args, b"compile_id").and_then(json::unescape);
    let id = id.and_then(|id| CompileId::parse(&id)).unwrap_or_default().without_attempt();
    Some(Span { is_inductor, begins, is_backward, id })
}

/// Adds the columns that say which Inductor compile a row belongs to.
pub(super) fn part_columns<'r, R: Sync>(
    builder: TableBuilder<'r, R>,
    part: impl Fn(&'r R) -> Option<Part> + Copy + Send + 'r,
) -> TableBuilder<'r, R> {
    builder
        .u32("part", "N-th Inductor compile within the compile id, from 0; null for what belongs to none.", move |r| {
            part(r).map(|part| part.number)
        })
        .bool("is_backward", "Whether that compiles a backward graph; null where the log does not tell.", move |r| {
            part(r).and_then(|part| part.is_backward)
        })
}
