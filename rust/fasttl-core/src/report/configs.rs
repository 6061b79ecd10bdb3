//! Configurations that metrics carry: each content stands once in the report, and pages link to it.

use std::sync::{Mutex, PoisonError};

use rustc_hash::FxHashMap;

use super::names::RelPath;
use super::pages::Forms;
use super::tree::Tree;
use crate::error::Result;
use crate::format::payload::md5;
use crate::format::{json, strict};
use crate::tables::FieldPlaces;

/// What the pages of metrics of one log share.
#[derive(Debug, Default)]
pub(crate) struct Configs<'a> {
    places: FieldPlaces,
    /// What most of these pages have in common.
    pub(crate) forms: Forms,
    written: Mutex<Written<'a>>,
}

#[derive(Debug, Default)]
struct Written<'a> {
    /// The file of each configuration, by its text in the log.
    paths: FxHashMap<&'a [u8], RelPath>,
    /// What each field had last.
    latest: FxHashMap<&'static str, (&'a [u8], RelPath)>,
}

impl<'a> Configs<'a> {
    /// Where known fields stand.
    pub(crate) fn places(&self) -> &FieldPlaces {
        &self.places
    }

    /// The file that holds `value`, a JSON value of the field `field`; it is written when it is new.
    pub(crate) fn file(&self, tree: &Tree, field: &'static str, value: &'a [u8]) -> Result<RelPath> {
        let lock = || self.written.lock().unwrap_or_else(PoisonError::into_inner);
        // Nearly always it is the one that the field had last, and to compare is quicker than to look it up.
        let latest = lock().latest.get(field).cloned();
        if let Some((_, path)) = latest.filter(|(last, _)| *last == value) {
            return Ok(path);
        }
        let path = lock().paths.get(value).cloned();
        let path = path.map_or_else(|| self.write(tree, field, value), Ok)?;
        lock().latest.insert(field, (value, path.clone()));
        Ok(path)
    }

    fn write(&self, tree: &Tree, field: &'static str, value: &'a [u8]) -> Result<RelPath> {
        // Mostly JSON inside a string, sometimes an object, sometimes an error in words.
        let text = json::unescape(value).map_or_else(|| value.to_vec(), String::into_bytes);
        let mut pretty = Vec::new();
        if strict::pretty(&text, &mut pretty).is_err() {
            pretty = text;
        }
        let path = RelPath::by_content("config", field, md5(&pretty));
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if written.paths.insert(value, path.clone()).is_none() {
            tree.make_folders(std::iter::once(&path))?;
            tree.write(&path, &pretty)?;
        }
        Ok(path)
    }
}
