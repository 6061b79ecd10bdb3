//! The fields of all metrics records of a log, read once for all that ask for them: such a record has a hundred
//! fields, whole configurations among them, and is most of what a log's heads are.

use std::borrow::Cow;

use rayon::prelude::*;

use super::metrics::{Fields, is_metrics, metrics_fields};
use crate::index::Index;

/// Real records have some 120 fields; those of a record with more are read again when they are asked for.
const KEPT_FIELDS: usize = 512;

/// The fields of the metrics records of one log.
#[derive(Debug)]
pub(crate) struct MetricRecords<'a> {
    index: &'a Index,
    bytes: &'a [u8],
    /// By number of the record.
    kept: Vec<(usize, Fields<'a>)>,
}

impl<'a> MetricRecords<'a> {
    /// Reads them. `bytes` are the log's.
    pub(crate) fn new(index: &'a Index, bytes: &'a [u8]) -> Self {
        let metrics: Vec<usize> =
            index.records.iter().enumerate().filter(|(_, record)| is_metrics(record)).map(|(at, _)| at).collect();
        let read = |at: usize| {
            let fields = metrics_fields(index.metadata(index.records.get(at)?, bytes));
            (fields.len() <= KEPT_FIELDS).then_some((at, fields))
        };
        Self { index, bytes, kept: metrics.into_par_iter().filter_map(read).collect() }
    }

    /// The fields of record number `at`; of one that is no metrics record, what its metadata has.
    pub(crate) fn fields(&self, at: usize) -> Cow<'_, Fields<'a>> {
        match self.kept.binary_search_by_key(&at, |(record, _)| *record).ok().and_then(|nth| self.kept.get(nth)) {
            Some((_, fields)) => Cow::Borrowed(fields),
            None => Cow::Owned(
                self.index
                    .records
                    .get(at)
                    .map(|record| metrics_fields(self.index.metadata(record, self.bytes)))
                    .unwrap_or_default(),
            ),
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
        let head =
            |fields: &str| format!("V1129 23:59:59.000001 1 x.py:1] {{\"compilation_metrics\": {{{fields}}}}}\n");
        let many: Vec<String> = (0..=KEPT_FIELDS).map(|n| format!("\"f{n}\": {n}")).collect();
        let log = [head("\"cache_size\": 3"), head(&many.join(", ")), head("\"cache_size\": 4")].concat();
        let index = index(log.as_bytes(), 0, IndexOptions::default(), &Job::default()).unwrap();
        let metrics = MetricRecords::new(&index, log.as_bytes());
        assert_eq!(metrics.kept.len(), 2);
        assert_eq!(metrics.fields(0).int("cache_size"), Some(3));
        assert_eq!(metrics.fields(1).int("f512"), Some(512));
        assert_eq!(metrics.fields(2).int("cache_size"), Some(4));
        assert_eq!(metrics.fields(3).int("cache_size"), None);
    }
}
