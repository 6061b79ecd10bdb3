//! Which compiles there are, and in which order.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::cells::{Alike, Cell, Difference, Found, Group, Mark, Place, rank_list};
use super::collectives::count;
use super::lineup::LineupRow;
use super::row::{Has, Row};
use super::{Aspect, Key, Member};
use crate::analysis::versions::Versions;

/// `0/1`, or `0/1 after 2 resets` where ids had started again.
pub(super) fn label((generation, id): Key) -> String {
    match generation {
        0 => id.to_string(),
        1 => format!("{id} after a reset"),
        n => format!("{id} after {n} resets"),
    }
}

/// What is said of what is missing in a log that is not whole.
pub(super) const INCOMPLETE: &str = "its log is cut or damaged";

/// What is said of a rank that lacks a compile.
pub(super) const NOT_COMPILED: &str = "not compiled";

/// Whether all ranks compiled it.
pub(super) fn compiles(row: &Row<'_>, found: &mut Found) {
    let mut codes = row.profiles().map(|profile| profile.code());
    let first = codes.next().flatten();
    // Where it is not one function, that is told apart.
    let code = first.filter(|first| codes.all(|code| code.as_ref() == Some(first)));
    let collectives = row.compiled().map(|(_, facts, compile)| count(facts, compile)).max().unwrap_or(0);
    let cells = row.sides.iter().map(|side| {
        let cell = match side.has {
            Has::Compile(_, compile) => {
                let value = words(code.as_deref(), collectives);
                Cell::Known(Mark::Number(1), value, Some(compile.first()))
            }
            Has::Absent => Cell::Known(Mark::Number(0), NOT_COMPILED.to_owned(), None),
            Has::Lost => Cell::unknown(INCOMPLETE),
        };
        (&side.alike, cell)
    });
    if found.place(Aspect::Compiles, &row.place(""), cells.collect())
        && let Some(difference) = found.differences.last_mut().filter(|d| d.row == Some(row.number))
    {
        difference.has_collectives = collectives > 0;
    }
}

/// `compiled, f at a.py:3, with 2 collectives`.
fn words(code: Option<&str>, collectives: usize) -> String {
    let code = code.map(|code| format!(", {code}")).unwrap_or_default();
    let collectives = match collectives {
        0 => String::new(),
        1 => ", with 1 collective".to_owned(),
        n => format!(", with {n} collectives"),
    };
    format!("compiled{code}{collectives}")
}

/// Whether all ranks compiled it in the same order. `of` is the row of the lineup.
pub(super) fn order(row: &Row<'_>, of: &LineupRow, members: &[Member<'_>], found: &mut Found) {
    if of.moved.is_empty() {
        found.agreed += usize::from(row.compiled().map(|(side, ..)| side.members.len()).sum::<usize>() > 1);
        return;
    }
    let mut groups: Vec<(u32, Group)> = Vec::new();
    let mut moved = of.moved.iter().peekable();
    for (at, (member, number)) in (0_u32..).zip(members.iter().zip(&of.of)) {
        let is_moved = moved.next_if(|moved| **moved == at).is_some();
        let Some(compile) = number.and_then(|number| member.facts.compiles.get(number as usize)) else { continue };
        // Those that were not moved stand at one place, whatever came before it on each rank.
        let place = if is_moved { number.unwrap_or_default() } else { u32::MAX };
        if let Some((_, group)) = groups.iter_mut().find(|(known, _)| *known == place) {
            group.ranks.push(member.rank);
            continue;
        }
        let before = number.and_then(|n| n.checked_sub(1)).and_then(|n| member.facts.compiles.get(n as usize));
        let code = compile.profile.code().unwrap_or_default();
        let before = before.map_or("compiled first".to_owned(), |before| {
            format!("behind {} {}", label(before.profile.key), before.profile.name.as_deref().unwrap_or_default())
        });
        let value = format!("{} {code}, {}", label(compile.profile.key), before.trim_end());
        let evidence = (member.log, Some(compile.first()));
        groups.push((place, Group { ranks: vec![member.rank], value, evidence }));
    }
    if groups.len() > 1 {
        let groups = groups.into_iter().map(|(_, group)| group).collect();
        found.add(Difference::new(Aspect::Order, row.place(", order"), groups));
    }
}

