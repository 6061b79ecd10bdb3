//! The first thing that differs inside of what differs as a whole: which input, which guard, which setting, which node.
//!
//! Facts have digests only. For the differences that come first the texts are read again.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::conditions::{guards, symbols};
use super::facts::inputs::inputs;
use super::{Aspect, Difference, Group};
use crate::analysis::runtimes::read_record;
use crate::analysis::settings;
use crate::analysis::symbols::is_fact;
use crate::error::Result;
use crate::format::fx_graph;
use crate::format::kind::Kind;
use crate::format::text::shorten;
use crate::index::{KindId, Record};
use crate::job::Job;
use crate::tables::metrics_fields;
use crate::trace::{Log, Trace};

/// Differences whose texts are read.
const READ: usize = 256;
/// Groups of one that are read; the others keep their digests.
const GROUPS: usize = 8;
/// Lines of a group that are told.
const TOLD: usize = 3;
/// Characters of a line.
const LONGEST: usize = 160;

/// What is compared of a line, and what is shown.
type Line = (String, String);

/// Puts the first line that differs in the place of digests.
pub(super) fn tell(trace: &Trace, differences: &mut [Difference], job: &Job) -> Result<()> {
    let wanted = |d: &&mut Difference| {
        matches!(
            d.aspect,
            Aspect::Configuration | Aspect::Inputs | Aspect::Symbols | Aspect::Guards | Aspect::Graph | Aspect::Tensors
        )
    };
    for difference in differences.iter_mut().filter(wanted).take(READ) {
        job.check()?;
        let lines = |group: &Group| lines_of(trace, difference, group, job);
        let all: Vec<Option<Vec<Line>>> =
            difference.groups.iter().take(GROUPS).map(lines).collect::<Result<Vec<_>>>()?;
        let Some(all) = all.into_iter().collect::<Option<Vec<Vec<Line>>>>() else { continue };
        match difference.aspect {
            Aspect::Graph | Aspect::Tensors => in_order(difference, &all),
            _ => as_sets(difference, &all),
        }
    }
    Ok(())
}

/// The lines of what a group has; `None` where they cannot be read.
fn lines_of(trace: &Trace, difference: &Difference, group: &Group, job: &Job) -> Result<Option<Vec<Line>>> {
    let (log, Some(record)) = group.evidence else { return Ok(None) };
    let Some(log) = trace.at_hand(log, job)? else { return Ok(None) };
    let view = log.view()?;
    Ok(read(&log, &view, (difference.aspect, &difference.place), record))
}

fn read(log: &Log, bytes: &[u8], (aspect, place): (Aspect, &str), at: usize) -> Option<Vec<Line>> {
    let record = log.index.records.get(at)?;
    let text = || String::from_utf8_lossy(&log.index.payload(record, bytes).text()).into_owned();
    if aspect == Aspect::Graph {
        // Names of variables do not count: what a statement does is its key and what it uses.
        let nodes = fx_graph::nodes(text().as_bytes())?.into_iter().filter(|node| node.call != "forward");
        return Some(nodes.map(|node| (format!("{} {:?}", node.key, node.uses), node.text)).collect());
    }
    let lines = match aspect {
        Aspect::Guards => Some(guards(&text(), log.rank)),
        Aspect::Inputs => {
            let records = of_try(log, at, |kind| kind.is(Kind::DescribeTensor) || kind.is(Kind::DescribeSource));
            let symbols = of_try(log, at, is_fact);
            Some(
                inputs(log, bytes, (&records, &symbols))
                    .into_iter()
                    .map(|(source, tensor)| format!("{source}: {tensor}"))
                    .collect(),
            )
        }
        Aspect::Symbols => {
            if !is_fact(record.kind) {
                return Some(Vec::new());
            }
            Some(symbols(log, bytes, &of_try(log, at, is_fact)))
        }
        Aspect::Configuration => {
            let (_, short) = place.split_once("settings of ")?;
            let short = short.split(',').next()?;
            let (field, _) = settings::FIELDS.iter().find(|(_, known)| *known == short)?;
            let fields = metrics_fields(log.index.metadata(record, bytes));
            let all: BTreeMap<String, serde_json::Value> = settings::settings(fields.get(field)?)?;
            Some(all.iter().filter(|(_, v)| !settings::is_path(v)).map(|(key, v)| format!("{key} = {v}")).collect())
        }
        Aspect::Tensors => {
            let ops = read_record(log, bytes, at).ok()?;
            let name = |name: String| if name.is_empty() { "(no name)".to_owned() } else { name };
            Some(ops.into_iter().map(|op| format!("{} {}", name(op.name), op.outputs)).collect())
        }
        _ => None,
    };
    lines.map(|lines| lines.into_iter().map(|line| (line.clone(), line)).collect())
}

