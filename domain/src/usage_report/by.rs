//! The columns and periods of a usage report.

use std::fmt;
use std::str::FromStr;

use chrono::Datelike;

use crate::time::Day;

/// A period of a report. Each begins at midnight UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportPeriod {
    Day,
    /// From Monday on.
    Week,
    Month,
}

impl ReportPeriod {
    /// The first day of the period that contains `day`.
    pub fn first(self, day: Day) -> Day {
        let date = day.to_date();
        match self {
            Self::Day => day,
            Self::Week => day.plus(-date.weekday().num_days_from_monday().cast_signed()),
            Self::Month => day.plus(-date.day0().cast_signed()),
        }
    }

    /// The last day of the period that contains `day`.
    pub fn last(self, day: Day) -> Day {
        match self {
            Self::Day => day,
            Self::Week => self.first(day).plus(6),
            // A month has at most 31 days, so 31 days after its first day is always in the next month.
            Self::Month => self.first(self.first(day).plus(31)).plus(-1),
        }
    }
}

/// The columns by which the rows of a report are grouped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a column of the report, and any of them may be asked for")]
pub struct ReportColumns {
    pub resource_group: bool,
    pub domain: bool,
    pub project: bool,
    pub user: bool,
    pub charge_class: bool,
    pub period: Option<ReportPeriod>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ByError {
    #[error(
        "is a list of `resource_group`, `domain`, `project`, `user`, `charge_class` and one of `day`, `week` and `month`, with commas between"
    )]
    Unknown,
    #[error("names something twice")]
    Twice,
    #[error("names two of `day`, `week` and `month`")]
    Periods,
}

const WORDS: [&str; 8] = ["resource_group", "domain", "project", "user", "charge_class", "day", "week", "month"];

impl ReportColumns {
    fn has(self, word: &str) -> bool {
        match word {
            "resource_group" => self.resource_group,
            "domain" => self.domain,
            "project" => self.project,
            "user" => self.user,
            "charge_class" => self.charge_class,
            "day" => self.period == Some(ReportPeriod::Day),
            "week" => self.period == Some(ReportPeriod::Week),
            _ => self.period == Some(ReportPeriod::Month),
        }
    }

    fn set(&mut self, word: &str) -> Result<(), ByError> {
        let period = match word {
            "resource_group" => return set_once(&mut self.resource_group),
            "domain" => return set_once(&mut self.domain),
            "project" => return set_once(&mut self.project),
            "user" => return set_once(&mut self.user),
            "charge_class" => return set_once(&mut self.charge_class),
            "day" => ReportPeriod::Day,
            "week" => ReportPeriod::Week,
            "month" => ReportPeriod::Month,
            _ => return Err(ByError::Unknown),
        };
        match self.period.replace(period) {
            None => Ok(()),
            Some(same) if same == period => Err(ByError::Twice),
            Some(_) => Err(ByError::Periods),
        }
    }
}

fn set_once(part: &mut bool) -> Result<(), ByError> {
    if std::mem::replace(part, true) { Err(ByError::Twice) } else { Ok(()) }
}

impl FromStr for ReportColumns {
    type Err = ByError;

    fn from_str(text: &str) -> Result<Self, ByError> {
        let mut by = Self::default();
        text.split(',').try_for_each(|word| by.set(word.trim()))?;
        Ok(by)
    }
}

/// The columns in a fixed order, whatever the order of the request.
impl fmt::Display for ReportColumns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<&str> = WORDS.into_iter().filter(|word| self.has(word)).collect();
        f.write_str(&words.join(","))
    }
}
