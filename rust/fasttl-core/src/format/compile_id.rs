//! Compile ids: which compilation a record belongs to.

use std::fmt;

/// The ids of a record's envelope. Any of them may be missing; all four missing means "no compile".
///
/// Ids are kept as 64-bit numbers, since logs were seen with values beyond 32 bits and below zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CompileId {
    /// Number of the compiled-autograd capture.
    pub compiled_autograd_id: Option<i64>,
    /// Number of the code frame, in order of first compile.
    pub frame_id: Option<i64>,
    /// How often the frame had been compiled before.
    pub frame_compile_id: Option<i64>,
    /// How often this compile was restarted; missing at run time.
    pub attempt: Option<i64>,
}

impl CompileId {
    /// No id at all.
    pub const NONE: Self = Self { compiled_autograd_id: None, frame_id: None, frame_compile_id: None, attempt: None };

    /// Whether the record belongs to no compile. An attempt alone names none.
    pub const fn is_none(self) -> bool {
        self.compiled_autograd_id.is_none() && self.frame_id.is_none() && self.frame_compile_id.is_none()
    }

    /// The id of the compile, whichever try of it: `attempt` is left out.
    #[must_use]
    pub const fn without_attempt(self) -> Self {
        Self { attempt: None, ..self }
    }

    /// The id that the standard report files a record under: a frame compile without attempt counts as its first.
    #[must_use]
    pub fn collapsed(self) -> Self {
        let attempt = self.attempt.or(self.frame_compile_id.map(|_| 0));
        Self { attempt, ..self }
    }

    /// The standard report's anchor and heading, such as `[0/1_2]`, `[!0/1/0]` or `[-/-]`.
    pub fn label(self) -> String {
        let mut text = String::from("[");
        if let Some(id) = self.compiled_autograd_id {
            text += &format!("!{id}/");
        }
        text += &format!("{}/{}", Dash(self.frame_id), Dash(self.frame_compile_id));
        if let Some(attempt) = self.attempt.filter(|&a| a != 0) {
            text += &format!("_{attempt}");
        }
        text + "]"
    }

    /// The standard report's folder, such as `-_0_1_2`.
    pub fn folder(self) -> String {
        format!(
            "{}_{}_{}_{}",
            Dash(self.compiled_autograd_id),
            Dash(self.frame_id),
            Dash(self.frame_compile_id),
            Dash(self.attempt)
        )
    }

    /// Reads `0/1`, `0/1_2`, `!3` and `!3/0/1`, as PyTorch prints them.
    pub fn parse(text: &str) -> Option<Self> {
        let mut id = Self::NONE;
        let (text, attempt) = match text.split_once('_') {
            Some((head, tail)) => (head, Some(tail.parse().ok()?)),
            None => (text, None),
        };
        id.attempt = attempt;
        let frames = if let Some(rest) = text.strip_prefix('!') {
            let (autograd, frames) = rest.split_once('/').map_or((rest, None), |(a, f)| (a, Some(f)));
            id.compiled_autograd_id = Some(autograd.parse().ok()?);
            frames
        } else {
            Some(text)
        };
        if let Some((frame, compile)) = frames.map(|f| f.split_once('/')).map_or(Some(None), |f| f.map(Some))? {
            id.frame_id = Some(frame.parse().ok()?);
            id.frame_compile_id = Some(compile.parse().ok()?);
        }
        Some(id)
    }
}

/// As PyTorch prints it: `0/1`, `0/1_2`, `!3`, `!3/0/1`; empty without ids.
impl fmt::Display for CompileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(id) = self.compiled_autograd_id {
            write!(f, "!{id}")?;
        }
        if self.frame_id.is_some() || self.frame_compile_id.is_some() {
            if self.compiled_autograd_id.is_some() {
                f.write_str("/")?;
            }
            write!(f, "{}/{}", Dash(self.frame_id), Dash(self.frame_compile_id))?;
        }
        match self.attempt {
            Some(attempt) if attempt != 0 && !self.is_none() => write!(f, "_{attempt}"),
            _ => Ok(()),
        }
    }
}

/// A number, or `-` where there is none.
struct Dash(Option<i64>);

impl fmt::Display for Dash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(number) => number.fmt(f),
            None => f.write_str("-"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_reads_back() {
        for text in ["0/0", "12/3_4", "!0", "!7/0/1", "!7/0/1_2", "!7_1"] {
            assert_eq!(CompileId::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "None", "0", "a/b", "!", "0/0_"] {
            assert_eq!(CompileId::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn standard_names() {
        let id = CompileId::parse("!1/0/2_3").unwrap();
        assert_eq!((id.label().as_str(), id.folder().as_str()), ("[!1/0/2_3]", "1_0_2_3"));
        assert_eq!(CompileId::NONE.label(), "[-/-]");
        assert_eq!(CompileId::NONE.folder(), "-_-_-_-");
        assert_eq!(CompileId::parse("!1").unwrap().label(), "[!1/-/-]");
        assert_eq!(CompileId::parse("0/1").unwrap().collapsed().folder(), "-_0_1_0");
    }
}