/// The records of the same try as record `at` from there on, up to the end of its compile.
fn of_try(log: &Log, at: usize, wanted: impl Fn(KindId) -> bool) -> Vec<usize> {
    let Some(first) = log.index.records.get(at) else { return Vec::new() };
    let records = log.index.records.iter().enumerate().skip(at);
    let same = |r: &Record| r.generation == first.generation && r.id == first.id;
    records
        .filter(|(_, record)| same(record))
        .take_while(|(_, record)| !record.kind.is(Kind::CompilationMetrics))
        .filter(|(_, record)| wanted(record.kind))
        .map(|(at, _)| at)
        .collect()
}

/// Lists whose order counts: the first place at which they are not all the same.
fn in_order(difference: &mut Difference, all: &[Vec<Line>]) {
    let longest = all.iter().map(Vec::len).max().unwrap_or(0);
    let key = |lines: &Vec<Line>, at: usize| lines.get(at).map(|(key, _)| key.clone());
    let differs = |at: &usize| all.iter().any(|lines| key(lines, *at) != all.first().and_then(|first| key(first, *at)));
    let Some(at) = (0..longest).find(differs) else { return };
    let what = if difference.aspect == Aspect::Graph { "statement" } else { "operation" };
    // Each group is told where it parts from that of most ranks, which is the first.
    let most = all.first().cloned().unwrap_or_default();
    difference.place += &format!(", {what} {}", at + 1);
    difference.position = Some(at as u64 + 1);
    for (nth, group) in difference.groups.iter_mut().enumerate() {
        let Some(lines) = all.get(nth) else {
            "something else".clone_into(&mut group.value);
            continue;
        };
        let own = most.iter().zip(lines).take_while(|((a, _), (b, _))| a == b).count();
        // Of what is like most, where the first of the others parts.
        let own = if own == most.len() && own == lines.len() { at } else { own };
        let line = lines.get(own).map_or("nothing", |(_, shown)| shown.as_str());
        let nodes = group.value.split(" (").next().unwrap_or_default();
        let mut more = if own == at { String::new() } else { format!(" as {what} {}", own + 1) };
        if difference.aspect == Aspect::Graph {
            more += &format!(" (a graph of {nodes})");
        }
        group.value = format!("{}{more}", shorten(line, LONGEST));
    }
}

/// Lists whose order does not count: what a group has and not all others. First what several groups say of one thing,
/// each something else.
fn as_sets(difference: &mut Difference, all: &[Vec<Line>]) {
    let sets: Vec<BTreeSet<&String>> = all.iter().map(|lines| lines.iter().map(|(_, shown)| shown).collect()).collect();
    let everywhere = |line: &&String| sets.iter().all(|set| set.contains(*line));
    let own: Vec<Vec<&String>> =
        sets.iter().map(|set| set.iter().copied().filter(|line| !everywhere(line)).collect()).collect();
    let mut groups_of: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for (nth, lines) in own.iter().enumerate() {
        for line in lines {
            groups_of.entry(subject(line)).or_default().insert(nth);
        }
    }
    let disputed = |line: &str| groups_of.get(subject(line)).is_some_and(|groups| groups.len() > 1);
    for (group, mut lines) in difference.groups.iter_mut().zip(own) {
        lines.sort_by_key(|line| (!disputed(line), subject(line)));
        let told = lines.iter().take_while(|line| disputed(line)).count().clamp(1, TOLD);
        let words: Vec<String> = lines.iter().take(told).map(|line| shorten(condition(line), LONGEST)).collect();
        if let Some(more) = lines.len().checked_sub(told) {
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            group.value = words.join("; ") + &more;
        } else if all.iter().all(|lines| !lines.is_empty()) {
            "none of these".clone_into(&mut group.value);
        }
    }
}

