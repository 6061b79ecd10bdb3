//! What differs between two traces, two ranks or two compiles.
//!
//! Compiles of both sides are matched first (`analysis/align.rs`); then each aspect of a matched pair is compared by a file of
//! its own here. What differs between any two processes is no difference: addresses, folders, generated names, the
//! order of guards, small differences of time. A row names the records on both sides that show it.

mod cache;
mod code;
mod compiles;
mod config;
mod graphs;
mod guards;
mod phases;
pub(crate) mod reading;
mod reasons;
mod selector;
mod sheet;
mod side;
mod tables;
pub(crate) mod texts;

use std::time::Duration;

use rayon::prelude::*;

pub use selector::{Selector, Who};
pub use sheet::{Change, Difference, Finding, Spot};
pub use tables::{diff_table, summary_table};

use super::align;
use super::lines::Budget;
use super::ranks::Verdict;
use crate::error::{Error, ErrorKind, Result};
use crate::job::Job;
use crate::trace::Trace;
use sheet::Sheet;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Aspect {
    /// Which compiles there are, and of which code.
    Compiles,
    /// How they ended.
    Status,
    /// Why they were recompiled.
    RecompileReasons,
    /// Where and why graphs broke.
    GraphBreaks,
    /// Times.
    Phases,
    /// Graphs, node by node.
    Graph,
    /// Guards, as a set.
    Guards,
    /// Generated code, line by line.
    OutputCode,
    /// Settings.
    Configuration,
    /// Answers of the caches.
    Cache,
    /// PyTorch, Python, CUDA and Triton.
    Versions,
}

impl Aspect {
    /// All, in the order of the tables.
    pub const ALL: [Self; 11] = [
        Self::Compiles,
        Self::Status,
        Self::RecompileReasons,
        Self::GraphBreaks,
        Self::Phases,
        Self::Graph,
        Self::Guards,
        Self::OutputCode,
        Self::Configuration,
        Self::Cache,
        Self::Versions,
    ];

    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Compiles => "compiles",
            Self::Status => "status",
            Self::RecompileReasons => "recompile reasons",
            Self::GraphBreaks => "graph breaks",
            Self::Phases => "phases",
            Self::Graph => "graph",
            Self::Guards => "guards",
            Self::OutputCode => "output code",
            Self::Configuration => "configuration",
            Self::Cache => "cache",
            Self::Versions => "versions",
        }
    }

    /// The aspect of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|aspect| aspect.name() == name)
    }
}

/// How two sides are compared.
#[derive(Clone, Debug)]
pub struct DiffOptions {
    /// What is compared.
    pub aspects: Vec<Aspect>,
    /// Seconds that two times differ by at least, to be a difference.
    pub seconds: f64,
    /// Share of the smaller one that they differ by at least, too.
    pub share: f64,
    /// Rows of one aspect of a pair of compiles; further differences are only counted.
    pub most_rows: usize,
    /// Lines or nodes up to which two texts are compared one by one, equal ones at both ends left out.
    pub most_lines: usize,
    /// Time for the comparison of all texts line by line; beyond it, larger pieces count as changed.
    pub time: Duration,
}

impl Default for DiffOptions {
    fn default() -> Self {
        Self {
            aspects: Aspect::ALL.to_vec(),
            seconds: 0.05,
            share: 0.2,
            most_rows: 1000,
            most_lines: 40_000,
            time: Duration::from_secs(20),
        }
    }
}

/// One side of a comparison: a trace, and what of it.
#[derive(Clone, Copy, Debug)]
pub struct Side<'t> {
    /// The trace.
    pub trace: &'t Trace,
    /// Which logs of it, and which compile.
    pub selector: &'t Selector,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Diff {
    /// What differs, aspect by aspect, in the order of the first side's compiles.
    pub differences: Vec<Difference>,
    /// The result of each aspect.
    pub findings: Vec<Finding>,
}

impl Diff {
    /// Whether no difference was found.
    pub fn is_same(&self) -> bool {
        self.findings.iter().all(|finding| finding.verdict != Verdict::Differs)
    }
}

