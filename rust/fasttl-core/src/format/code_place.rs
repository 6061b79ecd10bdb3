//! Places in source code as PyTorch prints them, and whose code it is.

/// A line of source code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CodePlace {
    /// File, as the log has it. In a guard's comment PyTorch cuts long names from the left.
    pub file: String,
    /// Line in it.
    pub line: Option<i64>,
    /// Function.
    pub function: Option<String>,
}

/// Whose code a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Owner {
    /// The program's own.
    User,
    /// An installed package's.
    Library,
    /// PyTorch's, or the standard library's.
    Framework,
}

impl Owner {
    /// Name in the tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Library => "library",
            Self::Framework => "framework",
        }
    }

    /// Whose code the file named `file` holds, by where it lies.
    pub fn of(file: &str) -> Self {
        let path = file.replace('\\', "/");
        let after = |folder: &str| path.rsplit_once(folder).map(|(_, rest)| rest.to_owned());
        if path.starts_with("<frozen ") {
            return Self::Framework;
        }
        if let Some(package) = after("/site-packages/").or_else(|| after("/dist-packages/")) {
            let torch = ["torch/", "torchgen/", "functorch/"].iter().any(|name| package.starts_with(name));
            return if torch { Self::Framework } else { Self::Library };
        }
        // `…/lib/python3.11/contextlib.py`
        let standard = after("/lib/python").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        if standard || path.starts_with("torch/") { Self::Framework } else { Self::User }
    }
}

impl std::fmt::Display for CodePlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        match &self.function {
            Some(function) => write!(f, " in {function}"),
            None => Ok(()),
        }
    }
}

impl CodePlace {
    /// Reads `file:line in function`, or `file:line`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let place = |text: &str, function: Option<&str>| {
            let (file, line) = text.rsplit_once(':')?;
            let line = Some(line.parse().ok()?);
            Some(Self { file: file.to_owned(), line, function: function.map(str::to_owned) })
        };
        // A file's name may hold anything, a function's name no white space.
        let named = text.rsplit_once(" in ").filter(|(_, function)| !function.contains(char::is_whitespace));
        named.and_then(|(text, function)| place(text, Some(function))).or_else(|| place(text, None))
    }
}

/// A path without its folders, whichever way its slashes lean.
pub fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// The frames of a Python traceback in `text`, outermost first, each with the source line that follows it. Ends at the
/// first line that belongs to no frame, once there was one.
pub fn traceback(text: &str) -> Vec<(CodePlace, Option<String>)> {
    let mut frames: Vec<(CodePlace, Option<String>)> = Vec::new();
    let mut lines = text.split('\n').peekable();
    while let Some(line) = lines.next() {
        if let Some(place) = frame_line(line) {
            frames.push((place, None));
        } else if line.starts_with("    ") {
            // Carets under the source line are not kept.
            if let Some((_, code @ None)) = frames.last_mut() {
                *code = Some(line.trim().to_owned()).filter(|code| !code.is_empty());
            }
        } else if line.starts_with("  [Previous line repeated ") {
            // Frames that Python leaves out are those before.
        } else if is_open(&frames) && goes_on(line, lines.peek()) {
            // A function's name may hold a line feed.
            if let Some(function) = frames.last_mut().and_then(|(place, _)| place.function.as_mut()) {
                function.push('\n');
                function.push_str(line);
            }
        } else if !frames.is_empty() {
            break;
        }
    }
    frames
}

/// Whether a line is the rest of a function's name: then the source line of the frame, or more of the name, follows.
fn goes_on(line: &str, next: Option<&&str>) -> bool {
    !line.is_empty() && !line.starts_with("Traceback (") && next.is_some_and(|next| next.starts_with("    "))
}

/// Whether the last frame has a function and, so far, no source line.
fn is_open(frames: &[(CodePlace, Option<String>)]) -> bool {
    frames.last().is_some_and(|(place, code)| place.function.is_some() && code.is_none())
}

/// The program's frames that the text of an error ends with: those behind `from user code:`, or behind `Found from :`.
pub fn user_frames(text: &str) -> Vec<(CodePlace, Option<String>)> {
    let behind = ["from user code:", "Found from :"].iter().find_map(|label| text.rsplit_once(label));
    behind.map(|(_, frames)| traceback(frames)).unwrap_or_default()
}

/// Reads `  File "<file>", line <n>, in <function>`; the first of several may stand a blank further to the right.
fn frame_line(line: &str) -> Option<CodePlace> {
    let rest = line.strip_prefix("  ")?;
    let rest = rest.strip_prefix(' ').unwrap_or(rest).strip_prefix("File \"")?;
    let (file, rest) = rest.rsplit_once("\", line ")?;
    let (number, function) = match rest.split_once(", in ") {
        Some((number, function)) => (number, Some(function.to_owned())),
        None => (rest, None),
    };
    Some(CodePlace { file: file.to_owned(), line: number.trim().parse().ok(), function })
}

