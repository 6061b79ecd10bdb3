//! What several tests need: logs to read, logs to make, pages to look at.

pub(crate) mod cells;
pub(crate) mod generate;
pub(crate) mod html;
pub(crate) mod logs;
pub(crate) mod rank_logs;
