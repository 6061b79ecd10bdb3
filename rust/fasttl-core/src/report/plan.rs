//! Decides, record by record, which files a log's report has and what they are called.

use std::collections::hash_map;

use rustc_hash::{FxHashMap, FxHashSet};

use super::extras::{Extra, Output as Made, stem_and_ending};
use super::names::{Namer, Number, RelPath, eval_with_key};
use super::provenance::ProvenancePage;
use super::standard::{has_export_file, has_file, taken};
use super::{CodeStyle, Mode};
use crate::format::compile_id::CompileId;
use crate::format::json;
use crate::format::kind::{Kind, Output};
use crate::format::payload::md5_hex;
use crate::index::{Encoding, Index, KindId, PayloadState, Record};
use crate::tables::MetricRecords;
use crate::trace::Log;

/// What is written into a planned file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Content {
    /// The payload as it is.
    Payload,
    /// The payload as strict, indented JSON.
    Json,
    /// The payload as a page of code; lines are numbered where other pages point at them.
    Code,
    /// The same, with lines that other pages point at.
    Dump,
    /// A page of guards.
    Guards,
    /// A page of metrics.
    Metrics,
    /// A page of stacks by kernel.
    KernelStacks,
    /// A page of a condition on sizes or data.
    SymbolicGuard,
    /// What a custom parser made: its number among the log's.
    Extra(usize),
}

/// A file to write.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    /// The record that it comes from.
    pub(super) record: usize,
    /// What it holds.
    pub(super) content: Content,
    /// Where it goes.
    pub(super) path: RelPath,
}

/// A file with the same bytes as one that is written.
#[derive(Clone, Debug)]
pub(super) struct Same {
    /// The written one.
    pub(super) of: RelPath,
    /// The other.
    pub(super) path: RelPath,
}

/// Where an entry of the directory leads.
#[derive(Clone, Debug)]
pub(super) enum Target {
    /// A file of the report.
    File(RelPath),
    /// An address that the log gives.
    Link(String),
}

/// A file or link, as the directory lists it.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// Where it leads.
    pub(super) target: Target,
    /// Its name: that of the file, or of the link.
    pub(super) name: String,
    /// Number in the standard report.
    pub(super) number: Option<u32>,
    /// A page that shows the same for people.
    pub(super) readable: Option<RelPath>,
    /// Bytes of the payload behind it.
    pub(super) bytes: u64,
    /// The record.
    pub(super) record: usize,
    /// The custom parser that made it.
    pub(super) parser: Option<String>,
}

/// The files of a log's report.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Files to write.
    pub(super) files: Vec<Planned>,
    /// Files that hold what another one holds: configurations, graphs that come again.
    pub(super) same: Vec<Same>,
    /// Entries by the compile that they stand under, in order of first sight.
    pub(super) directory: Vec<(CompileId, Vec<Entry>)>,
    /// The file that `raw.jsonl` names for a record's payload, by record.
    pub(super) payload_files: Vec<(usize, RelPath)>,
    /// Where an id stands in `directory`.
    pub(super) by_id: FxHashMap<CompileId, usize>,
    /// Dumped sources by the number in their name: their pages, and how many lines these have.
    pub(super) dumps: FxHashMap<u64, (RelPath, usize)>,
    /// Pages that tie graphs to code, by compile; see [`super::provenance`].
    pub(super) provenance: FxHashMap<CompileId, ProvenancePage>,
}

/// Plans the report of one log.
pub(super) fn plan(
    log: &Log,
    bytes: &[u8],
    metrics: &MetricRecords<'_>,
    (style, mode): (CodeStyle, Mode),
    extras: &[Extra],
) -> Plan {
    let mut planner = Planner {
        index: &log.index,
        bytes,
        style,
        mode,
        namer: Namer::default(),
        number: 0,
        extra: 0,
        by_md5: FxHashMap::default(),
        whole: log.index.records.iter().filter(|r| r.payload.is_whole()).map(|r| r.md5).collect(),
        by_content: FxHashMap::default(),
        dumps: FxHashMap::default(),
        plan: Plan::default(),
    };
    let taken = taken(&log.index, bytes, metrics);
    for ((at, record), takes) in log.index.records.iter().enumerate().zip(taken) {
        planner.record(at, record, takes);
    }
    for (nth, extra) in extras.iter().enumerate() {
        planner.extra(nth, extra);
    }
    planner.plan
}

