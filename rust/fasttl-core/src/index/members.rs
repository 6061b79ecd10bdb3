//! Where the members of a metrics record's metadata stand, so that nobody has to look for them again.

use std::fmt;
use std::hash::Hasher;
use std::ops::Range;

use rustc_hash::FxHasher;

use crate::format::envelope::MOST_MEMBERS;

/// The place of one member, in bytes from the start of the metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    key: u32,
    value: u32,
    value_len: u32,
    /// Of the key; see [`key_hash`].
    hash: u32,
    key_len: u16,
}

/// A number that tells most keys apart, so that a key is found without a look at all of their texts.
pub(crate) fn key_hash(key: &[u8]) -> u32 {
    let mut hasher = FxHasher::default();
    hasher.write(key);
    let hash = hasher.finish();
    u32::try_from(hash >> 32).unwrap_or_default()
}

impl Member {
    fn new(head: &[u8], metadata: &Range<usize>, key: &Range<usize>, value: &Range<usize>) -> Option<Self> {
        let place = |at: usize| u32::try_from(at.checked_sub(metadata.start)?).ok();
        Some(Self {
            key: place(key.start)?,
            value: place(value.start)?,
            value_len: u32::try_from(value.len()).ok()?,
            hash: key_hash(head.get(key.clone())?),
            key_len: u16::try_from(key.len()).ok()?,
        })
    }

    /// The hash of the key.
    pub(crate) const fn hash(self) -> u32 {
        self.hash
    }

    /// Key and value, as they stand in the metadata.
    pub(crate) fn of(self, metadata: &[u8]) -> (&[u8], &[u8]) {
        let slice = |at: u32, len: u32| metadata.get(at as usize..at as usize + len as usize).unwrap_or_default();
        (slice(self.key, self.key_len.into()), slice(self.value, self.value_len))
    }
}

/// The members of the metrics records of a log, by number of the record.
#[derive(Clone, Default)]
pub(crate) struct Members(Vec<(usize, Box<[Member]>)>);

/// Two indexes of one log are the same, whether the places were found or are to be looked for.
impl fmt::Debug for Members {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Members")
    }
}

impl Members {
    /// Adds those of a chunk, of which the first record has number `before`.
    pub(super) fn add(&mut self, before: usize, of_chunk: Vec<(usize, Box<[Member]>)>) {
        self.0.extend(of_chunk.into_iter().map(|(record, members)| (before + record, members)));
    }

    /// About how many bytes they take.
    pub(crate) fn memory(&self) -> usize {
        self.0.iter().map(|entry| size_of_val(entry) + size_of_val(entry.1.as_ref())).sum()
    }

    /// Those of record number `at`, if they are known.
    pub(super) fn of(&self, at: usize) -> Option<&[Member]> {
        let nth = self.0.binary_search_by_key(&at, |(record, _)| *record).ok()?;
        self.0.get(nth).map(|(_, members)| members.as_ref())
    }
}

/// The places of all members, given as ranges of the head; `None` where there are too many, or they are too far apart.
pub(super) fn members(
    head: &[u8],
    metadata: &Range<usize>,
    found: &[(Range<usize>, Range<usize>)],
) -> Option<Box<[Member]>> {
    if found.is_empty() || found.len() > MOST_MEMBERS {
        return None;
    }
    found.iter().map(|(key, value)| Member::new(head, metadata, key, value)).collect()
}