/// A guard without its kind.
fn condition(line: &str) -> &str {
    match line.split_once(": ") {
        Some((kind, rest)) if kind.bytes().all(|b| b.is_ascii_uppercase() || b == b'_') => rest,
        _ => line,
    }
}

/// What a line is about: `L['x']` of a guard on it or of an input, the name of a setting.
fn subject(line: &str) -> &str {
    let text = condition(line);
    let text = text.strip_prefix("check_tensor(").or(text.strip_prefix("not ")).unwrap_or(text);
    let end = [" == ", " != ", " is ", " = ", ": ", ", "].iter().filter_map(|mark| text.find(mark)).min();
    text.get(..end.unwrap_or(text.len())).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::ranks::cells::Place;

    #[test]
    fn what_groups_dispute_comes_first() {
        let group = |rank: i32| Group { ranks: vec![rank], value: "guards".to_owned(), evidence: (0, None) };
        let mut difference = Difference::new(Aspect::Guards, Place::default(), vec![group(0), group(1), group(2)]);
        let lines = |all: &[&str]| all.iter().map(|line| ((*line).to_owned(), (*line).to_owned())).collect::<Vec<_>>();
        as_sets(
            &mut difference,
            &[
                lines(&["A: L['clamp'] == False", "A: L['verbose'] == False", "B: same"]),
                lines(&["A: G['rank'] == 1", "A: L['verbose'] == True", "B: same"]),
                lines(&["A: L['verbose'] == False", "B: same"]),
            ],
        );
        let values: Vec<&str> = difference.groups.iter().map(|group| group.value.as_str()).collect();
        assert_eq!(
            values,
            ["L['verbose'] == False, and 1 more", "L['verbose'] == True, and 1 more", "L['verbose'] == False",]
        );
    }

    #[test]
    fn names_of_variables_part_no_graphs() {
        let group = |rank: i32| Group { ranks: vec![rank], value: "2 nodes (ab)".to_owned(), evidence: (0, None) };
        let mut difference = Difference::new(
            Aspect::Graph,
            Place { words: "0/0".to_owned(), ..Place::default() },
            vec![group(0), group(1)],
        );
        let line = |key: &str, shown: &str| (key.to_owned(), shown.to_owned());
        in_order(
            &mut difference,
            &[
                vec![line("input", "l_x_"), line("sin [1]", "y = l_x_.sin()")],
                vec![line("input", "l_y_"), line("cos [1]", "y = l_y_.cos()")],
            ],
        );
        assert_eq!((difference.position, difference.place.as_str()), (Some(2), "0/0, statement 2"));
        assert_eq!(difference.groups[1].value, "y = l_y_.cos() (a graph of 2 nodes)");
    }

    #[test]
    fn a_line_is_about_its_first_name() {
        for (line, about) in [
            ("TENSOR_MATCH: check_tensor(L['x'], Tensor, size=[8])", "L['x']"),
            ("L['x']: [8, 4] torch.float32", "L['x']"),
            ("max_autotune = true", "max_autotune"),
            ("ID_MATCH: ___check_obj_id(G['f'], #)", "___check_obj_id(G['f']"),
            ("odd", "odd"),
        ] {
            assert_eq!(subject(line), about);
        }
    }
}
