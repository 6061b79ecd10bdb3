//! Why compiling took more than once: recompiles, graph breaks, failures, each with its place, its cost and what to try.

pub(crate) mod advice;
mod break_groups;
pub(crate) mod breaks;
pub(crate) mod failures;
mod groups;
mod recompile_groups;
pub(crate) mod recompiles;
mod tracebacks;

pub(super) use break_groups::BREAK_GROUPS;
pub(super) use breaks::GRAPH_BREAKS;
pub(super) use failures::FAILURES;
pub(super) use recompile_groups::RECOMPILE_GROUPS;
pub(super) use recompiles::RECOMPILES;

pub(crate) use break_groups::{BreakGroup, break_groups};
pub(crate) use groups::Shown;
pub(crate) use groups::{Groups, Spread, append, sum};
pub(crate) use recompile_groups::{GroupKey, RecompileGroup, recompile_groups};

use std::hash::Hash;

use rustc_hash::FxHashMap;

pub(crate) use super::of_logs::{OfLog, of_logs};

use super::compiles::{CodeRef, Compile, Compiles};
use crate::format::code_place::CodePlace;
use crate::format::text::shorten;

/// How much of the texts of a log is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Texts {
    /// All of them, for the tables.
    Whole,
    /// What sentences show: many logs are gathered.
    Short,
}

impl Texts {
    /// Groups with room for what is kept: all for the tables.
    fn room<K: Eq + Hash, G>(self, groups: Groups<K, G>) -> Groups<K, G> {
        groups.at_most(if self == Self::Whole { usize::MAX } else { GROUPS })
    }
}

impl OfLog<'_> {
    /// Where something is that record number `at` tells of a compile.
    fn place(self, compile: &Compile, at: usize) -> Option<(Spread, Shown)> {
        let record = self.log.index.records.get(at)?;
        let shown = Shown { file: self.file, offset: Some(record.offset), record: Some(at) };
        Some((Spread::of(self.file, record.rank.or(self.log.rank), Some(compile.id)), shown))
    }
}

/// Most groups of a kind that sentences are made of.
pub(crate) const GROUPS: usize = 1000;
/// Characters of a name in a sentence.
const NAME: usize = 300;

/// Code as sentences show it.
pub(crate) fn short_code((name, file, line): Code) -> Code {
    (name.map(|name| shorten(&name, NAME)), file.map(|file| shorten(&file, NAME)), line)
}

/// A place as sentences show it.
pub(crate) fn short_place(place: &CodePlace) -> CodePlace {
    let function = place.function.as_ref().map(|function| shorten(function, NAME));
    CodePlace { file: shorten(&place.file, NAME), line: place.line, function }
}

/// Function, file and first line of what was compiled.
pub(crate) type Code = (Option<String>, Option<String>, Option<i64>);

fn code_ref((name, file, line): &Code) -> CodeRef<'_> {
    (name.as_deref(), file.as_deref(), *line)
}

/// What stays the same over the compiles of one code frame.
type FrameKey = (u32, Option<i64>);

const fn frame_key(compile: &Compile) -> FrameKey {
    (compile.generation, compile.id.frame_id)
}

/// The code of each frame: a compile that was refused does not name it.
struct FrameCodes<'a>(FxHashMap<FrameKey, &'a Compile>);

fn frame_codes(all: &Compiles) -> FrameCodes<'_> {
    let mut codes = FxHashMap::default();
    for compile in all.iter().filter(|compile| compile.name.is_some()) {
        codes.entry(frame_key(compile)).or_insert(compile);
    }
    FrameCodes(codes)
}

impl FrameCodes<'_> {
    /// That of a compile, from another of its frame where it does not say.
    fn of(&self, compile: &Compile) -> Code {
        let named = if compile.name.is_some() { Some(compile) } else { self.0.get(&frame_key(compile)).copied() };
        named.unwrap_or(compile).code_owned()
    }
}