/// Compares two sides. To be called on the pool that shall do the work.
///
/// # Errors
/// A selection that names nothing, or a compile on one side only; a log that changed since it was read; an interrupt.
///
/// ```
/// use fasttl_core::analysis::diff::{DiffOptions, Selector, Side, diff};
/// use fasttl_core::{job, trace};
///
/// let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/crash_3_ranks");
/// let job = job::Job::default();
/// job::on_pool(None, || {
///     let trace = trace::load(&[example.into()], &trace::LoadOptions::default(), &job)?;
///     let [one, two] = ["r1", "r2"].map(|text| Selector::parse(text).expect("a rank"));
///     let found =
///         diff(Side { trace: &trace, selector: &one }, Side { trace: &trace, selector: &two }, &DiffOptions::default(), &job)?;
///     let missing = &found.differences[0];
///     assert_eq!((missing.a.as_deref(), missing.b.is_some()), (None, true));
///     Ok(())
/// })
/// # .unwrap();
/// ```
pub fn diff(a: Side<'_>, b: Side<'_>, options: &DiffOptions, job: &Job) -> Result<Diff> {
    let budget = Budget::new(options.time, options.most_lines);
    let single = (a.selector.compile.is_some(), b.selector.compile.is_some());
    if single.0 != single.1 {
        let text = "a compile is named on one side only: name one on both, or on none";
        return Err(Error::new(ErrorKind::Option, text));
    }
    let mut sheet = Sheet::new(options);
    if single.0 {
        let (a, b) = (side::one_compile(a)?, side::one_compile(b)?);
        job.check()?;
        compare_logs(&a, &b, true, (&budget, options), &mut sheet);
    } else {
        let pairs = side::pair_logs(&side::logs(a)?, &side::logs(b)?);
        for (of_a, of_b) in pairs {
            job.check()?;
            match (of_a, of_b) {
                (Some(of_a), Some(of_b)) => {
                    let (a, b) = (side::read(a.trace, of_a)?, side::read(b.trace, of_b)?);
                    compare_logs(&a, &b, false, (&budget, options), &mut sheet);
                }
                (Some(only), None) => compiles::only_log(&side::read(a.trace, only)?, true, &mut sheet),
                (None, Some(only)) => compiles::only_log(&side::read(b.trace, only)?, false, &mut sheet),
                (None, None) => {}
            }
        }
    }
    Ok(sheet.finish())
}

/// Compares two logs, or the compiles of them that were named.
fn compare_logs(
    a: &side::LogSide<'_>,
    b: &side::LogSide<'_>,
    one: bool,
    (budget, options): (&Budget, &DiffOptions),
    sheet: &mut Sheet,
) {
    let pairs =
        if one { align::in_order(a.compiles.len(), b.compiles.len()) } else { compiles::match_up(a, b, budget) };
    config::versions(a, b, sheet);
    config::configuration(a, b, &pairs, sheet);
    compiles::ends(a, b, sheet);
    let compare_one = |(of_a, of_b): &(Option<usize>, Option<usize>)| {
        let mut sheet = Sheet::new(options);
        let half_a = of_a.and_then(|at| a.half(at));
        let half_b = of_b.and_then(|at| b.half(at));
        let pair = match (half_a, half_b) {
            (Some(a), Some(b)) => side::Pair { a, b },
            (only_a, only_b) => {
                compiles::only(only_a.as_ref().or(only_b.as_ref()), only_a.is_some(), &mut sheet);
                return sheet;
            }
        };
        compiles::code(&pair, one, &mut sheet);
        compiles::status(&pair, &mut sheet);
        reasons::recompile_reasons(&pair, &mut sheet);
        reasons::graph_breaks(&pair, &mut sheet);
        phases::phases(&pair, options, &mut sheet);
        graphs::graphs(&pair, budget, &mut sheet);
        guards::guards(&pair, &mut sheet);
        code::output_code(&pair, budget, &mut sheet);
        cache::cache(&pair, &mut sheet);
        sheet.pairs = 1;
        sheet
    };
    let found: Vec<Sheet> = pairs.par_iter().map(compare_one).collect();
    for of_pair in found {
        sheet.take(of_pair);
    }
    if !one {
        phases::total(a, b, options, sheet);
    }
}
