//! Configurations that metrics carry: each content stands once in the report, and pages link to it.

use std::sync::{Mutex, PoisonError};

use rustc_hash::FxHashMap;

use super::names::RelPath;
use super::tree::Tree;
use crate::error::Result;
use crate::format::payload::md5;
use crate::format::{json, strict};
use crate::tables::FieldPlaces;

/// What the pages of metrics of one log share: the configurations written so far, by their text in the log.
#[derive(Debug, Default)]
pub(crate) struct Configs<'a> {
    places: FieldPlaces,
    seen: Mutex<FxHashMap<&'a [u8], RelPath>>,
}

impl<'a> Configs<'a> {
    /// Where known fields stand.
    pub(crate) fn places(&self) -> &FieldPlaces {
        &self.places
    }

    /// The file that holds `value`, a JSON value of the field `field`; it is written when it is new.
    pub(crate) fn file(&self, tree: &Tree, field: &'static str, value: &'a [u8]) -> Result<RelPath> {
        {
            let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(path) = seen.get(value) {
                return Ok(path.clone());
            }
        }
        // Mostly JSON inside a string, sometimes an object, sometimes an error in words.
        let text = json::unescape(value).map_or_else(|| value.to_vec(), String::into_bytes);
        let mut pretty = Vec::new();
        if strict::pretty(&text, &mut pretty).is_err() {
            pretty = text;
        }
        let path = RelPath::by_content("config", field, md5(&pretty));
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.insert(value, path.clone()).is_none() {
            tree.make_folders(std::iter::once(&path))?;
            tree.write(&path, &pretty)?;
        }
        Ok(path)
    }
}