/// Compiles that the same ranks lack one after the other, since their logs end before, are one difference.
pub(super) fn fold_tails(differences: Vec<Difference>, ends: impl Fn(i32) -> Option<usize>) -> Vec<Difference> {
    let mut folded: Vec<(Difference, usize)> = Vec::new();
    for difference in differences {
        let lacking = difference.groups.iter().find(|group| group.value == NOT_COMPILED);
        let is_tail = difference.groups.len() == 2
            && lacking.is_some_and(|group| group.ranks.iter().all(|rank| ends(*rank) < difference.row));
        if let (true, Some((before, more))) = (is_tail, folded.last_mut())
            && before.row.map(|row| row + 1 + *more) == difference.row
            && same_ranks(before, &difference)
        {
            before.has_collectives |= difference.has_collectives;
            *more += 1;
            continue;
        }
        folded.push((difference, 0));
    }
    let with_words = |(mut difference, more): (Difference, usize)| {
        if more > 0 {
            difference.place += &format!(", and {more} more after it");
        }
        difference
    };
    folded.into_iter().map(with_words).collect()
}

/// The same difference in one compile after the other, such as a setting, is one.
pub(super) fn fold_equal(differences: Vec<Difference>) -> Vec<Difference> {
    let mut folded: Vec<(Difference, usize)> = Vec::new();
    let mut known: FxHashMap<Vec<(Vec<i32>, String)>, usize> = FxHashMap::default();
    for difference in differences {
        let groups = difference.groups.iter().map(|group| (group.ranks.clone(), group.value.clone())).collect();
        let at = *known.entry(groups).or_insert(folded.len());
        match folded.get_mut(at) {
            Some((_, more)) => *more += 1,
            None => folded.push((difference, 0)),
        }
    }
    let with_words = |(mut difference, more): (Difference, usize)| {
        if more > 0 {
            let compiles = if more == 1 { "compile" } else { "compiles" };
            difference.place += &format!(", and in {more} more {compiles}");
        }
        difference
    };
    folded.into_iter().map(with_words).collect()
}

fn same_ranks(a: &Difference, b: &Difference) -> bool {
    a.groups.len() == b.groups.len()
        && a.groups
            .iter()
            .zip(&b.groups)
            .all(|(a, b)| a.ranks == b.ranks && (a.value == NOT_COMPILED) == (b.value == NOT_COMPILED))
}

/// What is known of the PyTorch and of other versions of each log.
pub(super) fn versions(members: &[Member<'_>]) -> Found {
    let mut found = Found::default();
    let alike: Vec<Alike> = members.iter().map(Alike::one).collect();
    for (name, of) in [
        ("PyTorch", (|v| v.pytorch.as_deref()) as fn(&Versions) -> Option<&str>),
        ("Python", |v| v.python.as_deref()),
        ("CUDA", |v| v.cuda.as_deref()),
        ("Triton", |v| v.triton.as_deref()),
    ] {
        if members.iter().all(|member| of(&member.facts.versions).is_none()) {
            continue;
        }
        let why: Arc<str> = format!("its log names no version of {name}").into();
        let cell = |member: &Member<'_>| match of(&member.facts.versions) {
            Some(version) => Cell::plain(version, member.facts.version_record),
            None => Cell::Unknown(Arc::clone(&why)),
        };
        let place = Place { words: name.to_owned(), ..Place::default() };
        found.place(Aspect::Versions, &place, alike.iter().zip(members.iter().map(cell)).collect());
    }
    found
}

/// Ranks of which nothing is known, as a sentence behind another.
pub(super) fn nothing_known(ranks: &[i32]) -> String {
    format!(" Of {} nothing is known.", rank_list(ranks))
}
