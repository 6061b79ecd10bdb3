//! What custom parsers made of records, as plain data: files and links that the report lists with its own.
//!
//! A parser is code that its user trusts, but what it returns may hold any text of a log: names, addresses and
//! markup go the way of everything that comes from one.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::html::escape_into;
use super::names::RelPath;
use super::policy;
use super::tree::Tree;
use crate::error::{Error, ErrorKind, Result};

/// What contents may take in memory; more goes to an unlinked file.
const IN_MEMORY: usize = 16 << 20;
/// Longest name of a link that is shown, in characters.
const LONGEST_NAME: usize = 200;

/// Endings that a browser shows as text or as a picture, or hands to another program. Whatever else a parser names
/// gets another ending behind its own: a browser may take it as a page with scripts.
const PLAIN: [&str; 28] = [
    "arrow", "bin", "c", "cpp", "csv", "cu", "diff", "dot", "gif", "gz", "h", "jpg", "json", "jsonl", "log", "md",
    "npz", "parquet", "patch", "pb", "png", "ptx", "py", "toml", "tsv", "txt", "yaml", "zst",
];

/// How a file of a parser is to be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As it is: text, or data for other programs.
    Data,
    /// As HTML, under a policy that lets no script run.
    Html,
}

/// What a parser made of a record.
#[derive(Debug)]
pub(super) struct Extra {
    /// Where the record starts.
    pub(super) offset: u64,
    /// Which parser.
    pub(super) parser: String,
    /// The name that it gave.
    pub(super) name: String,
    /// What it is.
    pub(super) output: Output,
}

/// A file or a link.
#[derive(Debug)]
pub(super) enum Output {
    /// A file with that content.
    File(Form, Stored),
    /// An address.
    Link(String),
}

/// Where a content is kept until it is written.
#[derive(Debug)]
pub(super) enum Stored {
    Memory(Box<[u8]>),
    Spooled { at: u64, len: usize },
}

impl Stored {
    /// Bytes of it.
    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::Spooled { len, .. } => *len as u64,
        }
    }
}

/// Everything that custom parsers made of the records of a trace.
#[derive(Debug, Default)]
pub struct Extras {
    by_log: BTreeMap<usize, Vec<Extra>>,
    in_memory: usize,
    /// An unlinked file, and its length.
    spool: Mutex<Option<(File, u64)>>,
}

impl Extras {
    /// Adds a file to the record that starts at `offset` of log number `log`.
    ///
    /// # Errors
    /// No room for it in the folder for temporary files. What was added before stays as it is.
    pub fn add_file(
        &mut self,
        (log, offset): (usize, u64),
        parser: &str,
        name: &str,
        content: &[u8],
        form: Form,
    ) -> Result<()> {
        let stored = self.store(content)?;
        self.add(
            log,
            Extra { offset, parser: parser.to_owned(), name: name.to_owned(), output: Output::File(form, stored) },
        );
        Ok(())
    }

    /// Adds a link to the record that starts at `offset` of log number `log`.
    pub fn add_link(&mut self, (log, offset): (usize, u64), parser: &str, name: &str, url: &str) {
        let short: String = name.chars().take(LONGEST_NAME).collect();
        let name = if short.len() < name.len() { format!("{short}…") } else { short };
        self.add(log, Extra { offset, parser: parser.to_owned(), name, output: Output::Link(url.to_owned()) });
    }

    fn add(&mut self, log: usize, extra: Extra) {
        self.by_log.entry(log).or_default().push(extra);
    }

    fn store(&mut self, content: &[u8]) -> Result<Stored> {
        if self.in_memory + content.len() <= IN_MEMORY {
            self.in_memory += content.len();
            return Ok(Stored::Memory(content.into()));
        }
        let spool = self.spool.get_mut().unwrap_or_else(PoisonError::into_inner);
        let (file, len) = match spool {
            Some(spool) => spool,
            none => none.insert((tempfile::tempfile().map_err(failed)?, 0)),
        };
        let at = *len;
        file.seek(SeekFrom::Start(at)).and_then(|_| file.write_all(content)).map_err(failed)?;
        *len += content.len() as u64;
        Ok(Stored::Spooled { at, len: content.len() })
    }

    /// What was made of records of a log, in the order of the calls.
    pub(super) fn of_log(&self, log: usize) -> &[Extra] {
        self.by_log.get(&log).map_or(&[], Vec::as_slice)
    }

