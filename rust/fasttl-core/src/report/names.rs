//! The one place where text of a log becomes part of a path or an address.
//!
//! A [`RelPath`] can only be made here, and only a `RelPath` can be written to, so that no name in a log,
//! whatever it is, reaches a file outside of the report.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::format::payload::{md5, md5_hex};

/// Longest part of a path in bytes before a number and an ending are added; file systems take 255.
const LONGEST: usize = 200;
/// What is left of a longer one, in front of its hash.
const SHORTENED: usize = 160;
/// Most parts that one name may have.
const MOST_PARTS: usize = 16;
/// Longest name in bytes that makes folders: a whole path has a limit, too.
const LONGEST_WITH_FOLDERS: usize = 1000;

/// A path below the report's folder: parts that are no `..`, joined by `/`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct RelPath(String);

impl RelPath {
    /// A path that the program itself names.
    pub(crate) fn fixed(path: &'static str) -> Self {
        Self(path.to_owned())
    }

    /// A file named by what it holds.
    pub(crate) fn by_content(folder: &'static str, stem: &'static str, md5: [u8; 16]) -> Self {
        let hash = md5_hex(md5);
        Self(format!("{folder}/{stem}_{}.json", hash.get(..12).unwrap_or(&hash)))
    }

    /// A page of several that are numbered from 1.
    pub(crate) fn numbered(folder: &'static str, number: usize) -> Self {
        Self(format!("{folder}/{number}.html"))
    }

    /// The page that ties the graphs of a compile, whose files are in `folder`, to its code.
    pub(crate) fn provenance(folder: &str) -> Self {
        Self(part(&format!("provenance_tracking_{folder}")) + ".html")
    }

    /// As text, parts joined by `/`.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The folder that it is in, empty for the report's own.
    pub(crate) fn folder(&self) -> &str {
        self.0.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// Its last part.
    pub(crate) fn file_name(&self) -> &str {
        self.0.rsplit_once('/').map_or(&self.0, |(_, name)| name)
    }

    /// How many folders deep it is: how often a page there says `../` to get to the report's folder.
    pub(crate) fn depth(&self) -> usize {
        self.0.matches('/').count()
    }

    /// Address of it for pages in the report's folder.
    pub(crate) fn href(&self) -> String {
        href(&self.0)
    }
}

/// Address of a path below the page's folder. Only what ends a path in an address is escaped: the rest
/// stands as in the file's name, since people's scripts compare both.
pub(crate) fn href(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for c in path.chars() {
        match c {
            '%' => out.push_str("%25"),
            '#' => out.push_str("%23"),
            '?' => out.push_str("%3F"),
            c => out.push(c),
        }
    }
    out
}

/// One part of a path from any text.
fn part(text: &str) -> String {
    let safe = |c: char| {
        let bidi = matches!(c, '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
        let windows = cfg!(windows) && matches!(c, '<' | '>' | ':' | '"' | '|' | '?' | '*');
        if c.is_control() || c == '\\' || c == '/' || bidi || windows { '_' } else { c }
    };
    let mut part: String = text.chars().map(safe).collect();
    if part.len() > LONGEST {
        let hash = md5_hex(md5(text.as_bytes()));
        let end = (0..=SHORTENED).rev().find(|&at| part.is_char_boundary(at)).unwrap_or(0);
        part.truncate(end);
        part = format!("{part}-{}", hash.get(..16).unwrap_or(&hash));
    }
    // Windows drops dots and blanks at the end and keeps some names for devices.
    let device = cfg!(windows) && matches!(part.to_ascii_lowercase().as_str(), "con" | "prn" | "aux" | "nul");
    if part.is_empty() || part == "." || part == ".." || device || (cfg!(windows) && part.ends_with(['.', ' '])) {
        part = format!("_{}", part.replace('.', "_"));
    }
    part
}

/// The parts of a name; a `/` in it makes folders, as in the standard report.
fn parts(name: &str) -> Vec<String> {
    let split: Vec<&str> = name.split('/').filter(|p| !p.is_empty()).collect();
    let too_long = split.len() > MOST_PARTS || name.len() > LONGEST_WITH_FOLDERS;
    if split.is_empty() || too_long || split.iter().any(|p| matches!(*p, "." | "..")) {
        return vec![part(name)];
    }
    split.into_iter().map(part).collect()
}

/// What stands between a name and its ending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    /// The standard report's number: `_7`.
    Standard(u32),
    /// A file that the standard report does not have: `_x7`.
    Extra(u32),
    /// The name is unique by itself.
    None,
}

impl Number {
    fn suffix(self) -> String {
        match self {
            Self::Standard(n) => format!("_{n}"),
            Self::Extra(n) => format!("_x{n}"),
            Self::None => String::new(),
        }
    }
}

/// Gives out paths, each once, letter case aside.
#[derive(Debug, Default)]
pub(crate) struct Namer {
    files: FxHashSet<String>,
    folders: FxHashSet<String>,
    again: FxHashMap<String, u32>,
}

impl Namer {
    /// The path `folder/name_<number>.ending`.
    pub(crate) fn path(&mut self, folder: &str, name: &str, number: Number, ending: &str) -> RelPath {
        let mut parts = parts(name);
        if let Some(last) = parts.last_mut() {
            *last += &number.suffix();
            *last += ".";
            *last += ending;
        }
        self.claim(folder, &parts)
    }

