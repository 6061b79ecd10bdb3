//! Which compile of the second side belongs to which of the first.
//!
//! Ids are given in order of first compile, so that a frame more on one side shifts those of all that follow. An id
//! counts where it stands for the same code; else the code does, in the order of the logs.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::lines::{Budget, Run, compare};
use crate::analysis::compiles::Compile;
use crate::format::code_place::file_name;
use crate::format::compile_id::CompileId;

/// Numbers of two compiles that belong together, or of one that is alone.
pub(super) type Matched = (Option<usize>, Option<usize>);

/// What a compile is known by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Known<'c> {
    generation: u32,
    id: CompileId,
    file: Option<&'c str>,
    name: Option<&'c str>,
    line: Option<i64>,
}

/// The n-th to the n-th.
pub(super) fn in_order(a: usize, b: usize) -> Vec<Matched> {
    (0..a.max(b)).map(|at| (Some(at).filter(|at| *at < a), Some(at).filter(|at| *at < b))).collect()
}

/// Matches the compiles of two logs; those of the first in their order, then what is left of the second.
pub(super) fn align(a: &[Compile], b: &[Compile], budget: &Budget) -> Vec<Matched> {
    let (a, b): (Vec<Known<'_>>, Vec<Known<'_>>) = (a.iter().map(known).collect(), b.iter().map(known).collect());
    let mut open = Open { a: &a, b: &b, to_b: vec![None; a.len()], taken: vec![false; b.len()] };
    open.by_key(|it| Some((it.generation, it.id)), Known::same_code);
    open.in_sequence(budget);
    let compile = |it: &Known<'_>| it.id.frame_compile_id;
    open.by_key(|it| Some((it.file?.to_owned(), it.name?.to_owned(), it.line, compile(it))), |_, _| true);
    open.by_key(|it| Some((it.file?.to_owned(), without_line(it.name?).to_owned(), compile(it))), |_, _| true);
    open.by_key(|it| Some((it.file?.to_owned(), without_line(it.name?).to_owned())), |_, _| true);
    // Another function of the same program, at the same place of its order.
    open.by_key(|it| Some((it.file?.to_owned(), it.generation, it.id)), |_, _| true);
    let mut pairs: Vec<Matched> = open.to_b.iter().enumerate().map(|(at, of_b)| (Some(at), *of_b)).collect();
    pairs.extend(open.taken.iter().enumerate().filter(|(_, taken)| !**taken).map(|(at, _)| (None, Some(at))));
    pairs
}

fn known(compile: &Compile) -> Known<'_> {
    Known {
        generation: compile.generation,
        id: compile.id,
        file: compile.file.as_deref().map(file_name),
        name: compile.name.as_deref(),
        line: compile.line,
    }
}

/// The name of a resumed function without the line at which it resumes.
fn without_line(name: &str) -> &str {
    match name.rsplit_once("_at_") {
        Some((function, line)) if name.starts_with("torch_dynamo_resume_in_") && line.parse::<u64>().is_ok() => {
            function
        }
        _ => name,
    }
}

impl Known<'_> {
    /// Whether both are of the same function, as far as the logs say.
    fn same_code(&self, other: &Self) -> bool {
        let same = |a: Option<&str>, b: Option<&str>| a.is_none() || b.is_none() || a == b;
        same(self.file, other.file) && same(self.name, other.name)
    }
}

/// Compiles that are still without a partner.
struct Open<'x, 'c> {
    a: &'x [Known<'c>],
    b: &'x [Known<'c>],
    to_b: Vec<Option<usize>>,
    taken: Vec<bool>,
}

impl<'c> Open<'_, 'c> {
    fn free_a(&self) -> Vec<usize> {
        self.to_b.iter().enumerate().filter(|(_, b)| b.is_none()).map(|(at, _)| at).collect()
    }

    fn free_b(&self) -> Vec<usize> {
        self.taken.iter().enumerate().filter(|(_, taken)| !**taken).map(|(at, _)| at).collect()
    }

    fn join(&mut self, a: usize, b: usize) {
        if let (Some(to_b), Some(taken)) = (self.to_b.get_mut(a), self.taken.get_mut(b)) {
            *to_b = Some(b);
            *taken = true;
        }
    }

    /// Joins those of equal keys, the n-th with the n-th.
    fn by_key<K: Eq + std::hash::Hash>(
        &mut self,
        key: impl Fn(&Known<'c>) -> Option<K>,
        fits: impl Fn(&Known<'c>, &Known<'c>) -> bool,
    ) {
        let mut waiting: FxHashMap<K, VecDeque<usize>> = FxHashMap::default();
        for at in self.free_b() {
            if let Some(key) = self.b.get(at).and_then(&key) {
                waiting.entry(key).or_default().push_back(at);
            }
        }
        for at in self.free_a() {
            let Some(of_a) = self.a.get(at) else { continue };
            let Some(queue) = key(of_a).and_then(|key| waiting.get_mut(&key)) else { continue };
            if queue.front().and_then(|of_b| self.b.get(*of_b)).is_some_and(|of_b| fits(of_a, of_b))
                && let Some(of_b) = queue.pop_front()
            {
                self.join(at, of_b);
            }
        }
    }

    /// Joins those of equal code that stand in the same order on both sides.
    fn in_sequence(&mut self, budget: &Budget) {
        let (a, b) = (self.free_a(), self.free_b());
        let key = |it: &Known<'c>| (it.file, it.name, it.line, it.id.frame_compile_id);
        // What has no name is no code: it is like nothing else.
        let keys = |all: &[Known<'c>], free: &[usize], side: u8| {
            let key = |at: &usize| all.get(*at).filter(|it| it.name.is_some()).map(key).ok_or((side, *at));
            free.iter().map(key).collect::<Vec<_>>()
        };
        let Ok(runs) = compare(&keys(self.a, &a, 0), &keys(self.b, &b, 1), budget) else { return };
        for run in runs {
            if let Run::Same(of_a, of_b) = run {
                for (a, b) in a.get(of_a).unwrap_or_default().iter().zip(b.get(of_b).unwrap_or_default()) {
                    self.join(*a, *b);
                }
            }
        }
    }
}
