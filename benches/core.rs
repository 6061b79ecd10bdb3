//! How long the steps of the core take, one by one: `make bench-rust`, or with a name as filter
//! `cargo bench -p fasttl-core -- md5`.
//!
//! What counts for users is measured by `compare.py`; this tells which step a change made slower. The input is
//! the small real job of `examples/`, repeated in memory where it is too small to be measured.
#![expect(clippy::unwrap_used, reason = "without its input there is nothing to measure")]

use std::hint::black_box;
use std::path::{Path, PathBuf};

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput};
use fasttl_core::analysis;
use fasttl_core::format::md5_lanes::{Lanes, md5_many, md5_many_with};
use fasttl_core::format::payload::next_line;
use fasttl_core::format::{envelope, prefix};
use fasttl_core::index::{IndexOptions, Verify, index};
use fasttl_core::job::Job;
use fasttl_core::report::{ReportOptions, write_report};
use fasttl_core::trace::{self, LoadOptions, Trace};

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let log = log(4 << 20);
    lines(&mut criterion, &log);
    chunks(&mut criterion, &log);
    md5(&mut criterion);
    job(&mut criterion);
    criterion.final_summary();
}

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/crash_3_ranks")
}

/// The logs of the example, again and again, up to `len` bytes or a log more.
fn log(len: usize) -> Vec<u8> {
    let mut paths: Vec<_> = std::fs::read_dir(example()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "log"));
    paths.sort();
    let logs: Vec<_> = paths.iter().map(|path| std::fs::read(path).unwrap()).collect();
    let mut log = Vec::new();
    for one in logs.iter().cycle() {
        log.extend_from_slice(one);
        if log.len() >= len {
            break;
        }
    }
    log
}

fn each_line<'a>(mut bytes: &'a [u8], mut each: impl FnMut(&'a [u8])) {
    while !bytes.is_empty() {
        let (line, len) = next_line(bytes);
        each(line);
        bytes = bytes.get(len..).unwrap_or_default();
    }
}

/// The grammar of a record, over each line of a log that it is asked for.
fn lines(criterion: &mut Criterion, log: &[u8]) {
    let (mut heads, mut objects) = (Vec::new(), Vec::new());
    each_line(log, |line| {
        if let Some(prefix) = prefix::parse(line) {
            heads.push(line);
            objects.extend(line.get(prefix.json_at..));
        }
    });
    let len = |lines: &[&[u8]]| Throughput::Bytes(lines.iter().map(|line| line.len() as u64).sum());

    let mut group = criterion.benchmark_group("lines");
    group.throughput(Throughput::Bytes(log.len() as u64));
    group.bench_function("split", |b| {
        b.iter(|| {
            let mut lines = 0_usize;
            each_line(black_box(log), |_| lines += 1);
            lines
        });
    });
    group.throughput(Throughput::Elements(heads.len() as u64));
    group.bench_function("prefix::parse", |b| {
        b.iter(|| heads.iter().filter_map(|line| prefix::parse(black_box(line))).count());
    });
    group.throughput(len(&objects));
    group.bench_function("envelope::parse", |b| {
        b.iter(|| objects.iter().filter_map(|line| envelope::parse(black_box(line)).ok()).count());
    });
    group.finish();
}

/// A whole log: cut into chunks, scanned and joined, on one thread.
fn chunks(criterion: &mut Criterion, log: &[u8]) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let mut group = criterion.benchmark_group("index");
    group.throughput(Throughput::Bytes(log.len() as u64)).sample_size(20);
    for (name, verify, chunk_len) in [
        ("one chunk", Verify::Skip, log.len()),
        ("chunks of 64 KB", Verify::Skip, 64 << 10),
        ("one chunk, with md5", Verify::Md5, log.len()),
    ] {
        let options = IndexOptions { verify, chunk_len };
        group.bench_function(name, |b| {
            pool.install(|| b.iter(|| index(black_box(log), 0, options, &Job::default()).unwrap()));
        });
    }
    group.finish();
}

/// MD5 of many texts, with each width of lanes that this processor has.
fn md5(criterion: &mut Criterion) {
    let short = |i: usize| 200 + i * 7919 % 201;
    let mixes: [(&str, Vec<usize>); 5] = [
        ("1500 of 300 B", (0..1500).map(short).collect()),
        // As in a chunk of a log: timing events, and now and then a graph or code.
        (
            "1500, some long",
            (0..1500).map(|i| if i % 16 == 5 { 2000 + i * 104_729 % 58_000 } else { short(i) }).collect(),
        ),
        ("64 of 64 KB", vec![64 << 10; 64]),
        ("8 of 500 KB", vec![500_000; 8]),
        ("1 of 500 KB", vec![500_000]),
    ];
    for (name, lengths) in mixes {
        let total = lengths.iter().sum();
        let bytes: Vec<u8> = (0_u32..).map(|i| i.wrapping_mul(2_654_435_761).to_le_bytes()[3]).take(total).collect();
        let mut rest = bytes.as_slice();
        let texts: Vec<_> = lengths.iter().map(|len| rest.split_off(..*len).unwrap()).collect();
        let mut out = Vec::new();
        let mut group = criterion.benchmark_group(format!("md5/{name}"));
        group.throughput(Throughput::Bytes(total as u64)).sample_size(20);
        for lanes in Lanes::available() {
            group.bench_function(BenchmarkId::from_parameter(format!("{lanes:?}")), |b| {
                b.iter(|| md5_many_with(lanes, black_box(&texts), &mut out));
            });
        }
        group.bench_function("picked", |b| b.iter(|| md5_many(black_box(&texts), &mut out)));
        group.finish();
    }
}

/// What is made of a job that was read: a table, and all pages of its report.
fn job(criterion: &mut Criterion) {
    let job = Job::default();
    let load = || trace::load(&[example()], &LoadOptions::default(), &job).unwrap();
    let mut group = criterion.benchmark_group("job");
    group.sample_size(20);
    group.bench_function("table frames", |b| {
        // A trace keeps what was worked out: each run gets a new one.
        b.iter_batched(load, |trace| analysis::table(&trace, "frames").unwrap(), BatchSize::SmallInput);
    });
    // In memory where there is such a folder, so that the disk is not what is measured.
    let memory = Path::new("/dev/shm");
    let dir = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
    let mut runs = 0_usize..;
    let mut report = |trace: &Trace| {
        let out = dir.path().join(runs.next().unwrap().to_string());
        let report = write_report(trace, &ReportOptions { out, ..Default::default() }, &job).unwrap();
        std::fs::remove_dir_all(report.out).unwrap();
    };
    group.bench_function("report", |b| b.iter_batched(load, |trace| report(&trace), BatchSize::SmallInput));
    group.finish();
}
