//! What a compile is compared by. Ranks that compiled the same have the same profile, which is kept once: a job has
//! hundreds of ranks, and most of them are alike.

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::Aspect;
use crate::analysis::align::Known;
use crate::analysis::compiles::Status;
use crate::analysis::parts::Part;
use crate::analysis::read_graphs::ReadGraphs;
use crate::analysis::schedules::ScheduleSource;
use crate::format::compile_id::CompileId;

/// Generation and compile id without attempt.
pub type Key = (u32, CompileId);

/// What many ranks share: texts and profiles, each kept once, and graphs, each read once.
#[derive(Debug, Default)]
pub struct Texts {
    kept: Mutex<FxHashSet<Arc<str>>>,
    profiles: Mutex<FxHashSet<Arc<Profile>>>,
    /// By the MD5 of a payload, what was made of it.
    read: Mutex<FxHashMap<[u8; 16], [u8; 16]>>,
    pub(in crate::analysis::ranks) graphs: ReadGraphs,
}

impl Texts {
    /// The text, which others may have, too.
    pub(in crate::analysis::ranks) fn keep(&self, text: &str) -> Arc<str> {
        let mut texts = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = texts.get(text) {
            return Arc::clone(known);
        }
        let new: Arc<str> = text.into();
        texts.insert(Arc::clone(&new));
        new
    }

    /// The profile, which others may have, too.
    pub(super) fn keep_profile(&self, profile: Profile) -> Arc<Profile> {
        let mut profiles = self.profiles.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = profiles.get(&profile) {
            return Arc::clone(known);
        }
        let new = Arc::new(profile);
        profiles.insert(Arc::clone(&new));
        new
    }

    /// What `read` makes of a text whose MD5 is `of`, once for all that have it.
    pub(super) fn once(&self, of: [u8; 16], read: impl FnOnce() -> [u8; 16]) -> [u8; 16] {
        let lock = || self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&of) {
            return *known;
        }
        let made = read();
        lock().insert(of, made);
        made
    }
}

/// What the log says of one thing, or why that is not known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::analysis::ranks) enum Value {
    /// A digest of what is compared, and what a person reads of it.
    Known([u8; 16], Arc<str>),
    /// Why it is not known.
    Unknown(Arc<str>),
}

/// One thing that a log says of a compile.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::analysis::ranks) struct Said {
    /// What it is about.
    pub(in crate::analysis::ranks) aspect: Aspect,
    /// Which of several things of its aspect: a stage, a layer of the caches. Empty where there is one.
    pub(in crate::analysis::ranks) what: Arc<str>,
    /// What it says.
    pub(in crate::analysis::ranks) value: Value,
}

/// The collectives of one graph; see [`crate::analysis::schedules::Schedule`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ScheduleFact {
    /// What kind of record they are from.
    pub source: ScheduleSource,
    /// The Inductor compile.
    pub part: Option<Part>,
    /// Operators, each with a line feed behind it; why they could not be read.
    pub ops: Result<Arc<str>, Arc<str>>,
    /// How they agree with the code.
    pub parity: ParityFact,
}

/// How the collectives of a graph agree with its code; see [`crate::analysis::schedules::Parity`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ParityFact {
    /// Both were compared.
    Compared {
        /// Number of collectives in one and not in the other.
        offset: u32,
        /// Whether the same ones stand in another order.
        reordered: bool,
        /// Collectives in the code whose result nothing in it waits for.
        missing_waits: u32,
    },
    /// It cannot be told, for this reason.
    Unknown(Arc<str>),
    /// There is nothing to compare.
    Nothing,
}

/// Estimates and outputs of the operations of one graph.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RuntimeFact {
    /// The Inductor compile.
    pub part: Option<Part>,
    /// MD5 of all outputs; why they could not be read.
    pub outputs: Result<[u8; 16], Arc<str>>,
    /// Nanoseconds of all operations, as bits of a float; `None` where one has no estimate.
    total_ns: Option<u64>,
}

impl RuntimeFact {
    pub(super) fn new(part: Option<Part>, outputs: Result<[u8; 16], Arc<str>>, total_ns: Option<f64>) -> Self {
        // -0.0 is 0.0.
        Self { part, outputs, total_ns: total_ns.map(|ns| (ns + 0.0).to_bits()) }
    }

    /// Nanoseconds of all operations; `None` where one has no estimate.
    pub fn total_ns(&self) -> Option<f64> {
        self.total_ns.map(f64::from_bits)
    }
}

/// All that a compile is compared by.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Profile {
    /// Generation and id.
    pub key: Key,
    /// Its function.
    pub name: Option<Arc<str>>,
    /// Name of the file of its code, without the folder.
    pub file: Option<Arc<str>>,
    /// First line of its code.
    pub line: Option<i64>,
    /// How it ended.
    pub status: Status,
    /// Whether the log ends before it did.
    pub unfinished: bool,
    /// Whether the frame had been compiled before.
    pub is_recompile: bool,
    /// What the log says of it, aspect by aspect.
    pub(in crate::analysis::ranks) said: Vec<Said>,
    /// Its collectives, graph by graph.
    pub schedules: Vec<ScheduleFact>,
    /// Its operations, graph by graph.
    pub runtimes: Vec<RuntimeFact>,
}

impl Profile {
    /// `function at file:line`; `None` where the log does not name it.
    pub fn code(&self) -> Option<String> {
        let name = self.name.as_deref()?;
        let line = self.line.map(|line| format!(":{line}")).unwrap_or_default();
        Some(format!("{name} at {}{line}", self.file.as_deref().unwrap_or_default()))
    }

    /// Dynamo's graph, the first of its graphs, where it could be read.
    pub(in crate::analysis::ranks) fn dynamo_graph(&self) -> Option<&Value> {
        let mut graphs = self.said.iter().filter(|said| said.aspect == Aspect::Graph);
        graphs.find(|said| said.what.starts_with("dynamo")).map(|said| &said.value)
    }

    /// What it is aligned by.
    pub(in crate::analysis::ranks) fn known(&self) -> Known<'_> {
        let graph = match self.dynamo_graph() {
            Some(Value::Known(digest, _)) => Some(*digest),
            _ => None,
        };
        let (generation, id) = self.key;
        Known { generation, id, file: self.file.as_deref(), name: self.name.as_deref(), line: self.line, graph }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_are_kept_once() {
        let texts = Texts::default();
        assert!(Arc::ptr_eq(&texts.keep("a"), &texts.keep("a")));
        assert_eq!(texts.once([1; 16], || [2; 16]), texts.once([1; 16], || unreachable!("read before")));
    }

    #[test]
    fn a_negative_zero_is_zero() {
        assert_eq!(RuntimeFact::new(None, Ok([0; 16]), Some(-0.0)), RuntimeFact::new(None, Ok([0; 16]), Some(0.0)));
    }
}
