//! Where the logs of a job stand in the report, and what they are called.

use std::path::Path;

use rustc_hash::FxHashMap;

use crate::trace::{Log, Trace, Who};

/// Where a log's tree stands and what it is called.
pub(super) struct Place {
    /// Folder within the report; empty for the report's own.
    pub(super) folder: String,
    /// What it is called.
    pub(super) heading: String,
    /// How its pages get from its folder to the report's.
    pub(super) up: &'static str,
    /// Whether it is the newest start of its rank, or process.
    pub(super) newest: bool,
    /// Name of the job, where there is a landing page.
    pub(super) job: Option<String>,
    /// Folders and labels of the logs before and after.
    pub(super) siblings: Vec<(String, String)>,
}

impl Place {
    /// The place of a log that is the whole report.
    pub(super) fn alone(trace: &Trace, log: &Log) -> Self {
        let heading =
            trace.folder.as_deref().map_or_else(|| log.name(), |folder| folder_name(&trace.base.join(folder)));
        Self { folder: String::new(), heading, up: "", newest: true, job: None, siblings: Vec::new() }
    }
}

fn folder_name(folder: &Path) -> String {
    let absolute = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    absolute.file_name().map_or_else(|| folder.display().to_string(), |n| n.to_string_lossy().into_owned())
}

/// Folders of a job's logs: `rank_<N>` for the newest start of a rank, `rank_<N>.restart_<K>` for earlier
/// ones, `process_<pid>` for logs without rank.
pub(super) fn places(trace: &Trace) -> Vec<Place> {
    let name = trace.folder.as_deref().map_or_else(|| "job".to_owned(), |folder| folder_name(&trace.base.join(folder)));
    // Logs stand by rank and time; a rank, or a process without one, may have several.
    let mut starts: FxHashMap<Who, usize> = FxHashMap::default();
    for log in &trace.logs {
        *starts.entry(log.who()).or_default() += 1;
    }
    let mut given: FxHashMap<Who, usize> = FxHashMap::default();
    let mut places: Vec<Place> = Vec::new();
    for log in &trace.logs {
        let nth = *given.entry(log.who()).and_modify(|n| *n += 1).or_insert(0);
        let newest = starts.get(&log.who()).is_some_and(|all| nth + 1 == *all);
        let (folder, heading) = match (log.rank, log.pid) {
            (Some(rank), _) if newest => (format!("rank_{rank}"), format!("rank {rank}")),
            (Some(rank), _) => (format!("rank_{rank}.restart_{nth}"), format!("rank {rank}, start {nth}")),
            (None, pid) => {
                let pid = pid.map_or_else(|| "unknown".to_owned(), |pid| pid.to_string());
                let more = if nth == 0 { String::new() } else { format!(".{}", nth + 1) };
                (format!("process_{pid}{more}"), format!("process {pid}{more}"))
            }
        };
        places.push(Place { folder, heading, up: "../", newest, job: Some(name.clone()), siblings: Vec::new() });
    }
    let near: Vec<(String, String)> = places.iter().map(|p| (p.folder.clone(), p.heading.clone())).collect();
    for (at, place) in places.iter_mut().enumerate() {
        let before = at.checked_sub(1).and_then(|n| near.get(n)).map(|(f, h)| (f.clone(), format!("‹ {h}")));
        let after = near.get(at + 1).map(|(f, h)| (f.clone(), format!("{h} ›")));
        place.siblings = before.into_iter().chain(after).collect();
    }
    places
}