    /// Writes a file to its place.
    pub(super) fn write(&self, extra: &Extra, tree: &Tree, path: &RelPath, up: &str) -> Result<()> {
        let Output::File(form, stored) = &extra.output else { return Ok(()) };
        let read;
        let content = match stored {
            Stored::Memory(bytes) => bytes,
            Stored::Spooled { at, len } => {
                read = self.read(*at, *len)?;
                read.as_slice()
            }
        };
        match form {
            Form::Data => tree.write(path, content),
            Form::Html => tree.write(path, &page(content, &format!("{}{up}", "../".repeat(path.depth())))),
        }
    }

    fn read(&self, at: u64, len: usize) -> Result<Vec<u8>> {
        let mut spool = self.spool.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bytes = vec![0; len];
        if let Some((file, _)) = spool.as_mut() {
            file.seek(SeekFrom::Start(at)).and_then(|_| file.read_exact(&mut bytes)).map_err(failed)?;
        }
        Ok(bytes)
    }
}

/// A parser's HTML as a page. What stands first cannot be undone by what follows: a second doctype, `html` or `head`
/// changes nothing, and a further policy can only forbid more.
fn page(content: &[u8], up: &str) -> Vec<u8> {
    let mut out =
        b"<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"".to_vec();
    escape_into(policy::without_scripts().as_bytes(), &mut out);
    out.extend_from_slice(b"\">\n<meta name=\"referrer\" content=\"no-referrer\">\n");
    out.extend_from_slice(format!("<link rel=\"stylesheet\" href=\"{up}fasttl/app.css\">\n").as_bytes());
    out.extend_from_slice(String::from_utf8_lossy(content).as_bytes());
    out
}

/// A file's name without its ending, and the ending that it gets.
pub(super) fn stem_and_ending(name: &str, form: Form) -> (&str, &str) {
    let (stem, ending) = match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() && !ending.contains('/') => (stem, ending),
        _ => (name, ""),
    };
    let lower = ending.to_ascii_lowercase();
    match form {
        Form::Html if matches!(lower.as_str(), "html" | "htm") => (stem, "html"),
        Form::Html => (name, "html"),
        Form::Data => match PLAIN.iter().find(|plain| **plain == lower) {
            Some(plain) => (stem, plain),
            None => (name, "txt"),
        },
    }
}

fn failed(error: std::io::Error) -> Error {
    Error::io(ErrorKind::Output, Path::new("(temporary file)"), "could not be written or read", error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_registered_html_ends_as_html() {
        assert_eq!(stem_and_ending("cuts.csv", Form::Data), ("cuts", "csv"));
        assert_eq!(stem_and_ending("a.JSON", Form::Data), ("a", "json"));
        for name in
            ["x.html", "x.svg", "x.xhtml", "x.xml", "x.mhtml", "x.js", "x.pdf", "x.", "x", ".html", "a.html/b", ""]
        {
            assert_eq!(stem_and_ending(name, Form::Data), (name, "txt"));
        }
        assert_eq!(stem_and_ending("x.HTM", Form::Html), ("x", "html"));
        assert_eq!(stem_and_ending("x.csv", Form::Html), ("x.csv", "html"));
    }

    #[test]
    fn contents_come_back_from_memory_and_from_the_file() {
        let mut extras = Extras::default();
        let big = vec![b'x'; IN_MEMORY];
        for content in [&b"small"[..], &big, b"after"] {
            extras.add_file((0, 7), "p", "n", content, Form::Data).unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        let tree = Tree::new(folder.path().to_owned()).unwrap();
        let path = RelPath::fixed("f");
        for (extra, content) in extras.of_log(0).iter().zip([&b"small"[..], &big, b"after"]) {
            extras.write(extra, &tree, &path, "").unwrap();
            assert!(std::fs::read(folder.path().join("f")).unwrap() == content);
        }
        assert!(extras.of_log(1).is_empty());
        assert!(matches!(extras.of_log(0)[1].output, Output::File(_, Stored::Spooled { at: 0, .. })));
    }

    #[test]
    fn the_policy_stands_first_in_a_page() {
        let page = String::from_utf8(page(b"<html><script>\xFF</script>", "../../")).unwrap();
        let policy = page.find("script-src 'none'").unwrap();
        assert!(policy < page.find("<html>").unwrap() && page.contains("<script>\u{FFFD}"), "{page}");
        assert!(page.contains("\"../../fasttl/app.css\""), "{page}");
    }
}
