//! Which compile of one log belongs to which of another.
//!
//! Ids are given in order of first compile, so that a frame more on one side shifts those of all that follow. An id
//! counts where it stands for the same code, and first where it has the same graph, too; else code and graph do, in the
//! order of the logs.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use super::compiles::Compile;
use super::lines::{Budget, Run, compare};
use crate::format::code_place::file_name;
use crate::format::compile_id::CompileId;

/// Numbers of two compiles that belong together, or of one that is alone.
pub(in crate::analysis) type Matched = (Option<usize>, Option<usize>);

/// What a compile is known by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::analysis) struct Known<'c> {
    /// How often ids had started again.
    pub(in crate::analysis) generation: u32,
    /// Its id, without attempt.
    pub(in crate::analysis) id: CompileId,
    /// Name of the file of its code, without the folder.
    pub(in crate::analysis) file: Option<&'c str>,
    /// Its function.
    pub(in crate::analysis) name: Option<&'c str>,
    /// First line of its code.
    pub(in crate::analysis) line: Option<i64>,
    /// Dynamo's graph without names; `None` where it is not known or not looked at.
    pub(in crate::analysis) graph: Option<[u8; 16]>,
}

/// The n-th to the n-th.
pub(in crate::analysis) fn in_order(a: usize, b: usize) -> Vec<Matched> {
    (0..a.max(b)).map(|at| (Some(at).filter(|at| *at < a), Some(at).filter(|at| *at < b))).collect()
}

/// Matches the compiles of two logs; those of the first in their order, then what is left of the second.
pub(in crate::analysis) fn align(a: &[Compile], b: &[Compile], budget: &Budget) -> Vec<Matched> {
    let (a, b): (Vec<Known<'_>>, Vec<Known<'_>>) = (a.iter().map(known).collect(), b.iter().map(known).collect());
    align_known((&a, &b), |_| true, budget)
}

/// The same of what compiles are known by. `may_be_other` says which of the first may stand beside another function.
pub(in crate::analysis) fn align_known(
    (a, b): (&[Known<'_>], &[Known<'_>]),
    may_be_other: impl Fn(usize) -> bool,
    budget: &Budget,
) -> Vec<Matched> {
    let mut open = Open { a, b, to_b: vec![None; a.len()], taken: vec![false; b.len()] };
    let same_graph = |a: &Known<'_>, b: &Known<'_>| a.same_code(b) && a.graph == b.graph;
    open.by_key(|it| it.graph.map(|_| (it.generation, it.id)), same_graph);
    open.in_sequence(budget, |it| it.graph.map(|graph| (it.file, it.name, it.line, graph)));
    open.by_key(|it| Some((it.generation, it.id)), Known::same_code);
    // What has no name is no code: it is like nothing else.
    open.in_sequence(budget, |it| it.name.map(|name| (it.file, name, it.line, it.id.frame_compile_id)));
    // What is left is looked for between the same neighbours.
    let any = |_| true;
    let compile = |it: &Known<'_>| it.id.frame_compile_id;
    open.in_gaps(|it| Some((it.file?, it.name?, it.line, compile(it))), any);
    open.in_gaps(|it| Some((it.file?, without_line(it.name?), compile(it))), any);
    open.in_gaps(|it| Some((it.file?, without_line(it.name?))), any);
    // Another function of the same program, at the same place of its order.
    open.in_gaps(|it| Some((it.file?, it.generation, it.id)), may_be_other);
    // What was moved.
    open.by_key(|it| Some((it.file?, it.name?, it.line, compile(it))), |_, _| true);
    open.by_key(|it| Some((it.file?, without_line(it.name?), compile(it))), |_, _| true);
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
        graph: None,
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

    /// For each compile of either side the numbers, on the second, of those that are joined before and behind it.
    fn neighbours(&self) -> (Vec<Gap>, Vec<Gap>) {
        let joined_b: Vec<Option<usize>> =
            self.taken.iter().enumerate().map(|(at, taken)| Some(at).filter(|_| *taken)).collect();
        (gaps(&self.to_b), gaps(&joined_b))
    }

    /// Joins those of equal keys that stand between the same neighbours, the n-th with the n-th.
    fn in_gaps<K: Eq + std::hash::Hash>(&mut self, key: impl Fn(&Known<'c>) -> Option<K>, may: impl Fn(usize) -> bool) {
        let (gaps_a, gaps_b) = self.neighbours();
        let mut waiting: FxHashMap<(Gap, K), VecDeque<usize>> = FxHashMap::default();
        for at in self.free_b() {
            if let (Some(key), Some(gap)) = (self.b.get(at).and_then(&key), gaps_b.get(at)) {
                waiting.entry((*gap, key)).or_default().push_back(at);
            }
        }
        for at in self.free_a().into_iter().filter(|at| may(*at)) {
            let of_a = self.a.get(at).and_then(&key).zip(gaps_a.get(at));
            let found = of_a.and_then(|(key, gap)| waiting.get_mut(&(*gap, key)));
            if let Some(of_b) = found.and_then(VecDeque::pop_front) {
                self.join(at, of_b);
            }
        }
    }

    /// Joins those of equal keys that stand in the same order on both sides.
    fn in_sequence<K: Eq + std::hash::Hash>(&mut self, budget: &Budget, key: impl Fn(&Known<'c>) -> Option<K>) {
        // What has no key is not looked at, nor what is on one side only: it parts nothing, and takes no time.
        let keyed = |all: &[Known<'c>], free: Vec<usize>| -> Vec<(usize, K)> {
            free.into_iter().filter_map(|at| Some((at, key(all.get(at)?)?))).collect()
        };
        let (a, b) = (keyed(self.a, self.free_a()), keyed(self.b, self.free_b()));
        let of_a: FxHashSet<&K> = a.iter().map(|(_, key)| key).collect();
        let of_b: FxHashSet<&K> = b.iter().map(|(_, key)| key).collect();
        let (a, keys_a): (Vec<usize>, Vec<&K>) =
            a.iter().filter(|(_, key)| of_b.contains(key)).map(|(at, key)| (*at, key)).unzip();
        let (b, keys_b): (Vec<usize>, Vec<&K>) =
            b.iter().filter(|(_, key)| of_a.contains(key)).map(|(at, key)| (*at, key)).unzip();
        let Ok(runs) = compare(&keys_a, &keys_b, budget) else { return };
        for run in runs {
            if let Run::Same(of_a, of_b) = run {
                for (a, b) in a.get(of_a).unwrap_or_default().iter().zip(b.get(of_b).unwrap_or_default()) {
                    self.join(*a, *b);
                }
            }
        }
    }
}

/// What stands before and behind a place.
type Gap = (Option<usize>, Option<usize>);

/// Of each place the nearest value before it and behind it.
fn gaps(values: &[Option<usize>]) -> Vec<Gap> {
    let mut gaps: Vec<Gap> = Vec::with_capacity(values.len());
    let mut last = None;
    for value in values {
        gaps.push((last, None));
        last = value.or(last);
    }
    let mut next = None;
    for (gap, value) in gaps.iter_mut().zip(values).rev() {
        gap.1 = next;
        next = value.or(next);
    }
    gaps
}
