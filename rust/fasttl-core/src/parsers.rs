//! What custom parsers ask of a trace, and what becomes of their failures.

use std::sync::PoisonError;

use crate::index::ParserProblem;
use crate::trace::Trace;

/// Records that a custom parser asks for.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Their kind.
    pub kind: String,
    /// Their names; any when `None`.
    pub names: Option<Vec<String>>,
}

impl Wanted {
    fn is(&self, kind: &str, name: Option<&str>) -> bool {
        let named = |names: &Vec<String>| name.is_some_and(|name| names.iter().any(|n| n == name));
        self.kind == kind && self.names.as_ref().is_none_or(named)
    }
}

/// What custom parsers are given, and what becomes of them.
impl Trace {
    /// The next record that is `wanted`, from record number `at` of log number `log` on.
    pub fn next_wanted(&self, wanted: &[Wanted], (log, at): (usize, usize)) -> Option<(usize, usize)> {
        let mut from = at;
        for (number, log) in self.logs.iter().enumerate().skip(log) {
            let names = &log.index.names;
            let mut rest = log.index.records.iter().enumerate().skip(from);
            if let Some((at, _)) = rest.find(|(_, r)| wanted.iter().any(|w| w.is(names.kind(r.kind), names.name(r)))) {
                return Some((number, at));
            }
            from = 0;
        }
        None
    }

    /// Sets what custom parsers failed at, in place of what was there.
    pub fn set_parser_problems(&self, problems: Vec<ParserProblem>) {
        *self.parser_problems.write().unwrap_or_else(PoisonError::into_inner) = problems;
    }

    /// What custom parsers failed at when a report was written last.
    pub fn parser_problems(&self) -> Vec<ParserProblem> {
        self.parser_problems.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