/// The innermost frame of the program's own code; else of a library's; else the innermost.
pub fn innermost_own(frames: &[(CodePlace, Option<String>)]) -> Option<&CodePlace> {
    let places = || frames.iter().map(|(place, _)| place).rev();
    let of = |owner| places().find(|place| Owner::of(&place.file) == owner);
    of(Owner::User).or_else(|| of(Owner::Library)).or_else(|| places().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_told_by_its_folder() {
        for (file, owner) in [
            ("/tmp/job/model.py", Owner::User),
            ("/home/torch/train.py", Owner::User),
            ("/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py", Owner::Framework),
            ("C:\\venv\\Lib\\site-packages\\torch\\nn\\x.py", Owner::Framework),
            ("/usr/lib/python3/dist-packages/torch/x.py", Owner::Framework),
            ("torch/_dynamo/utils.py", Owner::Framework),
            ("/opt/python/lib/python3.11/contextlib.py", Owner::Framework),
            ("<frozen importlib._bootstrap>", Owner::Framework),
            ("/opt/venv/lib/python3.11/site-packages/torchvision/ops.py", Owner::Library),
            ("/home/u/.local/lib/python3.12/site-packages/scipy/linalg/blas.py", Owner::Library),
            ("<eval_with_key>.3", Owner::User),
            ("", Owner::User),
        ] {
            assert_eq!(Owner::of(file), owner, "{file}");
        }
    }

    #[test]
    fn places_are_read_whatever_the_names_hold() {
        let place = |file: &str, line, function: Option<&str>| {
            Some(CodePlace { file: file.to_owned(), line: Some(line), function: function.map(str::to_owned) })
        };
        assert_eq!(CodePlace::parse("a/b c.py:9 in f"), place("a/b c.py", 9, Some("f")));
        assert_eq!(CodePlace::parse("x in y:z.py:12"), place("x in y:z.py", 12, None));
        assert_eq!(CodePlace::parse("a.py:9 in <lambda>"), place("a.py", 9, Some("<lambda>")));
        assert_eq!(CodePlace::parse("no line"), None);
        assert_eq!(CodePlace::parse(""), None);
    }

    #[test]
    fn a_traceback_is_read_up_to_its_end() {
        let text = "intro\n  File \"/a/x\", line 3.py\", line 9, in f\n    y = g(x)\n        ^^^^\n  File \"b.py\", line ?\n\nTraceback\n  File \"c.py\", line 1, in h\n";
        let frames = traceback(text);
        let shown: Vec<String> = frames.iter().map(|(place, _)| place.to_string()).collect();
        assert_eq!(shown, ["/a/x\", line 3.py:9 in f", "b.py"]);
        assert_eq!(frames[0].1.as_deref(), Some("y = g(x)"));
        assert_eq!(frames[1].1, None);
        assert!(traceback("nothing").is_empty());
    }

    #[test]
    fn names_with_line_feeds_and_the_end_of_an_error_are_read() {
        let frames = traceback("  File \"a.py\", line 3, in new\nline\ttab\n    print(1)\n\nTraceback\n");
        assert_eq!(frames.len(), 1);
        assert_eq!(
            (frames[0].0.function.as_deref(), frames[0].1.as_deref()),
            (Some("new\nline\ttab"), Some("print(1)"))
        );
        let error =
            "x\nfrom user code:\n   File \"a.py\", line 41, in f\n    op()\n  File \"b.py\", line 8, in g\n\nSet X=1";
        let places: Vec<String> = user_frames(error).iter().map(|(place, _)| place.to_string()).collect();
        assert_eq!(places, ["a.py:41 in f", "b.py:8 in g"]);
        assert!(user_frames("no such thing").is_empty());
    }

    #[test]
    fn the_programs_own_line_comes_before_a_librarys() {
        let place = |file: &str| (CodePlace { file: file.to_owned(), ..CodePlace::default() }, None);
        let frames = [place("/job/a.py"), place("/x/site-packages/scipy/b.py"), place("/x/site-packages/torch/c.py")];
        assert_eq!(innermost_own(&frames).unwrap().file, "/job/a.py");
        assert_eq!(innermost_own(&frames[1..]).unwrap().file, "/x/site-packages/scipy/b.py");
        assert_eq!(innermost_own(&frames[2..]).unwrap().file, "/x/site-packages/torch/c.py");
        assert_eq!(innermost_own(&[]), None);
    }
}
