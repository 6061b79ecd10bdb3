//! What some kinds of records carry that the index itself needs: names, strings, the begin of a compile.
//!
//! JSON payloads are read as they stand in the file: the TABs of their lines are white space to JSON.

use super::{Interned, Scan};
use crate::format::envelope::Envelope;
use crate::format::json::{self, Oddities};
use crate::format::kind::Kind;
use crate::format::{compared, frame};
use crate::index::problem::{Problem, ProblemKind};
use crate::index::record::{Encoding, KindId, Mark, NONE, PayloadState};

impl Scan<'_> {
    /// What some kinds carry that the index itself needs: names, strings, the begin of a compile.
    pub(super) fn details(&mut self, start: usize, envelope: &Envelope<'_>) {
        let Some(record) = self.chunk.records.last() else { return };
        let KindId::Known(kind) = record.kind else { return };
        let json_start = start + record.json_at as usize;
        let meta = self
            .bytes
            .get(json_start + envelope.metadata.start..json_start + envelope.metadata.end)
            .unwrap_or_default();
        let mut name = None;
        let mut encoding = Encoding::Absent;
        match kind {
            Kind::Artifact => {
                name = json::member(meta, b"name").and_then(json::unescape);
                encoding = match json::member(meta, b"encoding") {
                    Some(b"\"string\"") => Encoding::Text,
                    Some(b"\"json\"") => Encoding::Json,
                    Some(_) => Encoding::Unknown,
                    None => Encoding::Absent,
                };
            }
            Kind::GraphDump | Kind::DumpFile | Kind::Link | Kind::OptimizeDdpSplitChild => {
                name = json::member(meta, b"name").and_then(json::unescape);
            }
            Kind::InductorOutputCode => name = json::member(meta, b"filename").and_then(json::unescape),
            Kind::Str => self.string(start, meta),
            Kind::ChromiumEvent => self.span(),
            _ => {}
        }
        // Since PyTorch 2.11 a single reason is written as words, though it is called JSON.
        if encoding == Encoding::Json && name.as_deref() != Some("recompile_reasons") {
            self.check_json();
            self.check_shape(name.as_deref().unwrap_or_default());
        }
        let name = name.map(|name| self.chunk.names.id(name.as_str()));
        if let Some(record) = self.chunk.records.last_mut() {
            record.encoding = encoding;
            record.name = name.unwrap_or(NONE);
        }
    }

    fn string(&mut self, start: usize, meta: &[u8]) {
        match frame::parse_interned(meta) {
            Some((id, text)) => self.chunk.strings.push(Interned { offset: start as u64, id, text }),
            None => self.note_record(ProblemKind::BadField, "str: not a text and a number"),
        }
    }

    /// Marks begin and end of the span that is a compile's life.
    fn span(&mut self) {
        let Ok((_, oddities)) = json::only_value(self.payload).and_then(|found| match self.payload.get(1) {
            Some(b'{') => Ok(found),
            _ => Err(json::JsonError { at: 0, expected: "an object", ended: false }),
        }) else {
            // Of a damaged payload there is a row already.
            if self.chunk.records.last().is_some_and(|r| r.payload.is_whole()) {
                self.note_record(ProblemKind::BadPayloadJson, "a timing event");
            }
            if let Some(record) = self.chunk.records.last_mut() {
                record.mark = Mark::Broken;
            }
            return;
        };
        self.note_oddities(oddities);
        if let (false, Some(record)) = (oddities.is_empty(), self.chunk.records.last_mut()) {
            record.plain = false;
        }
        // The name is the first member, so that this is a short look.
        if json::member(self.payload, b"name") != Some(b"\"dynamo\"") {
            return;
        }
        let mark = match json::member(self.payload, b"ph") {
            Some(b"\"B\"") => Mark::Begin,
            Some(b"\"E\"") => Mark::End,
            _ => Mark::None,
        };
        if let Some(record) = self.chunk.records.last_mut() {
            record.mark = mark;
        }
    }

    /// A row where an artifact says that it is JSON and is not, or is JSON that strict readers do not take.
    fn check_json(&mut self) {
        match json::only_value(self.payload) {
            Ok((_, oddities)) => self.note_oddities(oddities),
            // Of a damaged payload there is a row already.
            Err(_) if self.chunk.records.last().is_some_and(|r| r.payload == PayloadState::Verified) => {
                self.note_record(ProblemKind::ArtifactNotJson, "it is kept as it is");
            }
            Err(_) => {}
        }
    }

    /// Rows where a JSON payload is nested deeper than readers follow, or has numbers that strict JSON lacks.
    fn note_oddities(&mut self, oddities: Oddities) {
        if oddities.contains(Oddities::DEEP) {
            self.note_record(ProblemKind::DeepJson, "in the payload");
        } else if oddities.contains(Oddities::NON_FINITE) {
            self.note_record(ProblemKind::NonFinite, "in the payload");
        }
    }

    /// A row where an artifact that ranks are compared by is not what PyTorch writes: the comparison lacks it.
    fn check_shape(&mut self, name: &str) {
        let readable = self.chunk.records.last().is_some_and(|r| r.payload.is_readable());
        if let Some(fault) = compared::fault(name, self.payload).filter(|_| readable) {
            let detail = format!("{fault}; it is kept as it is, and the comparison of ranks lacks that");
            self.note_record(ProblemKind::UnexpectedPayload, &detail);
        }
    }

    /// A problem about the record that was just read whole.
    fn note_record(&mut self, kind: ProblemKind, detail: &str) {
        let Some(record) = self.chunk.records.last() else { return };
        self.chunk.problems.push(Problem {
            offset: record.offset,
            len: record.len,
            line: record.line,
            kind,
            detail: detail.to_owned(),
            owns_bytes: false,
        });
    }
}
