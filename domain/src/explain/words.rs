//! An explanation in a few sentences, for the owner that it is about.

use super::count::{OwnerContributions, dominant_slot};
use super::outlook::DatedPosition;
use crate::bucket::Bucket;
use crate::decimal::Usage;
use crate::slots::{SlotAmounts, SlotName};
use crate::time::Day;

/// The explanation of an owner that is not ranked in the group.
pub const NOT_RANKED: &str = "Not in the ranking: nothing has been used in this group, and no weight is set.";

/// A place among `count`, such as "14th of 212, level with one other".
pub fn place_text(place: u32, count: usize, equals: u32) -> String {
    let level = match equals {
        0 => String::new(),
        1 => ", level with one other".to_owned(),
        many => format!(", level with {many} others"),
    };
    format!("{} of {count}{level}", ordinal(place))
}

/// The values that the sentences are made from.
pub struct SummaryInput<'a> {
    /// The place, from 1 on; `None` if the owner is not ranked in the group.
    pub place: Option<u32>,
    pub count: usize,
    /// How many others have the same place.
    pub equals: u32,
    pub recount: &'a OwnerContributions,
    pub resource_weights: &'a SlotAmounts,
    /// True if usage from before the look-back is known.
    pub has_older_usage: bool,
    /// True if kernels use something that no run has recorded yet.
    pub has_unrecorded_usage: bool,
    /// The first day with a better place, if nothing runs until then.
    pub better: Option<&'a DatedPosition>,
    pub today: Day,
}

impl SummaryInput<'_> {
    /// The text, such as "14th of 212. 61 % of what counts is Monday's 768 hours of cuda.device. If nothing is run, 9th
    /// on Thursday."
    pub fn describe(&self) -> String {
        let Some(place) = self.place else { return NOT_RANKED.to_owned() };
        let mut sentences = vec![format!("{}.", place_text(place, self.count, self.equals))];
        sentences.push(self.largest().unwrap_or_else(|| self.reason_for_nothing().to_owned()));
        sentences.extend(
            self.better.map(|then| format!("If nothing is run, {} on {}.", ordinal(then.place), self.day(then.day))),
        );
        sentences.join(" ")
    }

    /// The sentence about an owner of whose usage nothing counts.
    fn reason_for_nothing(&self) -> &'static str {
        let buckets = self.recount.buckets.iter().map(|(bucket, _)| bucket);
        let used: Vec<&Bucket> =
            buckets.filter(|bucket| bucket.usage.iter().any(|(_, used)| !used.is_zero())).collect();
        let has_capacity = |bucket: &&Bucket| bucket.capacity.iter().any(|(_, amount)| !amount.is_zero());
        match (used.is_empty(), self.has_unrecorded_usage, self.has_older_usage) {
            (true, true, _) => "Nothing of what is used now is recorded yet.",
            (true, false, true) => "Nothing that was used counts any more.",
            (true, false, false) => "Nothing has been used yet.",
            (false, ..) if used.iter().any(has_capacity) => {
                "Nothing of what was used counts, because none of its slots has a capacity and a weight."
            }
            (false, ..) => "Nothing of what was used counts, because the group has no capacity.",
        }
    }

    /// The sentence about the bucket with the largest contribution.
    fn largest(&self) -> Option<String> {
        let (bucket, count) = self.recount.largest()?;
        let (slot, usage) = dominant_slot(bucket, self.resource_weights)?;
        let part = count.contribution / self.recount.normalized_usage * 100.0;
        let what = usage_text(slot, usage);
        Some(format!("{part:.0} % of what counts is {}.", self.of_bucket(bucket, &what)))
    }

    fn of_bucket(&self, bucket: &Bucket, what: &str) -> String {
        match self.today.days_since(bucket.end) {
            _ if bucket.end > bucket.start => {
                format!("the {what} from {} to {}", date(bucket.start), date(bucket.end))
            }
            0 => format!("today's {what}"),
            1 => format!("yesterday's {what}"),
            2..=6 => format!("{}'s {what}", weekday(bucket.start)),
            _ => format!("the {what} of {}", date(bucket.start)),
        }
    }

    /// The words for a coming day: the weekday within a week, otherwise the date.
    fn day(&self, day: Day) -> String {
        match day.days_since(self.today) {
            0..=6 => weekday(day),
            _ => date(day),
        }
    }
}

fn weekday(day: Day) -> String {
    day.to_date().format("%A").to_string()
}

fn date(day: Day) -> String {
    day.to_date().format("%-d %B %Y").to_string()
}

const SECONDS_PER_HOUR: f64 = 3_600.0;
const BYTES_PER_GIB: f64 = 1_073_741_824.0;

/// The text of usage, such as "768 hours of `cuda.device`"; memory in GiB-hours.
fn usage_text(slot: SlotName, usage: Usage) -> String {
    let hours = usage.to_f64() / SECONDS_PER_HOUR;
    match slot.as_str() {
        "mem" => format!("{} GiB-hours of mem", short_number(hours / BYTES_PER_GIB)),
        name => format!("{} hours of {name}", short_number(hours)),
    }
}

/// The number with at most two decimals, or none from 100 on.
fn short_number(value: f64) -> String {
    let places = if value >= 100.0 { 0 } else { 2 };
    let text = format!("{value:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// The ordinal: 1st, 2nd, 3rd, 4th, 11th, 21st.
pub fn ordinal(number: u32) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}
