//! Turns what the user named into logs: files, folders (one level deep), globs, standard input.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::name::{is_trace_name, rank_in_name};
use super::sniff::{Content, looks_like, sniff};
use super::source::Source;
use super::unpack::{Budget, Packing, UnpackError, unpack};
use super::{INDEX_FOLDER, InputOptions, LogFile};
use crate::error::{Error, ErrorKind, Result};

/// Bytes read to tell what a file is.
const HEAD: u64 = 1 << 20;

/// A file that was passed over, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passed {
    /// Where it is.
    pub path: PathBuf,
    /// What it looks like.
    pub reason: String,
}

/// What was found.
#[derive(Debug)]
pub struct Found {
    /// The logs, in the order of their names within what was given.
    pub logs: Vec<LogFile>,
    /// What was passed over.
    pub passed: Vec<Passed>,
    /// Whether one folder was given, so that its name is the job's.
    pub folder: Option<PathBuf>,
}

/// Whether the user named a file, or it was found in a folder.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Named {
    ByUser,
    InFolder,
}

/// Finds the logs that `paths` name; `-` is standard input.
///
/// # Errors
/// A path that does not exist or cannot be read, a named file that is no trace, nothing found at all.
pub fn find_logs(paths: &[PathBuf], options: &InputOptions) -> Result<Found> {
    let mut found = Found { logs: Vec::new(), passed: Vec::new(), folder: None };
    let mut files: Vec<(PathBuf, Named)> = Vec::new();
    let budget = Budget::new(options.max_unpacked);
    for path in paths {
        if path.as_os_str() == "-" {
            found.logs.push(standard_input(&budget)?);
        } else if path.is_dir() {
            list_folder(path, &mut files, &mut found.passed)?;
        } else if path.exists() {
            files.push((path.clone(), Named::ByUser));
        } else {
            expand_glob(path, &mut files, &mut found.passed)?;
        }
    }
    if let [one] = paths
        && one.is_dir()
    {
        found.folder = Some(one.clone());
    }
    let mut seen = BTreeSet::new();
    files.retain(|(path, _)| seen.insert(fs::canonicalize(path).unwrap_or_else(|_| path.clone())));
    let opened: Vec<Result<Opened>> = files.par_iter().map(|(path, named)| open(path, *named, &budget)).collect();
    for (opened, (path, named)) in opened.into_iter().zip(&files) {
        let mut opened = opened;
        if matches!(&opened, Err(error) if error.kind == ErrorKind::TooLarge) {
            // Side by side, several may have taken from what is enough for one; now each has what is left.
            opened = open(path, *named, &budget);
        }
        match opened {
            Ok(Opened::Log(log)) => found.logs.push(log),
            Ok(Opened::Passed(passed)) => found.passed.push(passed),
            // One log of a folder must not stop the others.
            Err(error) if error.kind == ErrorKind::TooLarge && *named == Named::InFolder => {
                found.logs.push(unreadable(path, error.message().to_owned()));
            }
            Err(error) => return Err(error),
        }
    }
    if found.logs.is_empty() {
        return Err(nothing(paths, &found.passed));
    }
    keep_ranks(&mut found);
    Ok(found)
}

/// What is named as the log of a rank and is none of any kind is a log that cannot be read: else nobody would see
/// that the rank had been there. Where the rank has a log, it is one file more in the folder.
fn keep_ranks(found: &mut Found) {
    let there: BTreeSet<i32> = found.logs.iter().filter_map(|log| log.name_rank).collect();
    let lost = |passed: &Passed| rank_in_name(&file_name(&passed.path)).is_some_and(|rank| !there.contains(&rank));
    let (lost, passed): (Vec<_>, Vec<_>) = std::mem::take(&mut found.passed).into_iter().partition(lost);
    found.passed = passed;
    found.logs.extend(lost.into_iter().map(|Passed { path, reason }| unreadable(&path, reason)));
}

