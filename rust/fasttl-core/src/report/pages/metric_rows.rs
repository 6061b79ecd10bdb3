//! The fields on a page of metrics: a row each, under the headings of their groups.
//!
//! A log has thousands of these pages with a hundred rows each, so the rows are put together here and not by
//! the template.

use super::common::{duration, size};
use crate::error::Result;
use crate::format::time::iso;
use crate::format::{json, strict};
use crate::report::html::Markup;
use crate::report::names::RelPath;
use crate::tables::{FieldPlaces, Fields, METRIC_FIELDS, MetricType, Sorted};

/// Longer values are folded.
const LONG: usize = 240;

/// What stands for the meaning of a field that is not listed.
const UNKNOWN: &str = "This version of fasttl does not know this field.";

/// All fields of the log by group; those that are null are named together. `config` yields address and path of
/// the file that has a configuration.
pub(super) fn groups<'a>(
    fields: &Fields<'a>,
    places: &FieldPlaces,
    mut config: impl FnMut(&'static str, &'a [u8]) -> Result<(String, RelPath)>,
) -> Result<Markup> {
    let mut groups: Vec<(&'static str, Markup)> = Vec::new();
    let mut unset = Vec::new();
    let Sorted { known, others } = fields.sorted(places);
    for (field, value) in METRIC_FIELDS.iter().zip(known) {
        let Some(value) = value else { continue };
        if value == b"null" {
            unset.push(field.name);
            continue;
        }
        if groups.last().is_none_or(|(title, _)| *title != field.group) {
            groups.push((field.group, Markup::default()));
        }
        let Some((_, rows)) = groups.last_mut() else { continue };
        begin_row(rows, field.name, field.about);
        if field.kind == MetricType::Json && field.name.ends_with("_config") {
            let (href, path) = config(field.name, value)?;
            rows.tag("<a class=\"mono\" href=\"").text(&href).tag("\">").text(path.file_name()).tag("</a>");
        } else {
            cell(rows, field.name, value);
        }
        rows.tag(ROW_END);
    }
    if !others.is_empty() {
        let mut rows = Markup::default();
        for (key, value) in others {
            let name = json::unescape_inner(key);
            begin_row(&mut rows, &name, UNKNOWN);
            cell(&mut rows, &name, value);
            rows.tag(ROW_END);
        }
        groups.push(("Other fields", rows));
    }
    if !unset.is_empty() {
        let mut rows = Markup::default();
        begin_row(&mut rows, "not set", "Fields that the record has without a value.");
        folded(&mut rows, &format!("{} fields", unset.len()), &unset.join(", "));
        rows.tag(ROW_END);
        groups.push(("Not set", rows));
    }
    let mut out = Markup::default();
    for (nth, (title, rows)) in groups.iter().enumerate() {
        let nth = (nth + 1).to_string();
        out.tag("<section aria-labelledby=\"g").text(&nth).tag("\">\n<h2 id=\"g").text(&nth).tag("\">").text(title);
        out.tag("</h2>\n<div class=\"box\" tabindex=\"0\" role=\"group\" aria-labelledby=\"g").text(&nth);
        out.tag("\"><table class=\"grid kv\"><tbody>").markup(rows).tag("\n</tbody></table></div>\n</section>\n");
    }
    Ok(out)
}

const ROW_END: &str = "</td></tr>";

fn begin_row(rows: &mut Markup, name: &str, about: &'static str) {
    rows.tag("\n<tr><th scope=\"row\"><span class=\"mono\">").text(name);
    rows.tag("</span><span class=\"about\">").text(about).tag("</span></th><td>");
}

fn folded(rows: &mut Markup, summary: &str, text: &str) {
    rows.tag("<details class=\"fold\"><summary>").text(summary);
    rows.tag("</summary><pre class=\"text\">").text(text).tag("</pre></details>");
}

/// A value as people read it, with the exact one beside it.
fn cell(rows: &mut Markup, name: &str, value: &[u8]) {
    if value.starts_with(b"{") {
        object(rows, value);
        return;
    }
    let text = match value.first() {
        Some(b'"') => json::unescape(value).unwrap_or_default(),
        Some(b'[') => list(value),
        _ => number(&String::from_utf8_lossy(&strict::to_strict(value))),
    };
    let human = human(name, &text);
    if text.len() > LONG || text.contains('\n') {
        let summary = if human.is_empty() { format!("{} characters", text.chars().count()) } else { human };
        folded(rows, &summary, &text);
    } else if text.is_empty() || text == "null" {
        rows.tag("<span class=\"none mono\">").text(&text).tag("</span>");
    } else if human.is_empty() {
        rows.tag("<span class=\"mono text\">").text(&text).tag("</span>");
    } else {
        rows.tag("<span class=\"human\">").text(&human).tag("</span> <span class=\"exact mono\">").text(&text);
        rows.tag("</span>");
    }
}

fn object(rows: &mut Markup, value: &[u8]) {
    let mut members = Markup::default();
    let mut count = 0_usize;
    // Members up to a fault are shown; a broken head is no record, so there is none.
    let _ = json::each_member(value, |key, value| {
        count += 1;
        members.tag("<tr><th scope=\"row\" class=\"mono\">").text(&json::unescape_inner(key));
        members.tag("</th><td class=\"mono text\">").text(&String::from_utf8_lossy(value)).tag("</td></tr>");
        true
    });
    rows.tag("<details class=\"fold\"><summary>").text(&count.to_string());
    rows.tag(if count == 1 { " setting" } else { " settings" });
    rows.tag("</summary><table class=\"inner\"><tbody>").markup(&members).tag("</tbody></table></details>");
}

/// Small numbers are written as people read them, digit by digit: `0.0000391`, not `3.91e-05`.
fn number(text: &str) -> String {
    let plain = || {
        let (mantissa, exponent) = text.split_once(['e', 'E'])?;
        let places = usize::try_from(-exponent.parse::<i32>().ok()?).ok().filter(|n| (1..30).contains(n))?;
        let (sign, digits) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        (whole.len() == 1).then(|| format!("{sign}0.{}{whole}{fraction}", "0".repeat(places - 1)))
    };
    plain().unwrap_or_else(|| text.to_owned())
}

/// One element a line, as a person would read it.
pub(super) fn list(value: &[u8]) -> String {
    let elements: Vec<serde_json::Value> = serde_json::from_slice(&strict::to_strict(value)).unwrap_or_default();
    let text = |element: &serde_json::Value| element.as_str().map_or_else(|| element.to_string(), str::to_owned);
    elements.iter().map(text).collect::<Vec<_>>().join("\n")
}

/// The value in a unit that people read, where the name tells the unit.
fn human(name: &str, text: &str) -> String {
    let Ok(number) = text.parse::<f64>() else { return String::new() };
    #[expect(clippy::cast_possible_truncation, reason = "out-of-range times are shown as they stand")]
    let moment = |us: f64| format!("{} UTC", iso(us as i64).get(..19).unwrap_or_default().replace('T', " "));
    match name {
        "start_time" if number > 1e8 && number < 1e11 => moment(number * 1e6),
        "start_time_us" | "end_time_us" if number > 1e14 && number < 1e17 => moment(number),
        "param_bytes" => text.parse().map(size).unwrap_or_default(),
        _ if name.ends_with("_us") => duration(number / 1e6),
        _ if name.ends_with("_ms") => duration(number / 1e3),
        _ if name.ends_with("_s") => duration(number),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_keep_their_digits() {
        assert_eq!(number("2.7894973754882812e-05"), "0.000027894973754882812");
        assert_eq!((number("-1e-1"), number("1e30"), number("12.5")), ("-0.1".into(), "1e30".into(), "12.5".into()));
    }

    #[test]
    fn units_come_from_names() {
        assert_eq!(human("guard_latency_us", "1500"), "2 ms");
        assert_eq!(human("start_time", "1715885247.9"), "2024-05-16 18:47:27 UTC");
        assert_eq!(human("cache_size", "3"), "");
    }
}
