//! Cuts a log into chunks that can be read side by side.
//!
//! A chunk starts at a line that begins with a record's prefix. Such a line starts a record whatever
//! stands before it, so what a chunk yields depends on no other chunk.

use std::ops::Range;

use rayon::prelude::*;

use crate::format::payload::next_line;
use crate::format::prefix;

/// Ranges of whole records, in order, that cover `bytes` without gap; each aims at `chunk_len` bytes.
pub(super) fn cut(bytes: &[u8], chunk_len: usize) -> Vec<Range<usize>> {
    let chunk_len = chunk_len.max(1);
    let count = bytes.len().div_ceil(chunk_len);
    let starts: Vec<Option<usize>> = (0..count)
        .into_par_iter()
        .map(|n| if n == 0 { Some(0) } else { first_head(bytes, n * chunk_len, (n + 1) * chunk_len) })
        .collect();
    let mut starts: Vec<usize> = starts.into_iter().flatten().collect();
    starts.push(bytes.len());
    starts.windows(2).filter_map(|pair| Some(*pair.first()?..*pair.last()?)).collect()
}

/// Offset of the first line that starts in `from..to` and begins with a prefix.
fn first_head(bytes: &[u8], from: usize, to: usize) -> Option<usize> {
    let to = to.min(bytes.len());
    // A line starts at `from` only when the byte before is a line feed.
    let mut at = from - 1;
    loop {
        // Lines that go on past `to` are somebody else's: a huge line is not searched by every cut in it.
        at += memchr::memchr(b'\n', bytes.get(at..to)?)? + 1;
        // A payload line cannot start a record; look at the whole of the others.
        if at < to && bytes.get(at) != Some(&b'\t') {
            let (line, _) = next_line(bytes.get(at..)?);
            if line.get(prefix::harmless_lead(line)..).and_then(prefix::parse).is_some() {
                return Some(at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_start_at_heads_and_cover_everything() {
        let record = "V1129 23:51:41.631000 1 x.py:3] {\"a\": {}}\n\tV1129 23:51:41.631000 1 x.py:3] {}\n";
        let bytes = record.repeat(20).into_bytes();
        for chunk_len in [1, 7, 60, 200, 10_000] {
            let chunks = cut(&bytes, chunk_len);
            assert_eq!(chunks.iter().map(ExactSizeIterator::len).sum::<usize>(), bytes.len());
            assert!(chunks.iter().all(|c| c.start % record.len() == 0));
        }
        assert!(cut(b"", 10).is_empty());
    }
}
