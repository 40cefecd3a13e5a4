//! The days that the dates in a sentence can mean, for the support check.

use jiff::ToSpan;
use jiff::civil::Date;

use crate::text::time::{DateGrain, TimeMention};

const WEEKDAYS: [&str; 9] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun", "周", "星期"];

/// Alternative readings of a date without a year (one year earlier or later) or of a bare weekday
/// (one week earlier or later); empty if the words state the year or week.
pub(super) fn others(mention: &TimeMention, surface: &str) -> Vec<(Date, Date)> {
    let lower = surface.to_lowercase();
    let fixed = ["last", "ago", "past", "yesterday", "previous", "上", "去", "前", "昨"]
        .iter()
        .any(|word| lower.contains(word))
        || lower.split(|c: char| !c.is_ascii_digit()).any(|digits| digits.len() == 4);
    if fixed || !mention.relative {
        return Vec::new();
    }
    let bare = lower.trim_start_matches("on ");
    let weekday = WEEKDAYS.iter().any(|day| bare.starts_with(day));
    let steps = if weekday { [7.days(), -7.days()] } else { [1.year(), -1.year()] };
    let moved = |step: jiff::Span| {
        mention.from.checked_add(step).ok().zip(mention.to.checked_add(step).ok())
    };
    steps.into_iter().filter_map(moved).collect()
}

/// The days that a date in a fact means. A fact names a week or a weekend by its first day: "week
/// of".
pub(super) fn stated(text: &str, mention: &TimeMention) -> (Date, Date) {
    let (before, after) = (text[..mention.start].trim_end(), text[mention.end..].trim_start());
    let days = if before.ends_with("week of") || after.starts_with("那一周") {
        6
    } else if before.ends_with("weekend of") || after.starts_with("那个周末") {
        1
    } else {
        0
    };
    let to = if mention.grain == DateGrain::Day {
        mention.to.checked_add(days.days()).unwrap_or(mention.to)
    } else {
        mention.to
    };
    (mention.from, to)
}
