//! Times. Only what differs by more than two runs of the same do is told.

use super::sheet::{Sheet, Spots};
use super::side::{LogSide, Pair};
use super::{Aspect, DiffOptions};
use crate::analysis::compiles::Compile;
use crate::tables::MetricRecords;

/// Further times that metrics have, in microseconds unless the name says otherwise.
const TIMES: &[(&str, &str, f64)] = &[
    ("before restarts", "dynamo_time_before_restart_s", 1.0),
    ("AOTAutograd", "aot_autograd_cumulative_compile_time_us", 1e6),
    ("pre-grad passes", "pre_grad_pass_time_us", 1e6),
    ("joint passes", "joint_graph_pass_time_us", 1e6),
    ("post-grad passes", "post_grad_pass_time_us", 1e6),
    ("Triton compile", "triton_compile_time_us", 1e6),
    ("autotuning", "compile_time_autotune_time_us", 1e6),
    ("garbage collection", "gc_time_us", 1e6),
    ("remote FX graph cache, get", "remote_fx_graph_cache_get_time_us", 1e6),
    ("remote FX graph cache, put", "remote_fx_graph_cache_put_time_us", 1e6),
];

/// Compares the times of two compiles.
pub(super) fn phases(pair: &Pair<'_>, options: &DiffOptions, sheet: &mut Sheet) {
    if !sheet.wants(Aspect::Phases) {
        return;
    }
    let (a, b) = (pair.a.compile, pair.b.compile);
    let forward = pair.spots(a.metrics.last().copied(), b.metrics.last().copied());
    let backward = pair.spots(a.backward.last().copied(), b.backward.last().copied());
    let (of_a, of_b) = (a.phases, b.phases);
    time("frame", (of_a.frame_s, of_b.frame_s), forward, options, sheet);
    time("backend", (of_a.backend_s, of_b.backend_s), forward, options, sheet);
    time("inductor", (of_a.inductor_s, of_b.inductor_s), forward, options, sheet);
    time("code generation", (of_a.code_gen_s, of_b.code_gen_s), forward, options, sheet);
    time("backward", (of_a.backward_s, of_b.backward_s), backward, options, sheet);
    let (metrics_a, metrics_b) = (pair.a.side.metrics(), pair.b.side.metrics());
    for (name, field, unit) in TIMES {
        let times = (sum(a, metrics_a, field, *unit), sum(b, metrics_b, field, *unit));
        time(name, times, forward, options, sheet);
    }
}

/// A field of the forward metrics of a compile, over its records.
fn sum(compile: &Compile, metrics: MetricRecords<'_>, field: &str, unit: f64) -> Option<f64> {
    let times = compile.metrics.iter().filter_map(|&at| metrics.fields(at).float(field));
    times.map(|time| time / unit).reduce(|a, b| a + b)
}

/// Compares the time that all compiles of two logs took.
pub(super) fn total(a: &LogSide<'_>, b: &LogSide<'_>, options: &DiffOptions, sheet: &mut Sheet) {
    let of = |log: &LogSide<'_>| {
        let times = log.compiles.iter().flat_map(|c| [c.phases.frame_s, c.phases.backward_s]).flatten();
        times.reduce(|a, b| a + b)
    };
    time("all compiles", (of(a), of(b)), (Some(a.spot(None)), Some(b.spot(None))), options, sheet);
}

fn time(name: &str, times: (Option<f64>, Option<f64>), spots: Spots, options: &DiffOptions, sheet: &mut Sheet) {
    let (a, b) = (times.0.unwrap_or(0.0), times.1.unwrap_or(0.0));
    // A share of the smaller one, so that it does not matter which side is first.
    let least = options.seconds.max(options.share * a.abs().min(b.abs()));
    if times == (None, None) || (a - b).abs() < least {
        return;
    }
    let text = |time: Option<f64>| time.map(|s| format!("{s:.3} s"));
    let delta = times.0.zip(times.1).map(|(a, b)| b - a);
    sheet.add_number(Aspect::Phases, spots, name, (text(times.0), text(times.1)), delta);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_differences_are_none() {
        let differs = |a, b| {
            let options = DiffOptions::default();
            let mut sheet = Sheet::new(&options);
            time("frame", (a, b), (None, None), &options, &mut sheet);
            sheet.finish().differences.pop().map(|row| (row.change.name(), row.delta))
        };
        assert_eq!(differs(Some(1.0), Some(1.0)), None);
        assert_eq!(differs(Some(0.01), Some(0.05)), None);
        assert_eq!(differs(Some(10.0), Some(11.9)), None);
        assert_eq!(differs(Some(11.9), Some(10.0)), None);
        assert_eq!(differs(Some(1.0), Some(1.5)), Some(("changed", Some(0.5))));
        assert_eq!(differs(None, Some(0.01)), None);
        assert_eq!(differs(None, Some(0.5)), Some(("only b", None)));
        assert_eq!(differs(None, None), None);
    }
}
