//! Graph breaks that are one: the same reason at the same line, over all compiles and logs; and table `break_groups`.

use std::borrow::Cow;

use rustc_hash::FxHashSet;

use super::breaks::{Break, BreakKey, each_break};
use super::groups::{Groups, Spread, append, sum};
use super::{GROUPS, OfLog, Shown, Texts, of_logs};
use crate::analysis::compiles::{Compiles, FailureKind};
use crate::error::Result;
use crate::format::code_place::Owner;
use crate::tables::{Table, TableBuilder, TableDef};
use crate::trace::Trace;

pub(in crate::analysis) const BREAK_GROUPS: TableDef =
    TableDef { name: "break_groups", about: "a graph break to mend: a reason at a line", build };

/// Records that tell of one graph break.
#[derive(Clone, Debug)]
pub(crate) struct BreakGroup {
    /// The first of them.
    pub(crate) first: Break,
    /// Function that was being compiled then.
    pub(crate) code_name: Option<String>,
    /// Whether the compiles that it broke are told as failed ones.
    pub(crate) failed: bool,
    /// How many records.
    pub(crate) count: u64,
    /// How many compiles.
    pub(crate) compiles: u64,
    /// Seconds that these lost to tries that were started over.
    pub(crate) lost_s: Option<f64>,
    /// Where they were.
    pub(crate) spread: Spread,
    /// The record of each, up to a hundred.
    pub(crate) evidence: Vec<Shown>,
}

impl BreakGroup {
    fn merge(&mut self, other: Self) {
        self.failed &= other.failed;
        self.count += other.count;
        self.compiles += other.compiles;
        self.lost_s = sum(self.lost_s, other.lost_s);
        append(&mut self.evidence, other.evidence);
        self.spread.merge(other.spread);
    }
}

impl Default for Groups<BreakKey, BreakGroup> {
    fn default() -> Self {
        Self::new(|group: &BreakGroup| group.first.key(), BreakGroup::merge).at_most(GROUPS)
    }
}

/// The groups of one log, and the numbers of the compiles whose frame runs as it is because of a break.
pub(crate) fn break_groups(
    of: OfLog<'_>,
    all: &Compiles,
    texts: Texts,
) -> (Groups<BreakKey, BreakGroup>, FxHashSet<usize>) {
    let mut groups: Groups<BreakKey, BreakGroup> = texts.room(Groups::default());
    let mut fell_back = FxHashSet::default();
    // Breaks come compile by compile; a second try tells of the same ones again.
    let mut counted: (usize, FxHashSet<BreakKey>) = Default::default();
    each_break(of, all, |mut found| {
        if texts == Texts::Short {
            found.shorten();
        }
        let Some(compile) = all.get_at(found.compile) else { return };
        let Some((spread, at)) = of.place(compile, found.record) else { return };
        if counted.0 != found.compile {
            counted = (found.compile, FxHashSet::default());
        }
        if found.said.skips_frame {
            fell_back.insert(found.compile);
        }
        let is_new = counted.1.insert(found.key());
        groups.add(BreakGroup {
            code_name: compile.name.clone(),
            failed: compile.failures.iter().any(|failure| failure.kind == FailureKind::Failure),
            count: 1,
            compiles: u64::from(is_new),
            lost_s: found.lost_s.filter(|_| is_new),
            spread,
            evidence: vec![at],
            first: found,
        });
    });
    (groups, fell_back)
}

/// Those in the program's own code first, then the most frequent.
pub(crate) fn by_owner(group: &BreakGroup) -> impl Ord + use<> {
    (group.first.owner().unwrap_or(Owner::Framework), std::cmp::Reverse(group.compiles))
}

fn build(trace: &Trace) -> Result<Table> {
    let groups = of_logs(trace, |of, compiles| break_groups(of, &compiles, Texts::Whole).0)?;
    let mut rows = groups
        .into_iter()
        .map(|(_, _, groups)| groups)
        .reduce(Groups::merge)
        .map(Groups::into_list)
        .unwrap_or_default();
    rows.sort_by_key(by_owner);
    let own = |r: &'_ BreakGroup| r.first.own.clone();
    TableBuilder::new(&rows)
        .name("reason", "What kind of break it is, in PyTorch's words.", |r| {
            Some(Cow::Borrowed(r.first.said.reason.as_str()))
        })
        .name("break_id", "Stable number of the kind, such as `gb0025`.", |r| {
            r.first.said.id.as_deref().map(Cow::Borrowed)
        })
        .text("break_file", "File that the log names; null where it has no place.", |r| {
            r.first.said.place.as_ref().map(|place| Cow::Borrowed(place.file.as_str()))
        })
        .i64("break_line", "Line in that file.", |r| r.first.said.place.as_ref()?.line)
        .name("break_owner", "Whose file that is: user, library, or framework. Those of the user come first.", |r| {
            r.first.owner().map(|owner| Cow::Borrowed(owner.name()))
        })
        .text("user_file", "File of the innermost line of the program's own code.", move |r| {
            Some(Cow::Owned(own(r)?.0.file))
        })
        .i64("user_line", "That line.", move |r| own(r)?.0.line)
        .text("user_function", "Function of that line.", move |r| Some(Cow::Owned(own(r)?.0.function?)))
        .text("user_code", "Text of that line.", move |r| Some(Cow::Owned(own(r)?.1?)))
        .name("code_name", "Function that was compiled when it was logged first.", |r| {
            r.code_name.as_deref().map(Cow::Borrowed)
        })
        .u64("count", "Records that tell of it: one for each function it is inlined into, and one for its own.", |r| {
            Some(r.count)
        })
        .u64("compiles", "Compiles that it broke.", |r| Some(r.compiles))
        .f64(
            "lost_s",
            "Seconds that these lost to tries that were started over; null where the log does not say.",
            |r| r.lost_s,
        )
        .texts("compile_ids", "Their compile ids, each once; 100 at most.", |r| Some(r.spread.compile_ids.clone()))
        .ints("ranks", "Ranks on which it was; logs without a rank are not among them.", |r| {
            Some(r.spread.ranks.clone())
        })
        .ints("files", "Logs in which it was: rows of `files`.", |r| Some(r.spread.files.clone()))
        .text("explanation", "Why this breaks the graph.", |r| r.first.said.explanation.as_deref().map(Cow::Borrowed))
        .texts("hints", "What PyTorch proposes.", |r| Some(r.first.said.hints.clone()))
        .text("url", "Page about this kind of break.", |r| r.first.said.url.as_deref().map(Cow::Borrowed))
        .u32("file", "Log of the first record.", |r| r.evidence.first().map(|shown| shown.file))
        .u64("offset", "Byte at which that record starts.", |r| r.evidence.first()?.offset)
        .text("advice", "What to try.", |r| Some(Cow::Owned(r.first.advice())))
        .finish("break_groups")
}
