//! `compile_directory.json`: entries by compile, as the standard report has them, with those that it lacks.

use std::io::{self, Write};

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::names::RelPath;
use super::pages::cache_mark;
use super::plan::{Entry, Plan, Target};

/// Writes the file.
pub(super) fn write(out: &mut dyn Write, plan: &Plan) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &Directory(plan))?;
    out.write_all(b"\n")
}

struct Directory<'a>(&'a Plan);

impl Serialize for Directory<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.directory.len()))?;
        for (id, entries) in &self.0.directory {
            map.serialize_entry(&id.label(), &Artifacts { artifacts: entries.iter().map(Artifact::of).collect() })?;
        }
        map.end()
    }
}

#[derive(Serialize)]
struct Artifacts<'a> {
    artifacts: Vec<Artifact<'a>>,
}

#[derive(Serialize)]
struct Artifact<'a> {
    url: &'a str,
    name: &'a str,
    number: Option<u32>,
    suffix: &'static str,
    readable_url: Option<&'a str>,
}

impl<'a> Artifact<'a> {
    fn of(entry: &'a Entry) -> Self {
        let (url, suffix) = match &entry.target {
            Target::File(path) => (path.as_str(), cache_mark(path.as_str())),
            Target::Link(url) => (url.as_str(), ""),
        };
        Self {
            url,
            name: entry.name.rsplit('/').next().unwrap_or(&entry.name),
            number: entry.number,
            suffix,
            readable_url: entry.readable.as_ref().map(RelPath::as_str),
        }
    }
}
