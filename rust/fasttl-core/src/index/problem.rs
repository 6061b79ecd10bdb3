//! What is wrong with the input, as data.

use super::record::Record;

/// What kind of damage or oddity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ProblemKind {
    /// Lines that are no record and belong to none.
    ForeignText,
    /// Payload lines that follow no head that wants them.
    OrphanPayload,
    /// Blank lines before the first record.
    BlankLines,
    /// A head whose JSON cannot be read.
    BadJson,
    /// A record that another one was written into.
    TornRecord,
    /// The log ends inside a record.
    CutShort,
    /// A head with no kind.
    NoKind,
    /// The payload's md5 is not the one in the head.
    WrongMd5,
    /// The head names a payload, but none follows.
    PayloadMissing,
    /// A payload with bytes that are not UTF-8.
    BadUtf8,
    /// A field whose value has another type or does not fit.
    BadField,
    /// A key that is not known at this place.
    UnknownField,
    /// A key that stands twice, or two kinds in one head.
    KeyConflict,
    /// A bare NaN or infinity; it becomes null in JSON that is written.
    NonFinite,
    /// Nesting deeper than strict readers follow.
    DeepJson,
    /// Text after the JSON of a head.
    TrailingText,
    /// A record of another rank than the file's.
    OtherRank,
    /// The file's name says another rank than its records.
    RankName,
    /// Compressed data that ends or breaks early.
    BadCompression,
    /// A timing event that is no JSON object; the trace files lack it.
    BadPayloadJson,
    /// An artifact that says it is JSON and is not; it is kept as it is.
    ArtifactNotJson,
    /// An artifact that ranks are compared by, with another shape than PyTorch gives it.
    UnexpectedPayload,
    /// A string id that was given two texts.
    StringRedefined,
    /// A log of which no record could be read: it is empty, or its bytes cannot be had.
    NothingRead,
    /// A custom parser could not be loaded, failed, or returned what cannot be used; its files are not in the report.
    ParserFailed,
}

/// Whether something was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Unusual, but nothing is lost.
    Note,
    /// Something is damaged or cannot be used.
    Error,
}

impl Severity {
    /// Name in the tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Error => "error",
        }
    }
}

impl ProblemKind {
    /// Every kind, so that documents and tests can walk them.
    pub const ALL: [Self; 25] = [
        Self::ForeignText,
        Self::OrphanPayload,
        Self::BlankLines,
        Self::BadJson,
        Self::TornRecord,
        Self::CutShort,
        Self::NoKind,
        Self::WrongMd5,
        Self::PayloadMissing,
        Self::BadUtf8,
        Self::BadField,
        Self::UnknownField,
        Self::KeyConflict,
        Self::NonFinite,
        Self::DeepJson,
        Self::TrailingText,
        Self::OtherRank,
        Self::RankName,
        Self::BadCompression,
        Self::BadPayloadJson,
        Self::ArtifactNotJson,
        Self::UnexpectedPayload,
        Self::StringRedefined,
        Self::NothingRead,
        Self::ParserFailed,
    ];

    /// Name in the tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ForeignText => "foreign text",
            Self::OrphanPayload => "orphan payload",
            Self::BlankLines => "blank lines",
            Self::BadJson => "bad JSON",
            Self::TornRecord => "torn record",
            Self::CutShort => "cut short",
            Self::NoKind => "no kind",
            Self::WrongMd5 => "wrong md5",
            Self::PayloadMissing => "payload missing",
            Self::BadUtf8 => "bad UTF-8",
            Self::BadField => "bad field",
            Self::UnknownField => "unknown field",
            Self::KeyConflict => "key conflict",
            Self::NonFinite => "NaN or infinity",
            Self::DeepJson => "deep JSON",
            Self::TrailingText => "trailing text",
            Self::OtherRank => "other rank",
            Self::RankName => "rank in name",
            Self::BadCompression => "bad compression",
            Self::BadPayloadJson => "payload is no JSON",
            Self::ArtifactNotJson => "artifact is no JSON",
            Self::UnexpectedPayload => "unexpected payload",
            Self::StringRedefined => "string redefined",
            Self::NothingRead => "nothing read",
            Self::ParserFailed => "parser failed",
        }
    }

    /// Whether it means a loss.
    pub const fn severity(self) -> Severity {
        match self {
            Self::BlankLines
            | Self::UnknownField
            | Self::KeyConflict
            | Self::NonFinite
            | Self::DeepJson
            | Self::RankName
            | Self::ArtifactNotJson
            | Self::StringRedefined => Severity::Note,
            Self::ForeignText
            | Self::OrphanPayload
            | Self::BadJson
            | Self::TornRecord
            | Self::CutShort
            | Self::NoKind
            | Self::WrongMd5
            | Self::PayloadMissing
            | Self::BadUtf8
            | Self::BadField
            | Self::TrailingText
            | Self::OtherRank
            | Self::BadCompression
            | Self::BadPayloadJson
            | Self::UnexpectedPayload
            | Self::NothingRead
            | Self::ParserFailed => Severity::Error,
        }
    }
}

/// One row of `problems`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where it starts in the (unpacked) file.
    pub offset: u64,
    /// Bytes concerned.
    pub len: u64,
    /// Line number, from 1.
    pub line: u64,
    /// What it is.
    pub kind: ProblemKind,
    /// What exactly, for a person.
    pub detail: String,
    /// Whether the bytes belong to no record: then they belong to this problem alone.
    pub owns_bytes: bool,
}

/// A row of `problems` that a custom parser caused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParserProblem {
    /// Which parser.
    pub parser: String,
    /// Number of the log with the record at hand; none where the parser could not even be loaded.
    pub log: Option<usize>,
    /// The row.
    pub problem: Problem,
}

impl ParserProblem {
    /// That `parser` failed at `record`, in the words of `why`.
    pub fn new(parser: &str, record: Option<(usize, &Record)>, why: &str) -> Self {
        let problem = Problem {
            offset: record.map_or(0, |(_, r)| r.offset),
            len: record.map_or(0, |(_, r)| r.len),
            line: record.map_or(0, |(_, r)| r.line),
            kind: ProblemKind::ParserFailed,
            detail: format!("parser {parser}: {why}"),
            owns_bytes: false,
        };
        Self { parser: parser.to_owned(), log: record.map(|(log, _)| log), problem }
    }
}
