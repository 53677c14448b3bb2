//! Probable mistakes in reports. Such reports are taken nevertheless.

use std::collections::BTreeMap;

use crate::api::input_warning::{InputWarning, MAX_WARNINGS};
use crate::domain::kernel::KernelReport;
use crate::domain::reading::seconds::MAX_SECONDS;
use crate::domain::reported_status::StatusDoubt;
use crate::domain::slots::{SlotName, slot_pointer};
use crate::engine::group::agent_slots::looks_like_range;
use crate::engine::group::agent_slots::slot_not_offered;
use crate::engine::group::snapshots::profile::GroupProfile;

/// One kind of mistake in a report.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReportMistake {
    /// The kernel occupies a slot that no agent of the group has.
    SlotNotOffered(SlotName),
    /// The kernel runs on an agent whose name looks like that of several.
    AgentRange(String),
    /// The status, or a part of it, is not known.
    Status(StatusDoubt),
    /// The announced runtime is above the limit.
    LongRuntime,
}

impl ReportMistake {
    /// Probable mistakes in one report to a group, besides those that its check found. Needs no database.
    pub fn find(group: &GroupProfile, report: &KernelReport) -> impl Iterator<Item = Self> {
        let slots = report.slots.iter().map(|(slot, _)| slot);
        let ranges = report.traits.agents.names().iter().filter(|agent| looks_like_range(agent));
        let lacking = slots.filter(|slot| group.lacks_slot(*slot)).map(Self::SlotNotOffered);
        lacking.chain(ranges.cloned().map(Self::AgentRange))
    }

    /// The warning, with a pointer into the report.
    fn warning(&self, group: &GroupProfile) -> InputWarning {
        match self {
            Self::SlotNotOffered(slot) => InputWarning::at(
                slot_pointer("/occupied_slots", *slot),
                "slot_not_offered",
                slot_not_offered(*slot, &group.agent_slots),
            ),
            Self::AgentRange(name) => {
                let detail = format!(
                    "the agent {name:?} looks like a range of agents, and is taken as one; name the agents of a kernel as a list"
                );
                InputWarning::at("/agent_id", "agent_range", detail)
            }
            Self::Status(doubt) => InputWarning::at("/status", "unknown_status", doubt.to_string()),
            Self::LongRuntime => {
                let detail =
                    format!("`expected_seconds` is above {MAX_SECONDS}, a year, and is taken as {MAX_SECONDS}");
                InputWarning::at("/expected_seconds", "expected_seconds_shortened", detail)
            }
        }
    }
}

/// The mistakes in all reports of a request, each once, with the index of the first report and the number of reports
/// that have it.
#[derive(Debug, Default)]
pub struct ReportMistakes {
    found: BTreeMap<ReportMistake, (u64, u64)>,
    /// The number of reports whose mistakes are not listed.
    more: u64,
}

impl ReportMistakes {
    /// Counts the report at index `place` of the request.
    pub fn note(&mut self, place: u64, mistake: ReportMistake) {
        if let Some((_, reports)) = self.found.get_mut(&mistake) {
            *reports += 1;
        } else if self.found.len() < MAX_WARNINGS {
            self.found.insert(mistake, (place, 1));
        } else {
            self.more += 1;
        }
    }

    /// The warnings, each with the index of the first report and the number of reports. A warning without an index is
    /// for mistakes that are not listed.
    pub fn warnings(&self, group: &GroupProfile) -> Vec<(InputWarning, Option<u64>, u64)> {
        let listed =
            self.found.iter().map(|(mistake, (place, reports))| (mistake.warning(group), Some(*place), *reports));
        listed.chain(InputWarning::unlisted(self.more).map(|warning| (warning, None, self.more))).collect()
    }
}
