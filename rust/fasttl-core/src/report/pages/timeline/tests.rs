//! Tests of the timeline.

use super::*;

const S: i64 = 1_000_000;

fn span(start_s: i64, end_s: Option<i64>, state: State) -> Span {
    Span { number: 7, start_us: start_s * S, end_us: end_s.map(|s| s * S), state }
}

fn lane(spans: Vec<Span>, end_s: i64, cut: bool) -> Lane {
    Lane { spans, busy: Vec::new(), end_us: Some(end_s * S), cut }
}

fn ends(runs: Vec<Range<u32>>) -> Vec<(u32, u32)> {
    runs.into_iter().map(|run| (run.start, run.end)).collect()
}

fn runs(clock: Clock, lane: &Lane, look: Look) -> Vec<(u32, u32)> {
    ends(clock.runs(lane, look))
}

fn text(markup: &Markup) -> String {
    markup.clone().into_value().to_string()
}

#[test]
fn lanes_share_a_clock() {
    let early = lane(vec![span(100, Some(110), State::Ok)], 200, false);
    let late = lane(vec![span(150, Some(190), State::Ok)], 195, false);
    let clock = Clock::of([&early, &late].into_iter(), 100).unwrap();
    assert_eq!(duration(clock.seconds()), "1.7 min");
    assert_eq!((runs(clock, &early, Look::Work), runs(clock, &late, Look::Work)), (vec![(0, 10)], vec![(50, 90)]));
    assert_eq!(clock.words(&late), "1 compile, from 50.00 s to 90.00 s, its log ends at 95.00 s");
    // The first works alone, then nobody, then the second.
    let work = text(&clock.at_work([&early, &late].into_iter()));
    assert!(work.contains("d=\"M0 40H0V21H10V40H50V21H90V40V40z\""), "{work}");
    assert!(work.contains("How many of 2 ranks compile"));
}

#[test]
fn what_never_finished_lasts_to_the_end_of_its_log() {
    let lane = lane(vec![span(0, Some(2), State::Ok), span(5, None, State::Open)], 10, true);
    let clock = Clock::of([&lane].into_iter(), 100).unwrap();
    assert_eq!(runs(clock, &lane, Look::Open), [(50, 100)]);
    let svg = text(&clock.lane(&lane, "rank 0", Some(&|nth| format!("compile {nth}"))));
    assert!(svg.contains("class=\"missing dashed line\" d=\"M50 2h50v16h-50z\""), "{svg}");
    assert!(svg.contains("<title>compile 7</title>"), "{svg}");
    assert!(svg.contains("1 never finished, its log is cut at 10.00 s"), "{svg}");
    // An end that the log does not tell is no reason to make one up.
    let unknown = super::Lane { spans: vec![span(5, None, State::Missing)], ..lane };
    assert_eq!(runs(clock, &unknown, Look::Work), [(50, 51)]);
}

#[test]
fn between_a_graph_and_its_backward_nothing_compiles() {
    let mut lane = lane(vec![span(0, Some(10), State::Ok)], 10, false);
    lane.busy = vec![(0, 2 * S), (8 * S, 10 * S)];
    let clock = Clock::of([&lane].into_iter(), 100).unwrap();
    assert_eq!(runs(clock, &lane, Look::Work), [(0, 20), (80, 100)]);
    assert_eq!(ends(clock.work(&lane)), [(0, 20), (80, 100)]);
}

#[test]
fn many_compiles_are_few_bars() {
    let spans = (0..20_000).map(|n| span(n, Some(n + 1), State::Ok)).collect();
    let lane = lane(spans, 20_000, false);
    let clock = Clock::of([&lane].into_iter(), 400).unwrap();
    assert_eq!(runs(clock, &lane, Look::Work), [(0, 400)]);
    assert!(text(&clock.lane(&lane, "rank 0", None)).len() < 600);
    let titled = text(&clock.lane(&lane, "rank 0", Some(&|nth| nth.to_string())));
    assert_eq!(titled.matches("<title>").count(), TITLES);
}

#[test]
fn five_hundred_ranks_of_noise_are_small() {
    // A bar in every second pixel.
    let noise = |rank: i64| {
        lane((0..160).map(|n| span(n * 2 + rank % 2, Some(n * 2 + rank % 2 + 1), State::Ok)).collect(), 400, false)
    };
    let lanes: Vec<Lane> = (0..512).map(noise).collect();
    let clock = Clock::of(lanes.iter(), 320).unwrap();
    let all: usize = lanes.iter().map(|lane| text(&clock.lane(lane, "rank 511", None)).len()).sum();
    assert!(all < 1_000_000, "{all}");
    let clock = Clock::of(lanes.iter(), 960).unwrap();
    let titled: usize = lanes
        .iter()
        .take(16)
        .map(|lane| text(&clock.lane(lane, "rank 511", Some(&|n| format!("{n}/0 forward: ok, 1.00 s")))).len())
        .sum();
    assert!(titled < 250_000, "{titled}");
}

#[test]
fn no_time_is_no_clock_and_one_moment_is_one() {
    let none = Lane::default();
    assert_eq!(Clock::of([&none].into_iter(), 100), None);
    let moment = lane(vec![span(7, None, State::Ok)], 7, false);
    let clock = Clock::of([&moment].into_iter(), 100).unwrap();
    assert_eq!(runs(clock, &moment, Look::Work), [(0, 1)]);
    assert!(text(&clock.axis()).contains(">0 s</text>"));
    // Hostile times overflow nothing.
    let far =
        Lane { spans: vec![Span { number: 0, start_us: i64::MIN, end_us: Some(i64::MAX), state: State::Ok }], ..none };
    let clock = Clock::of([&far, &moment].into_iter(), 100).unwrap();
    assert_eq!(runs(clock, &far, Look::Work), [(0, 100)]);
    assert!(!text(&clock.axis()).is_empty());
}

#[test]
fn times_on_the_axis_are_round() {
    assert_eq!([0.0, 0.7, 1.0, 1.1, 3.0, 70.0].map(|s| nice(s).to_string()), ["1", "1", "1", "2", "5", "100"]);
    let lane = lane(vec![span(0, Some(100), State::Ok)], 100, false);
    let axis = text(&Clock::of([&lane].into_iter(), 960).unwrap().axis());
    assert!(axis.contains(">10.00 s</text>") && axis.contains(">90.00 s</text>"), "{axis}");
}

#[test]
fn a_name_of_a_log_is_never_markup() {
    let lane = lane(vec![span(0, Some(1), State::Error)], 1, false);
    let clock = Clock::of([&lane].into_iter(), 100).unwrap();
    let hostile = "\"></svg><script>alert(1)</script>";
    let svg = text(&clock.lane(&lane, hostile, Some(&|_| hostile.to_owned())));
    assert!(!svg.contains("<script") && svg.matches("</svg>").count() == 1, "{svg}");
}