    /// The path of a payload that no other file has.
    pub(crate) fn payload(&mut self, md5: [u8; 16]) -> RelPath {
        self.claim("payloads", &[format!("{}.txt", md5_hex(md5))])
    }

    fn claim(&mut self, folder: &str, parts: &[String]) -> RelPath {
        let direct = format!("{folder}/{}", parts.join("/"));
        let mut path = direct.clone();
        while !self.is_free(&path) {
            // A file where a folder is wanted, or names that differ in case only.
            let again = self.again.entry(direct.to_lowercase()).or_default();
            *again += 1;
            path = format!("{folder}/{}", part(&format!("{again}~{}", parts.join("_"))));
        }
        let lower = path.to_lowercase();
        for (at, _) in lower.match_indices('/') {
            self.folders.insert(lower.get(..at).unwrap_or_default().to_owned());
        }
        self.files.insert(lower);
        RelPath(path)
    }

    fn is_free(&self, path: &str) -> bool {
        let lower = path.to_lowercase();
        let mut above = lower.match_indices('/').filter_map(|(at, _)| lower.get(..at));
        !self.files.contains(&lower) && !self.folders.contains(&lower) && !above.any(|f| self.files.contains(f))
    }
}

/// The number `N` of a file name `<eval_with_key>.N`.
pub(crate) fn eval_with_key(name: &str) -> Option<u64> {
    let rest = name.split_once("<eval_with_key>.")?.1;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    rest.get(..digits)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(name: &str) -> String {
        Namer::default().path("-_0_0_0", name, Number::Standard(7), "txt").0
    }

    #[test]
    fn ordinary_names_are_the_standard_ones() {
        assert_eq!(path("torch._functorch.config"), "-_0_0_0/torch._functorch.config_7.txt");
        assert_eq!(path("sub/dir/thing"), "-_0_0_0/sub/dir/thing_7.txt");
        assert_eq!(path("計算 <b>"), "-_0_0_0/計算 <b>_7.txt");
    }

    #[test]
    fn no_name_leaves_the_folder() {
        for name in ["../../x", "/etc/passwd", "..", ".", "", "a/../b", "a\0b", "a\\..\\b", "\u{202E}txt.exe", "a/./b"]
        {
            let path = path(name);
            assert!(path.starts_with("-_0_0_0/"), "{path}");
            assert!(path.split('/').all(|p| !p.is_empty() && p != "." && p != ".."), "{path}");
            assert!(!path.contains(['\0', '\\', '\u{202E}']), "{path}");
        }
        let long = path(&"x".repeat(5000));
        assert!(long.len() < 255 && long.ends_with("_7.txt"), "{long}");
        let deep = path(&["x".repeat(190).as_str(); 16].join("/"));
        assert!(deep.len() < 255 && deep.matches('/').count() == 1, "{deep}");
    }

    #[test]
    fn names_are_unique() {
        let mut namer = Namer::default();
        let mut give = |name: &str| namer.path("d", name, Number::None, "txt").0;
        let all = [give("a"), give("A"), give("a.txt/b"), give("c/d"), give("c/D"), give("c")];
        let lower: FxHashSet<String> = all.iter().map(|p| p.to_lowercase()).collect();
        assert_eq!(lower.len(), all.len(), "{all:?}");
        assert_eq!((all[0].as_str(), all[3].as_str()), ("d/a.txt", "d/c/d.txt"));
        assert!(!all[2].starts_with("d/a.txt/"), "{all:?}");
    }

    #[test]
    fn addresses() {
        assert_eq!(href("d/a#b?c%20d.txt"), "d/a%23b%3Fc%2520d.txt");
        assert_eq!(eval_with_key("<eval_with_key>.12"), Some(12));
        assert_eq!(eval_with_key("../../x"), None);
    }
}
