//! The fields of the metrics records of a log: such a record has a hundred fields, whole configurations among them,
//! and is most of what a log's heads are, so that they are found once, by the index.

use super::metrics::{Fields, metrics_fields};
use crate::index::Index;

/// The metrics records of one log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MetricRecords<'a> {
    index: &'a Index,
    bytes: &'a [u8],
}

impl<'a> MetricRecords<'a> {
    /// Those of the log that has `bytes`.
    pub(crate) const fn new(index: &'a Index, bytes: &'a [u8]) -> Self {
        Self { index, bytes }
    }

    /// The fields of record number `at`; of one that is no metrics record, what its metadata has.
    pub(crate) fn fields(&self, at: usize) -> Fields<'a> {
        let Some(record) = self.index.records.get(at) else { return Fields::default() };
        let metadata = self.index.metadata(record, self.bytes);
        match self.index.members_of(at) {
            Some(members) => members.iter().map(|member| (member.hash(), member.of(metadata))).collect(),
            None => metrics_fields(metadata),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::{IndexOptions, index};
    use crate::job::Job;

    #[test]
    fn fields_are_those_of_the_record_however_many_there_are() {
        let head = |kind: &str, fields: &str| format!("V1129 23:59:59.000001 1 x.py:1] {{\"{kind}\": {{{fields}}}}}\n");
        let many: Vec<String> = (0..2000).map(|n| format!("\"f{n}\": {n}")).collect();
        let log = [
            head("compilation_metrics", "\"cache_size\": 3, \"a\": {\"cache_size\": 9}, \"n\" : null "),
            head("bwd_compilation_metrics", &many.join(", ")),
            head("compilation_metrics_runtime", "\"cache_size\": 4"),
            head("artifact", "\"name\": \"x\""),
        ];
        for chunk_len in [1, 1 << 20] {
            let log = log.concat();
            let options = IndexOptions { chunk_len, ..IndexOptions::default() };
            let index = index(log.as_bytes(), 0, options, &Job::default()).unwrap();
            let metrics = MetricRecords::new(&index, log.as_bytes());
            let known: Vec<bool> = (0..5).map(|at| index.members_of(at).is_some()).collect();
            assert_eq!(known, [true, false, true, false, false]);
            assert_eq!(metrics.fields(0).int("cache_size"), Some(3));
            assert_eq!(metrics.fields(1).int("f1999"), Some(1999));
            assert_eq!(metrics.fields(2).int("cache_size"), Some(4));
            assert_eq!(metrics.fields(3).text("name").as_deref(), Some("x"));
            assert_eq!((metrics.fields(0).get("n"), metrics.fields(4).get("n")), (None, None));
        }
    }
}