fn nothing(paths: &[PathBuf], passed: &[Passed]) -> Error {
    let names = paths.iter().map(|p| p.display().to_string()).collect::<Vec<_>>().join(", ");
    let mut text =
        "no TORCH_TRACE log was found here; set TORCH_TRACE to an empty folder, run the program, and name that folder"
            .to_owned();
    for Passed { path, reason } in passed.iter().take(5) {
        text += &format!("\n  passed over {}: {reason}", path.display());
    }
    if passed.len() > 5 {
        text += &format!("\n  and {} more", passed.len() - 5);
    }
    Error::at(ErrorKind::NotFound, Path::new(&names), text)
}

fn standard_input(budget: &Budget) -> Result<LogFile> {
    read_once(Path::new("-"), &mut io::stdin().lock(), budget)
}

/// Reads what can be read only once: standard input, a named pipe.
fn read_once(path: &Path, from: &mut impl Read, budget: &Budget) -> Result<LogFile> {
    let source =
        Source::copy(from, &budget.memory).map_err(|e| Error::io(ErrorKind::Read, path, "could not be read", e))?;
    let bytes = source.len();
    let head = source.read_at(0, usize::try_from(bytes.min(HEAD)).unwrap_or(0))?;
    if Packing::of(&head).is_some() {
        return Err(Error::at(ErrorKind::NotATrace, path, "is compressed; unpack it first, or name the file itself"));
    }
    match sniff(&head) {
        Content::Empty => Err(Error::at(ErrorKind::NotFound, path, "is empty")),
        Content::Other => Err(no_trace(path, &looks_like(&head))),
        Content::Log | Content::LogLater => Ok(LogFile {
            path: path.to_owned(),
            name_rank: None,
            disk_bytes: bytes,
            modified_us: modified_now(),
            source: Ok(source),
            damage: None,
        }),
    }
}

fn no_trace(path: &Path, looks: &str) -> Error {
    let text =
        format!("is no TORCH_TRACE log: it looks like {looks}. Name a file that a program wrote with TORCH_TRACE set");
    Error::at(ErrorKind::NotATrace, path, text)
}

fn modified_now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// The files of a folder, by name; what else is in it is passed over.
fn list_folder(folder: &Path, files: &mut Vec<(PathBuf, Named)>, passed: &mut Vec<Passed>) -> Result<()> {
    let read = |e| Error::io(ErrorKind::Read, folder, "the folder could not be read", e);
    let mut paths = fs::read_dir(folder)
        .map_err(read)?
        .map(|entry| entry.map(|e| e.path()))
        .collect::<io::Result<Vec<_>>>()
        .map_err(read)?;
    paths.sort();
    for path in paths {
        // `metadata` follows links: a link to a log is a log.
        match fs::metadata(&path) {
            Ok(meta) if meta.is_file() => files.push((path, Named::InFolder)),
            Ok(meta) if meta.is_dir() && file_name(&path) == INDEX_FOLDER => {}
            Ok(meta) if meta.is_dir() => {
                let reason = if path.join("compile_directory.json").exists() || path.join(".fasttl").exists() {
                    "a folder with a report"
                } else {
                    "a folder; only the files of the named folder are read"
                };
                passed.push(Passed { path, reason: reason.to_owned() });
            }
            Ok(_) => passed.push(Passed { path, reason: "neither file nor folder".to_owned() }),
            Err(e) => passed.push(Passed { path, reason: format!("could not be looked at: {e}") }),
        }
    }
    Ok(())
}

fn expand_glob(pattern: &Path, files: &mut Vec<(PathBuf, Named)>, passed: &mut Vec<Passed>) -> Result<()> {
    let text = pattern.to_string_lossy();
    let missing =
        || Error::at(ErrorKind::NotFound, pattern, "does not exist; name a log, a folder of logs or a pattern");
    if !text.contains(['*', '?', '[']) {
        return Err(missing());
    }
    let matches =
        glob::glob(&text).map_err(|e| Error::at(ErrorKind::Option, pattern, format!("is no valid pattern: {e}")))?;
    let before = files.len() + passed.len();
    for path in matches.flatten() {
        if path.is_dir() && file_name(&path) == INDEX_FOLDER {
            continue;
        }
        if path.is_dir() {
            list_folder(&path, files, passed)?;
        } else {
            files.push((path, Named::InFolder));
        }
    }
    if files.len() + passed.len() == before { Err(missing()) } else { Ok(()) }
}

