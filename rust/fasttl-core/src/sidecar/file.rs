//! The file of an index: a header with the stamp of the log, then the index.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use arrow_array::types::{Int64Type, UInt8Type, UInt32Type, UInt64Type};

use super::stamp::Stamp;
use crate::error::{Error, ErrorKind, Result};
use crate::index::{Index, PayloadState, ProblemKind, Rows, Sections, Verify, read_sections, unfit, write_index};

/// Version of what is stored: raised when it, or what the index says of a log, changes.
const FORMAT: u32 = 1;
/// Version of the program: another one may find other things in a log.
const PROGRAM: &str = env!("CARGO_PKG_VERSION");

/// What stands before the index.
struct Header<'s> {
    stamp: &'s Stamp,
    verify: Verify,
    index_len: u64,
    index_crc: u32,
}

fn header<'r>(header: &'r [Header<'r>]) -> Rows<'r, Header<'r>> {
    Rows::new(header)
        .u32("format", |_| FORMAT)
        .text("fasttl", |_| PROGRAM)
        .u64("log_length", |h| h.stamp.len)
        .maybe_i64("modified_ns", |h| Some(h.stamp.modified_ns))
        .maybe_i64("changed_ns", |h| Some(h.stamp.changed_ns))
        .u64("inode", |h| h.stamp.inode)
        .text("sha256_of_ends", |h| &h.stamp.ends)
        .u8("verified", |h| u8::from(h.verify == Verify::Md5))
        .u64("index_length", |h| h.index_len)
        .u32("index_crc32", |h| h.index_crc)
}

/// Reads the index at `path`, if it is that of a log with this stamp and says what a reader that verifies, or does
/// not, would find.
pub(super) fn read(path: &Path, stamp: &Stamp, verify: Verify) -> Result<Index> {
    let unreadable = |e| Error::io(ErrorKind::Read, path, "could not be read", e);
    // A link may lead anywhere, and a pipe would be waited for.
    if !fs::symlink_metadata(path).map_err(unreadable)?.is_file() {
        return Err(unfit("it is no file"));
    }
    let file = File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    // A record takes more in its log than a fraction of this here: what is larger was not written by fasttl.
    let most = stamp.len.saturating_mul(16).saturating_add(1 << 20);
    file.take(most).read_to_end(&mut bytes).map_err(unreadable)?;
    let mut sections = Sections::new(bytes);
    let cells = sections.read(&header(&[]))?;
    let number = |name| cells.numbers::<UInt64Type>(name).map(|column| column.value(0));
    let time = |name| cells.numbers::<Int64Type>(name).map(|column| column.value(0));
    if cells.rows() != 1 {
        return Err(unfit("a header of other rows"));
    }
    if cells.numbers::<UInt32Type>("format")?.value(0) != FORMAT || cells.texts("fasttl")?.value(0) != PROGRAM {
        return Err(unfit("it was written by another version of fasttl"));
    }
    let written = Stamp {
        len: number("log_length")?,
        modified_ns: time("modified_ns")?,
        changed_ns: time("changed_ns")?,
        inode: number("inode")?,
        ends: cells.texts("sha256_of_ends")?.value(0).to_owned(),
    };
    if written != *stamp {
        return Err(unfit("the log changed, or is another one"));
    }
    let verified = cells.numbers::<UInt8Type>("verified")?.value(0) != 0;
    if !verified && verify == Verify::Md5 {
        return Err(unfit("the payloads were not verified"));
    }
    let crc = cells.numbers::<UInt32Type>("index_crc32")?.value(0);
    let rest = sections.rest();
    if number("index_length")? != rest.len() as u64 || crc != crc32(rest) {
        return Err(unfit("it is damaged"));
    }
    let index = read_sections(&mut sections, stamp.len)?;
    if verified && verify == Verify::Skip {
        return unverified(index)
            .ok_or_else(|| unfit("payloads are damaged, and a reader that skips them sees others"));
    }
    Ok(index)
}

