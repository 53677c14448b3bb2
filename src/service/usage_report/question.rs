//! The parameters of a report, as read from a request.

use std::sync::Arc;

use crate::domain::ids::{ProjectId, UserId};
use crate::domain::slots::SlotName;
use crate::domain::time::{Day, Timestamp};
use crate::domain::usage_report::ReportColumns;
use crate::engine::people::lookup;
use crate::service::Caller;
use crate::service::people::known_names;
use crate::service::{Error, Result, Service};

const MAX_SLOTS: usize = crate::domain::slots::MAX_SLOTS;

/// A range of days in UTC, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DayRange {
    pub from: Day,
    pub to: Day,
}

impl DayRange {
    pub fn count_days(self) -> usize {
        usize::try_from(self.to.days_since(self.from)).unwrap_or_default() + 1
    }
}

/// The parameters as a request contains them.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReportRequest<'a> {
    pub from: &'a str,
    pub to: &'a str,
    /// Words separated by commas.
    pub by: Option<&'a str>,
    /// Names separated by commas.
    pub slots: Option<&'a str>,
    pub domain: Option<&'a str>,
    /// Empty: usage without a class.
    pub charge_class: Option<&'a str>,
    /// A name or UUID.
    pub user: Option<&'a str>,
    pub project: Option<&'a str>,
}

/// The checked parameters of a report.
#[derive(Clone, Debug)]
pub struct ReportQuestion {
    /// `None` stands for all groups that the caller reaches.
    pub groups: Option<Vec<String>>,
    pub range: DayRange,
    pub by: ReportColumns,
    pub(super) domain: Option<Arc<str>>,
    pub(super) charge_class: Option<Arc<str>>,
    pub(super) user: Option<UserId>,
    pub(super) project: Option<ProjectId>,
    /// `None` stands for all slots.
    pub(super) slots: Option<Vec<String>>,
}

impl ReportQuestion {
    /// True if the report is about the group, if the caller reaches it.
    pub fn covers(&self, group: &str) -> bool {
        self.groups.as_ref().is_none_or(|groups| groups.iter().any(|name| name == group))
    }

    /// True if the report shows the slot.
    pub(super) fn shows(&self, slot: SlotName) -> bool {
        self.slots.as_ref().is_none_or(|slots| slots.iter().any(|name| name == slot.as_str()))
    }

    /// The first day of the period of `day`, limited to the range.
    pub(super) fn first_day(&self, day: Day) -> Day {
        self.by.period.map_or(self.range.from, |period| period.first(day).max(self.range.from))
    }

    /// A text that distinguishes the parameters, so that a cursor of one report is refused by another.
    pub fn scope(&self) -> String {
        let list = |names: &Option<Vec<String>>| names.as_ref().map(|names| names.join(",")).unwrap_or_default();
        let id = |id: Option<String>| id.unwrap_or_default();
        let DayRange { from, to } = self.range;
        let (user, project) = (id(self.user.map(|id| id.to_string())), id(self.project.map(|id| id.to_string())));
        // An empty class and no class are two questions.
        let class = self.charge_class.as_deref().map(|class| format!("={class}")).unwrap_or_default();
        let (groups, slots) = (list(&self.groups), list(&self.slots));
        // A name may contain slashes, so it comes last.
        let domain = self.domain.as_deref().unwrap_or_default();
        format!("{groups}/{from}/{to}/{}/{slots}/{user}/{project}/{class}/{domain}", self.by)
    }
}

impl Service {
    /// Checks the parameters for these groups; `None` stands for all groups.
    pub fn report_question(
        &self,
        caller: &Caller,
        groups: Option<Vec<String>>,
        asked: ReportRequest<'_>,
    ) -> Result<ReportQuestion> {
        let range = range(asked.from, asked.to, self.trusted_now().day())?;
        let by = asked.by.unwrap_or("user").parse().map_err(|error| Error::about("/by", "invalid_value", error))?;
        let people = self.people();
        let fault = |fault| Error::Invalid(vec![fault]);
        let user = asked.user.map(|text| lookup::user_of_text(&people, text, "/user")).transpose().map_err(fault)?;
        known_names::require_known_user(&people, caller, user, asked.user).map_err(fault)?;
        let project = asked.project.map(|text| lookup::project_of_text(&people, text, "/project"));
        let project = project.transpose().map_err(fault)?;
        known_names::require_known_project(&people, caller, project, asked.project).map_err(fault)?;
        Ok(ReportQuestion {
            groups,
            range,
            by,
            slots: asked.slots.map(slots).transpose()?,
            domain: asked.domain.map(Arc::from),
            charge_class: asked.charge_class.map(Arc::from),
            user,
            project,
        })
    }
}

fn range(from: &str, to: &str, today: Day) -> Result<DayRange> {
    let (from, to) = (day("/from", from)?, day("/to", to)?);
    if to < from {
        return Err(Error::about("/to", "contradiction", "lies before `from`"));
    }
    if to > today {
        let said = format!("lies in the future: today, in UTC, is {today}");
        return Err(Error::about(if from > today { "/from" } else { "/to" }, "in_future", said));
    }
    Ok(DayRange { from, to })
}

fn day(pointer: &str, text: &str) -> Result<Day> {
    text.parse::<Day>().map_err(|error| {
        if text.parse::<Timestamp>().is_ok() {
            let said = "has a time: reports have whole days of UTC, like 2026-10-01, and days of no other time zone";
            return Error::about(pointer, "not_a_day", said);
        }
        Error::about(pointer, "invalid_value", error)
    })
}

fn slots(text: &str) -> Result<Vec<String>> {
    let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
    if names.len() > MAX_SLOTS {
        return Err(Error::about("/slots", "out_of_range", format!("names more than {MAX_SLOTS} slots")));
    }
    let is_legal = |name: &String| SlotName::is_legal(name);
    if names.iter().all(is_legal) {
        return Ok(names);
    }
    let said =
        "is no list of slot names with commas between: each is 1 to 64 printable ASCII characters without spaces";
    Err(Error::about("/slots", "invalid_value", said))
}