struct Planner<'a> {
    index: &'a Index,
    bytes: &'a [u8],
    style: CodeStyle,
    mode: Mode,
    namer: Namer,
    number: u32,
    extra: u32,
    by_md5: FxHashMap<[u8; 16], RelPath>,
    /// MD5s of which the log has a whole payload.
    whole: FxHashSet<[u8; 16]>,
    by_content: FxHashMap<([u8; 16], Content), RelPath>,
    /// Dumped sources by name, with the md5 of what they hold where it is known.
    dumps: FxHashMap<String, (Option<[u8; 16]>, RelPath)>,
    plan: Plan,
}

impl Planner<'_> {
    fn record(&mut self, at: usize, record: &Record, takes: bool) {
        if record.kind.is(Kind::Str) {
            return;
        }
        let slot = self.slot(self.index.names.id(record).collapsed());
        if record.kind.is(Kind::ChromiumEvent) {
            return;
        }
        let own_file = self.own_files(at, record, takes, slot);
        let has_text = record.has_payload() && record.text_len > 0;
        let payload = match own_file {
            // In the standard report of an export, most payloads have no other file.
            Some(_)
                if self.mode == Mode::Export
                    && takes
                    && has_text
                    && !has_export_file(self.index, record, self.bytes) =>
            {
                Some(self.payload_file(at, record))
            }
            Some(path) => Some(path),
            None if has_text => Some(self.payload_file(at, record)),
            None => None,
        };
        if let Some(path) = payload {
            if !self.is_listed(slot, at) {
                let name = self.index.names.kind(record.kind).to_owned();
                self.list(slot, at, record, Target::File(path.clone()), name, None);
            }
            // The standard reader names no file for a record that it drops.
            if takes {
                self.plan.payload_files.push((at, path));
            }
        }
    }

    /// The directory's list for an id.
    fn slot(&mut self, id: CompileId) -> usize {
        let Plan { directory, by_id, .. } = &mut self.plan;
        *by_id.entry(id).or_insert_with(|| {
            directory.push((id, Vec::new()));
            directory.len() - 1
        })
    }

    fn is_listed(&self, slot: usize, at: usize) -> bool {
        let entries = self.plan.directory.get(slot);
        entries.and_then(|(_, entries)| entries.last()).is_some_and(|entry| entry.record == at)
    }

    /// Plans the files that a record has of its own; yields the one that holds its payload unchanged.
    fn own_files(&mut self, at: usize, record: &Record, takes: bool, slot: usize) -> Option<RelPath> {
        let KindId::Known(kind) = record.kind else { return None };
        let known = kind.info().output;
        let name = self.index.names.name(record).unwrap_or(kind.info().name).to_owned();
        let (name, ending, content) = match known {
            Output::None if self.mode == Mode::Export && is_condition(kind) => {
                ("symbolic_guard_information".to_owned(), "html", Content::SymbolicGuard)
            }
            Output::None => return None,
            Output::Extra if kind == Kind::ExportedProgram && self.mode == Mode::Export => {
                (kind.info().name.to_owned(), "txt", Content::Payload)
            }
            Output::Extra if kind == Kind::Export || kind == Kind::ExportedProgram => return None,
            Output::Link => {
                self.link(at, record, takes && self.mode == Mode::Compile, slot, name);
                return None;
            }
            Output::Dump => {
                self.dump(at, record, takes && self.mode == Mode::Compile, slot, &name);
                return None;
            }
            Output::Text => (kind.info().name.to_owned(), "txt", Content::Payload),
            Output::Named if kind == Kind::OptimizeDdpSplitChild => {
                (format!("optimize_ddp_split_child_{name}"), "txt", Content::Payload)
            }
            Output::Named if record.encoding == Encoding::Json => (name, "json", Content::Json),
            Output::Named => (name, "txt", Content::Payload),
            Output::Code => {
                let plain = self.style == CodeStyle::PlainText;
                let ending = if plain { "txt" } else { "html" };
                let content = if plain { Content::Payload } else { Content::Code };
                (code_name(self.index.names.name(record)), ending, content)
            }
            Output::Page if kind == Kind::DynamoGuards && !self.guards_are_readable(record) => return None,
            Output::Page if kind == Kind::DynamoGuards => (kind.info().name.to_owned(), "html", Content::Guards),
            Output::Page | Output::Extra => (kind.info().name.to_owned(), "html", Content::Metrics),
        };
        let standard = match self.mode {
            Mode::Compile => {
                known != Output::Extra
                    && (kind != Kind::Artifact || has_file(record))
                    && (kind != Kind::DynamoGuards || self.guards_are_strict(record))
            }
            Mode::Export => has_export_file(self.index, record, self.bytes),
        };
        let number = self.next_number(takes && standard);
        let folder = self.index.names.id(record).folder();
        let path = self.namer.path(&folder, &name, number, ending);
        self.file(at, record, content, path.clone());
        let shown = path.as_str().strip_prefix(&format!("{folder}/")).unwrap_or(path.as_str()).to_owned();
        let listed = match number {
            Number::Standard(n) => Some(n),
            Number::Extra(_) | Number::None => None,
        };
        self.list(slot, at, record, Target::File(path.clone()), shown, listed);
        if name.starts_with("inductor_provenance_tracking_kernel_stack_traces") && content == Content::Json {
            self.readable(at, record, slot, &path);
        }
        matches!(content, Content::Payload | Content::Json).then_some(path)
    }

    fn next_number(&mut self, standard: bool) -> Number {
        let counter = if standard { &mut self.number } else { &mut self.extra };
        let number = *counter;
        *counter += 1;
        if standard { Number::Standard(number) } else { Number::Extra(number) }
    }

    fn list(&mut self, slot: usize, at: usize, record: &Record, target: Target, name: String, number: Option<u32>) {
        if let Some((_, entries)) = self.plan.directory.get_mut(slot) {
            entries.push(Entry {
                target,
                name,
                number,
                readable: None,
                bytes: record.text_len,
                record: at,
                parser: None,
            });
        }
    }

    /// Where a payload without a file of its own stands, once for each content.
    fn payload_file(&mut self, at: usize, record: &Record) -> RelPath {
        let whole = record.payload.is_whole();
        if let Some(path) = self.by_md5.get(&record.md5).filter(|_| whole) {
            return path.clone();
        }
        // A damaged payload must not take the name of the whole one that the log has elsewhere.
        let path = if !whole && self.whole.contains(&record.md5) {
            let number = self.next_number(false);
            self.namer.path("payloads", &md5_hex(record.md5), number, "txt")
        } else {
            self.namer.payload(record.md5)
        };
        if whole {
            self.by_md5.insert(record.md5, path.clone());
        }
        self.file(at, record, Content::Payload, path.clone());
        path
    }

    /// Plans a file; of equal payloads only the first is written.
    fn file(&mut self, record_at: usize, record: &Record, content: Content, path: RelPath) {
        let copied = matches!(content, Content::Payload | Content::Json) && record.payload == PayloadState::Verified;
        if copied {
            match self.by_content.entry((record.md5, content)) {
                hash_map::Entry::Occupied(first) => {
                    self.plan.same.push(Same { of: first.get().clone(), path });
                    return;
                }
                hash_map::Entry::Vacant(first) => {
                    first.insert(path.clone());
                }
            }
        }
        self.plan.files.push(Planned { record: record_at, content, path });
    }

    fn link(&mut self, at: usize, record: &Record, takes: bool, slot: usize, name: String) {
        let url = json::member(self.index.metadata(record, self.bytes), b"url").unwrap_or_default();
        // What is no text leads nowhere, and is shown as it stands.
        let url = json::unescape(url).unwrap_or_else(|| String::from_utf8_lossy(url).into_owned());
        let number = match self.next_number(takes) {
            Number::Standard(n) => Some(n),
            Number::Extra(_) | Number::None => None,
        };
        self.list(slot, at, record, Target::Link(url), name, number);
    }

    /// A dumped source has no number in its name; the first of a name has the name that frames point to, and
    /// another text under that name gets one of its own.
    fn dump(&mut self, at: usize, record: &Record, takes: bool, slot: usize, name: &str) {
        let key = eval_with_key(name);
        let stem = key.map_or_else(|| name.to_owned(), |n| format!("eval_with_key_{n}"));
        let number = match self.next_number(takes) {
            Number::Standard(n) => Some(n),
            Number::Extra(_) | Number::None => None,
        };
        // The md5 in the head of a damaged payload is not that of its text.
        let holds = record.payload.is_whole().then_some(record.md5);
        let path = match self.dumps.get(&stem) {
            Some((md5, path)) if holds.is_some() && *md5 == holds => path.clone(),
            before => {
                let again = if before.is_some() { self.next_number(false) } else { Number::None };
                let path = self.namer.path("dump_file", &stem, again, "html");
                self.plan.files.push(Planned { record: at, content: Content::Dump, path: path.clone() });
                self.dumps.entry(stem).or_insert_with(|| (holds, path.clone()));
                path
            }
        };
        if let Some(key) = key {
            let (index, bytes) = (self.index, self.bytes);
            self.plan.dumps.entry(key).or_insert_with(|| {
                let text = index.payload(record, bytes).text();
                (path.clone(), memchr::memchr_iter(b'\n', &text).count() + 1)
            });
        }
        let shown = path.file_name().to_owned();
        self.list(slot, at, record, Target::File(path), shown, number);
    }

    /// The standard report has a page beside the kernel stacks, which takes a number too.
    fn readable(&mut self, at: usize, record: &Record, slot: usize, path: &RelPath) {
        let text = self.index.payload(record, self.bytes).text();
        if serde_json::from_slice::<serde::de::IgnoredAny>(&text).is_err() {
            return;
        }
        let stem = path.as_str().strip_suffix(".json").unwrap_or(path.as_str());
        let (folder, stem) = stem.rsplit_once('/').unwrap_or(("", stem));
        let readable = self.namer.path(folder, &format!("{stem}_readable"), Number::None, "html");
        self.plan.files.push(Planned { record: at, content: Content::KernelStacks, path: readable.clone() });
        let entries = self.plan.directory.get_mut(slot).map(|(_, entries)| entries);
        if let Some(entry) = entries.and_then(|e| e.last_mut()) {
            entry.readable = Some(readable);
            if let Some(number) = &mut entry.number {
                // The page takes a number, and the entry shows the page's.
                *number = self.number;
                self.number += 1;
            }
        }
    }

    /// What a custom parser made. It comes after all else, so that the names of other files do not depend on it.
    fn extra(&mut self, nth: usize, extra: &Extra) {
        let index = self.index;
        let Ok(at) = index.records.binary_search_by_key(&extra.offset, |r| r.offset) else { return };
        let Some(record) = index.records.get(at) else { return };
        let id = index.names.id(record);
        let slot = self.slot(id.collapsed());
        let (target, name, bytes) = match &extra.output {
            Made::Link(url) => (Target::Link(url.clone()), extra.name.clone(), 0),
            Made::File(form, content) => {
                let (stem, ending) = stem_and_ending(&extra.name, *form);
                let number = self.next_number(false);
                let folder = id.folder();
                let path = self.namer.path(&folder, stem, number, ending);
                self.plan.files.push(Planned { record: at, content: Content::Extra(nth), path: path.clone() });
                let shown = path.as_str().strip_prefix(&format!("{folder}/")).unwrap_or(path.as_str()).to_owned();
                (Target::File(path), shown, content.len())
            }
        };
        if let Some((_, entries)) = self.plan.directory.get_mut(slot) {
            let parser = Some(extra.parser.clone());
            entries.push(Entry { target, name, number: None, readable: None, bytes, record: at, parser });
        }
    }

    fn guards_are_readable(&self, record: &Record) -> bool {
        let text = self.index.payload(record, self.bytes).text();
        json::only_value(&text).is_ok() && text.trim_ascii_start().starts_with(b"[")
    }

    /// The standard reader writes no page of guards that it cannot read.
    fn guards_are_strict(&self, record: &Record) -> bool {
        let text = self.index.payload(record, self.bytes).text();
        let guards = serde_json::from_slice::<Vec<serde_json::Map<String, serde_json::Value>>>(&text);
        guards.is_ok_and(|all| all.iter().all(|guard| guard.get("code").is_some_and(serde_json::Value::is_string)))
    }
}

/// Whether a record of this kind is a condition that a page can be made of.
fn is_condition(kind: Kind) -> bool {
    matches!(kind, Kind::GuardAdded | Kind::PropagateRealTensorsProvenance | Kind::GuardOnDataDependentError)
}

/// Name of a page of generated code: the stem of the file that PyTorch wrote, if it names one.
fn code_name(file: Option<&str>) -> String {
    let base = file.and_then(|f| f.rsplit('/').next()).filter(|base| !base.is_empty());
    let stem = base.map(|base| match base.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => base,
    });
    stem.map_or_else(|| "inductor_output_code".to_owned(), |stem| format!("inductor_output_code_{stem}"))
}