/// What a reader finds that takes payloads as they are, from what one found that verifies them; `None` where that is not
/// certain, since a payload is damaged or is no JSON.
fn unverified(mut index: Index) -> Option<Index> {
    let by_check = |kind| {
        use ProblemKind::{ArtifactNotJson, CutShort, DeepJson, TornRecord, WrongMd5};
        matches!(kind, WrongMd5 | TornRecord | CutShort | ArtifactNotJson | DeepJson)
    };
    if index.problems.iter().any(|p| by_check(p.kind)) {
        return None;
    }
    for record in &mut index.records {
        record.payload = match record.payload {
            PayloadState::Verified => PayloadState::Unchecked,
            same @ (PayloadState::None | PayloadState::Missing) => same,
            PayloadState::Unchecked | PayloadState::WrongMd5 | PayloadState::CutShort => return None,
        };
    }
    Some(index)
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// Writes an index under another name and gives it its own when it is whole.
pub(super) fn write(path: &Path, stamp: &Stamp, verify: Verify, index: &Index) -> Result<()> {
    let mut body = Vec::new();
    write_index(index, &mut body)?;
    let mut bytes = Vec::new();
    let about = Header { stamp, verify, index_len: body.len() as u64, index_crc: crc32(&body) };
    header(&[about]).write(&mut bytes)?;
    bytes.append(&mut body);
    let folder = path.parent().unwrap_or(Path::new(""));
    make_folder(folder)?;
    let failed = |e| Error::io(ErrorKind::Output, path, "the index could not be written", e);
    let mut builder = tempfile::Builder::new();
    builder.prefix(".new-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(folder).map_err(failed)?;
    file.write_all(&bytes).map_err(failed)?;
    file.persist(path).map_err(|e| failed(e.error))?;
    Ok(())
}

/// Makes the folder of indexes; a link in its place could lead anywhere.
fn make_folder(folder: &Path) -> Result<()> {
    let refused = |e| {
        let text = "the folder of indexes could not be made; the folder of the logs must be writable";
        Error::io(ErrorKind::Output, folder, text, e)
    };
    match fs::create_dir(folder) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
        made => made.map_err(refused)?,
    }
    if fs::symlink_metadata(folder).map_err(refused)?.is_dir() {
        return Ok(());
    }
    Err(Error::at(ErrorKind::Output, folder, "is no folder; remove it to keep indexes here"))
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;
    use crate::analysis::{TABLES, table};
    use crate::index::{IndexOptions, index, read_index};
    use crate::job::{Job, on_pool};
    use crate::sidecar::{Sidecars, Writing, path_of, write_sidecars};
    use crate::trace::{LoadOptions, Trace, load};

    /// A folder with a log at rest, and the paths of the log and of its index.
    fn log_at_rest() -> (tempfile::TempDir, std::path::PathBuf, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("a.log");
        let head = "V1129 23:51:41.631000 7 torch/x.py:3] ";
        let text = format!(
            "{head}{{\"str\": [\"x.py\", 0]}}\nnoise\n{head}{{\"dynamo_start\": {{\"stack\": []}}, \"rank\": 2, \"frame_id\": 0, \"frame_compile_id\": 1}}\n{head}{{\"new_kind\": {{}}, \"has_payload\": \"\"}}\n\ttext\n"
        );
        fs::write(&log, text).unwrap();
        File::options().append(true).open(&log).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        let path = path_of(&log).unwrap();
        (folder, log, path)
    }

    fn loaded(log: &Path) -> Trace {
        let options = LoadOptions { sidecars: Sidecars::Use, ..LoadOptions::default() };
        on_pool(None, || load(&[log.to_owned()], &options, &Job::default())).unwrap()
    }

    fn stamp(log: &Path) -> Stamp {
        let bytes = fs::read(log).unwrap();
        Stamp::of(&loaded(log).logs[0].file, &bytes).unwrap()
    }

    #[test]
    fn an_index_that_holds_is_what_is_loaded() {
        let (_folder, log, path) = log_at_rest();
        let mut index = index(&fs::read(&log).unwrap(), 0, IndexOptions::default(), &Job::default()).unwrap();
        index.records[0].line = 777;
        write(&path, &stamp(&log), Verify::Md5, &index).unwrap();
        assert_eq!(loaded(&log).logs[0].index.records[0].line, 777);
        // Any change of the log's entry, be it of its name and back, ends that.
        fs::rename(&log, log.with_extension("b")).unwrap();
        fs::rename(log.with_extension("b"), &log).unwrap();
        assert_eq!(loaded(&log).logs[0].index.records[0].line, 1);
    }

    #[test]
    fn each_part_of_the_header_counts() {
        let (_folder, log, path) = log_at_rest();
        let pool = || write_sidecars(std::slice::from_ref(&log), Verify::Md5, Writing::Always, &Job::default());
        on_pool(None, pool).unwrap();
        assert!(read(&path, &stamp(&log), Verify::Md5).is_ok());
        let other = [
            Stamp { len: 1, ..stamp(&log) },
            Stamp { modified_ns: 1, ..stamp(&log) },
            Stamp { changed_ns: 1, ..stamp(&log) },
            Stamp { inode: 1, ..stamp(&log) },
            Stamp { ends: String::new(), ..stamp(&log) },
        ];
        assert!(other.iter().all(|stamp| read(&path, stamp, Verify::Md5).is_err()));
        let (bytes, stamp) = (fs::read(&path).unwrap(), stamp(&log));
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            fs::write(&path, damaged).unwrap();
            // Only bits that no reader looks at may be other ones.
            if let Ok(index) = read(&path, &stamp, Verify::Md5) {
                assert_eq!(index.records[1].line, 3, "byte {at}");
            }
        }
    }

    #[test]
    fn a_forged_index_leads_to_no_panic() {
        let (_folder, log, path) = log_at_rest();
        let bytes = fs::read(&log).unwrap();
        let mut body = Vec::new();
        write_index(&index(&bytes, 0, IndexOptions::default(), &Job::default()).unwrap(), &mut body).unwrap();
        let (stamp, mut seed, mut held) = (stamp(&log), 1_u64, 0);
        for _ in 0..3000 {
            let mut forged = body.clone();
            for _ in 0..2 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let at = usize::try_from(seed >> 33).unwrap() % forged.len();
                forged[at] = seed.to_le_bytes()[3] % 4;
            }
            let Ok(index) = read_index(forged.as_slice(), bytes.len() as u64) else { continue };
            write(&path, &stamp, Verify::Md5, &index).unwrap();
            held += 1;
            let trace = loaded(&log);
            for def in TABLES {
                table(&trace, def.name).unwrap();
            }
        }
        assert!(held > 100, "only {held} of the forged indexes could be read");
    }
}
