//! The start of a file: what its first records tell, without the others being read.

use super::scan::{self, Scratch};
use super::{Index, IndexOptions, Join, cut, generation, line_end};
use crate::error::Result;
use crate::job::Job;

/// Bytes that are looked at first; then eight times as many, until they are enough.
const FIRST: usize = 256 << 10;
/// Bytes of a chunk.
const CHUNK: usize = 64 << 10;

/// The first rank that a record gives. Reads as far as that takes.
pub(crate) fn first_rank(bytes: &[u8], options: IndexOptions, job: &Job) -> Result<Option<i32>> {
    let line_end = line_end(bytes);
    let mut scratch = Scratch::default();
    let (mut done, mut look) = (0, FIRST);
    while done < bytes.len() {
        let until = bytes.len().min(done.saturating_add(look));
        for range in whole_chunks(bytes, done, until) {
            done = range.end;
            let chunk = scan::scan(bytes, &range, line_end, options.verify, &mut scratch);
            job.check()?;
            if let Some(rank) = chunk.records.iter().find_map(|r| r.rank) {
                return Ok(Some(rank));
            }
        }
        look = look.saturating_mul(8);
    }
    Ok(None)
}

/// The records of about the first `len` bytes, and whether these are all. Times and problems are missing; all else is as
/// if the whole file had been read.
pub(crate) fn first_records(bytes: &[u8], len: usize, options: IndexOptions, job: &Job) -> Result<(Index, bool)> {
    let line_end = line_end(bytes);
    let ranges = whole_chunks(bytes, 0, len.min(bytes.len()));
    let end = ranges.last().map_or(0, |range| range.end);
    let (mut join, mut scratch) = (Join::default(), Scratch::default());
    for range in ranges {
        join.add(scan::scan(bytes, &range, line_end, options.verify, &mut scratch));
        job.check()?;
    }
    let mut index = join.finish();
    index.line_end = line_end;
    index.len = bytes.len() as u64;
    index.problems.clear();
    generation::assign(&mut index);
    Ok((index, end >= bytes.len()))
}

/// The chunks of `from..until`, without the last one where more bytes follow: it may go on behind `until`.
fn whole_chunks(bytes: &[u8], from: usize, until: usize) -> Vec<std::ops::Range<usize>> {
    let stretch = bytes.get(from..until).unwrap_or_default();
    let mut ranges = cut::cut(stretch, CHUNK);
    if until < bytes.len() {
        ranges.pop();
    }
    ranges.into_iter().map(|range| range.start + from..range.end + from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_records_are_those_of_the_whole_file() {
        let head = "V1129 23:51:41.631000 1 x.py:3] ";
        let plain = format!("{head}{{\"dynamo_start\": {{}}, \"frame_id\": 0, \"frame_compile_id\": 0}}\n\ttext\n");
        let ranked = format!("{head}{{\"a\": {{}}, \"rank\": 3}}\n");
        let log = plain.repeat(20_000) + &ranked + &plain.repeat(10_000);
        let (bytes, options, job) = (log.as_bytes(), IndexOptions::default(), Job::default());
        assert_eq!(first_rank(bytes, options, &job).unwrap(), Some(3));
        assert_eq!(first_rank(plain.repeat(20_000).as_bytes(), options, &job).unwrap(), None);
        assert_eq!(first_rank(b"", options, &job).unwrap(), None);
        let whole = super::super::index(bytes, 0, options, &job).unwrap();
        for len in [1, 100_000, 1_000_000, usize::MAX] {
            let (first, all) = first_records(bytes, len, options, &job).unwrap();
            assert_eq!(all, len == usize::MAX);
            assert!(len < 100_000 || first.records.len() > len.min(bytes.len()) / plain.len() * 3 / 10);
            for (a, b) in first.records.iter().zip(&whole.records) {
                assert_eq!((a.offset, a.len, a.line, a.generation), (b.offset, b.len, b.line, b.generation));
            }
        }
    }
}
