//! What is known of one record without reading its text again.

use crate::format::compile_id::CompileId;
use crate::format::kind::Kind;
use crate::format::time::WallTime;

/// Stands for "not there" in the compact ids below.
pub const NONE: u32 = u32::MAX;

/// How a payload agrees with the md5 in the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum PayloadState {
    /// The head names no payload.
    #[default]
    None,
    /// The payload has the md5 that the head gives.
    Verified,
    /// The md5 was not computed.
    Unchecked,
    /// The md5 differs, or the head's is none.
    WrongMd5,
    /// The head names a payload but there is none.
    Missing,
    /// The log ends before the payload is whole.
    CutShort,
}

impl PayloadState {
    /// Whether the payload is all that was logged, as far as it was looked at.
    pub const fn is_whole(self) -> bool {
        matches!(self, Self::Verified | Self::Unchecked)
    }

    /// Whether all lines that were logged are likely there: those with a wrong md5 may have been edited since.
    pub const fn is_readable(self) -> bool {
        matches!(self, Self::Verified | Self::Unchecked | Self::WrongMd5)
    }

    /// Name in the tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "no payload",
            Self::Verified => "verified",
            Self::Unchecked => "unchecked",
            Self::WrongMd5 => "wrong md5",
            Self::Missing => "payload missing",
            Self::CutShort => "cut short",
        }
    }
}

/// How an artifact says that its payload is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Encoding {
    /// The kind has no encoding, or the artifact gives none.
    #[default]
    Absent,
    /// `"string"`
    Text,
    /// `"json"`
    Json,
    /// Anything else.
    Unknown,
}

impl Encoding {
    /// Name in the tables.
    pub const fn name(self) -> Option<&'static str> {
        match self {
            Self::Absent => None,
            Self::Text => Some("string"),
            Self::Json => Some("json"),
            Self::Unknown => Some("unknown"),
        }
    }
}

/// A kind: one of the known ones, or a number in the file's list of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KindId {
    /// Listed in [`crate::format::kind::KINDS`].
    Known(Kind),
    /// Index into [`super::Names::kinds`].
    Other(u32),
}

impl KindId {
    /// Whether it is `kind`.
    pub fn is(self, kind: Kind) -> bool {
        self == Self::Known(kind)
    }
}

/// One record. Offsets count bytes of the (unpacked) file; the text stays there.
#[derive(Clone, Debug)]
pub struct Record {
    /// Where the record starts.
    pub offset: u64,
    /// Bytes up to the next record or problem, blank lines after it included.
    pub len: u64,
    /// Bytes of the head's line, its line feed included; the payload's lines follow.
    pub head_len: u64,
    /// Bytes from `offset` to the JSON object.
    pub json_at: u32,
    /// Bytes of the JSON object.
    pub json_len: u64,
    /// Bytes from the JSON object's start to the metadata.
    pub meta_at: u32,
    /// Bytes of the metadata.
    pub meta_len: u64,
    /// Bytes of the payload's text, TABs removed.
    pub text_len: u64,
    /// The md5 that the head gives (its bytes; zero where it gives none).
    pub md5: [u8; 16],
    /// Line number of the head, from 1.
    pub line: u64,
    /// When it was logged.
    pub when: When,
    /// Process id (thread id in PyTorch 2.3 and 2.4).
    pub thread: Option<u64>,
    /// Index into [`super::Names::sources`]: the source file that logged the record.
    pub source: u32,
    /// Line in that file, [`NONE`] when it does not fit.
    pub source_line: u32,
    /// The kind.
    pub kind: KindId,
    /// Index into [`super::Names::names`]: the artifact's, graph's or link's name; [`NONE`] without one.
    pub name: u32,
    /// Index into [`super::Names::ids`].
    pub id: u32,
    /// Index into [`super::Names::names`] of the sub-graph, or [`NONE`].
    pub subgraph: u32,
    /// How often ids had started again before this record.
    pub generation: u32,
    /// Rank in the head.
    pub rank: Option<i32>,
    /// How an artifact's payload is to be read.
    pub encoding: Encoding,
    /// Whether the payload is whole.
    pub payload: PayloadState,
    /// What the record says about a compile's life; see [`Mark`].
    pub mark: Mark,
    /// Whether the head, and the payload of a timing event, is strict JSON with nothing unusual in it.
    pub plain: bool,
}

/// When a record was logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Its prefix has no time.
    Unknown,
    /// The time in its prefix, until the file's clock is known.
    Wall(WallTime),
    /// Microseconds since 1970.
    Utc(i64),
}

/// Events of a compile's life that the index needs while it goes through a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Mark {
    /// None of these.
    #[default]
    None,
    /// The begin of the `dynamo` span, the first record of a compile.
    Begin,
    /// The end of the `dynamo` span.
    End,
    /// A timing event that is no JSON.
    Broken,
}

impl Record {
    /// When it was logged, in microseconds since 1970; `None` without a time.
    pub const fn time_us(&self) -> Option<i64> {
        match self.when {
            When::Utc(us) => Some(us),
            When::Unknown | When::Wall(_) => None,
        }
    }

    /// The time in its prefix, until the file's clock is known.
    pub(super) const fn wall(&self) -> Option<WallTime> {
        match self.when {
            When::Wall(wall) => Some(wall),
            When::Unknown | When::Utc(_) => None,
        }
    }

    /// Where the payload's lines start and end in the file.
    pub const fn payload_range(&self) -> (u64, u64) {
        (self.offset + self.head_len, self.offset + self.len)
    }

    /// Where the JSON head starts and ends in the file.
    pub const fn json_range(&self) -> (u64, u64) {
        let start = self.offset + self.json_at as u64;
        (start, start + self.json_len)
    }

    /// Where the metadata starts and ends in the file.
    pub const fn meta_range(&self) -> (u64, u64) {
        let start = self.offset + self.json_at as u64 + self.meta_at as u64;
        (start, start + self.meta_len)
    }

    /// Whether the head names a payload, whatever became of it.
    pub fn has_payload(&self) -> bool {
        self.payload != PayloadState::None
    }
}

/// Texts that many records share: each stands once, records have its number.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Kinds that are not known.
    pub kinds: Vec<String>,
    /// Source files that logged records.
    pub sources: Vec<String>,
    /// Names of artifacts, graphs, links, sub-graphs.
    pub names: Vec<String>,
    /// Compile ids, attempts apart.
    pub ids: Vec<CompileId>,
}

impl Names {
    /// Name of a kind.
    pub fn kind(&self, kind: KindId) -> &str {
        match kind {
            KindId::Known(kind) => kind.info().name,
            KindId::Other(index) => self.kinds.get(index as usize).map_or("", String::as_str),
        }
    }

    /// A record's compile id.
    pub fn id(&self, record: &Record) -> CompileId {
        self.ids.get(record.id as usize).copied().unwrap_or_default()
    }

    /// A record's name, if it has one.
    pub fn name(&self, record: &Record) -> Option<&str> {
        self.names.get(record.name as usize).map(String::as_str)
    }

    /// The source file that logged a record.
    pub fn source(&self, record: &Record) -> &str {
        self.sources.get(record.source as usize).map_or("", String::as_str)
    }
}