enum Opened {
    Log(LogFile),
    Passed(Passed),
}

pub(super) fn file_name(path: &Path) -> String {
    path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
}

/// A log whose bytes cannot be had.
fn unreadable(path: &Path, why: String) -> LogFile {
    LogFile::new(path, fs::metadata(path).ok().as_ref(), Err(why))
}

/// Opens one file and decides whether it is a log.
fn open(path: &Path, named: Named, budget: &Budget) -> Result<Opened> {
    let name = file_name(path);
    if named == Named::ByUser && fs::metadata(path).is_ok_and(|meta| !meta.is_file()) {
        let mut pipe = File::open(path).map_err(|e| Error::io(ErrorKind::Read, path, "could not be read", e))?;
        return read_once(path, &mut pipe, budget).map(Opened::Log);
    }
    let (meta, head, packing) = match read_head(path) {
        Ok(head) => head,
        // One rank that cannot be read must not stop the others; a file that the user named must be told of.
        Err(e) if named == Named::InFolder && is_trace_name(&name) => {
            return Ok(Opened::Log(unreadable(path, format!("could not be read: {e}"))));
        }
        Err(e) if named == Named::InFolder => {
            let reason = format!("could not be read: {e}");
            return Ok(Opened::Passed(Passed { path: path.to_owned(), reason }));
        }
        Err(e) => return Err(Error::io(ErrorKind::Read, path, "could not be read", e)),
    };
    let is_log = match sniff(&head) {
        Content::Log => true,
        Content::LogLater => named == Named::ByUser || is_trace_name(&name),
        Content::Empty => is_trace_name(&name) && named == Named::InFolder,
        Content::Other => false,
    };
    if !is_log {
        let looks =
            if packing.is_some() { format!("compressed data of {}", looks_like(&head)) } else { looks_like(&head) };
        if named == Named::ByUser {
            return Err(no_trace(path, &looks));
        }
        return Ok(Opened::Passed(Passed { path: path.to_owned(), reason: format!("looks like {looks}") }));
    }
    let (source, damage) = match packing {
        None => (Source::open(path, &budget.memory).map_err(|e| format!("could not be read: {e}")), None),
        Some(packing) => match unpack(path, packing, budget) {
            Ok((source, damage)) => (Ok(source), damage),
            Err(UnpackError::TooLarge(text)) => return Err(Error::at(ErrorKind::TooLarge, path, text)),
            Err(UnpackError::Io(e)) => (Err(format!("could not be unpacked: {e}")), None),
        },
    };
    Ok(Opened::Log(LogFile { damage, ..LogFile::new(path, Some(&meta), source) }))
}

/// The first bytes of a file, unpacked where it is compressed.
fn read_head(path: &Path) -> io::Result<(fs::Metadata, Vec<u8>, Option<Packing>)> {
    let file = File::open(path)?;
    let meta = file.metadata()?;
    let mut magic = Vec::new();
    (&file).take(4).read_to_end(&mut magic)?;
    let packing = Packing::of(&magic);
    let mut head = Vec::new();
    match packing {
        None => {
            head = magic;
            // A small first look is enough nearly always.
            (&file).take(64 << 10).read_to_end(&mut head)?;
            if sniff(&head) == Content::Other {
                file.take(HEAD).read_to_end(&mut head)?;
            }
        }
        Some(packing) => {
            let mut reader = packing.reader(File::open(path)?)?.take(HEAD);
            // Data that breaks early is judged by what could be unpacked of it.
            if let Err(e) = reader.read_to_end(&mut head)
                && head.is_empty()
            {
                return Err(e);
            }
        }
    }
    Ok((meta, head, packing))
}
