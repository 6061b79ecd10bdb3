//! Texts on demand: read from the file when asked for, and checked against what it was.

use super::{Log, Trace};
use crate::error::{Error, ErrorKind, Result};
use crate::format::payload::{Payload, parse_md5};
use crate::index;

impl Trace {
    fn record(&self, file: u32, offset: u64) -> Result<(&Log, &index::Record)> {
        let missing = || Error::new(ErrorKind::Option, format!("no record starts at byte {offset} of file {file}"));
        let log = self.logs.get(file as usize).ok_or_else(missing)?;
        Ok((log, log.index.record_at(offset).ok_or_else(missing)?))
    }

    fn read(log: &Log, (from, to): (u64, u64)) -> Result<Vec<u8>> {
        let path = &log.file.path;
        let source = log.file.source.as_ref().map_err(|why| Error::at(ErrorKind::Read, path, why.clone()))?;
        let len = usize::try_from(to.saturating_sub(from))
            .map_err(|_| Error::at(ErrorKind::TooLarge, path, "the record is too large for the address space"))?;
        source.read_at(from, len)
    }

    /// The payload's text of the record that starts at `offset` of log number `file`.
    ///
    /// # Errors
    /// No such record; a log that changed or is gone.
    pub fn payload(&self, file: u32, offset: u64) -> Result<Vec<u8>> {
        let (log, record) = self.record(file, offset)?;
        if !record.has_payload() {
            return Ok(Vec::new());
        }
        let raw = Self::read(log, record.payload_range())?;
        Ok(Payload::new(&raw, log.index.line_end).text())
    }

    /// The text of the first whole payload with that md5, if there is one.
    ///
    /// # Errors
    /// An md5 that is none; a log that changed or is gone.
    pub fn payload_by_md5(&self, md5: &str) -> Result<Option<Vec<u8>>> {
        let wanted = parse_md5(md5.as_bytes())
            .ok_or_else(|| Error::new(ErrorKind::Option, format!("{md5:?} is no md5: 32 hexadecimal digits")))?;
        for (file, log) in (0..).zip(&self.logs) {
            let found = log.index.records.iter().find(|r| r.payload.is_whole() && r.md5 == wanted);
            if let Some(record) = found {
                return self.payload(file, record.offset).map(Some);
            }
        }
        Ok(None)
    }

    /// The metadata of the record that starts at `offset` of log number `file`: the value of its kind's key.
    ///
    /// # Errors
    /// No such record; a log that changed or is gone.
    pub fn metadata(&self, file: u32, offset: u64) -> Result<String> {
        let (log, record) = self.record(file, offset)?;
        let raw = Self::read(log, record.meta_range())?;
        Ok(String::from_utf8_lossy(&raw).into_owned())
    }

    /// The JSON head of the record that starts at `offset` of log number `file`, as it stands; bytes that are not
    /// UTF-8 become U+FFFD.
    ///
    /// # Errors
    /// No such record; a log that changed or is gone.
    pub fn head(&self, file: u32, offset: u64) -> Result<String> {
        let (log, record) = self.record(file, offset)?;
        let raw = Self::read(log, record.json_range())?;
        Ok(String::from_utf8_lossy(&raw).into_owned())
    }
}
