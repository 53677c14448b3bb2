//! The results of a replay: waits, shares and utilisation under each policy, beside what really happened.

mod days;
mod places;
mod waits;

use serde::Serialize;

use self::days::ReportDays;
use self::places::EntityPlaces;
pub use self::waits::WaitFigures;
use super::history::ReplayHistory;
use super::policy::ReplayPolicy;
use crate::time::{Day, Timestamp};

/// A value for each tier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ByTier {
    pub domain: f64,
    pub project: f64,
    pub user: f64,
}

/// The division of the cluster in the week that ends with a day.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DayFigures {
    pub day: Day,
    /// The part of the used amount that was misallocated, 0 to 1.
    pub misallocated_share: ByTier,
    /// Jain's index of the ratios of used to entitled shares.
    pub jains_index: ByTier,
    /// The used part of the capacity of that day alone, 0 to 1.
    pub utilisation: f64,
}

/// A domain, project or user.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReplayEntity {
    pub domain: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(flatten)]
    pub figures: WaitFigures,
    /// The part of the total usage, 0 to 1.
    pub used_share: f64,
    /// The mean wait minus that of the outcome that is compared with, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_change: Option<f64>,
}

/// The result of one policy, or what really happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PolicyOutcome {
    pub policy: String,
    pub never_started: u64,
    #[serde(flatten)]
    pub figures: WaitFigures,
    pub last_end: Timestamp,
    /// The used part of the capacity until the last job ended, 0 to 1.
    pub utilisation: f64,
    /// The mean over all days, weighted by usage.
    pub misallocated_share: ByTier,
    pub jains_index: ByTier,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_change: Option<f64>,
    pub domains: Vec<ReplayEntity>,
    pub projects: Vec<ReplayEntity>,
    pub users: Vec<ReplayEntity>,
    pub days: Vec<DayFigures>,
}

/// The starts that an outcome is computed from.
pub struct JobStarts<'s> {
    pub name: &'s str,
    /// The start of each job; `None` if it never starts.
    pub starts: &'s [Option<Timestamp>],
    /// The policy whose weights determine the entitled shares.
    pub policy: &'s ReplayPolicy,
}

impl PolicyOutcome {
    pub fn of(history: &ReplayHistory, what: &JobStarts) -> Self {
        let places = EntityPlaces::new(history, what.policy);
        let days = ReportDays::new(history, what);
        let waits = waits::by_owner(history, what.starts);
        let [domains, projects, users] = places.entities(&waits, &days.used_by_owner());
        let series = days.series(&places);
        let used: Vec<f64> = days.used_by_week().collect();
        let mean =
            |figure: fn(&DayFigures) -> ByTier| weighted_mean(series.iter().map(figure).zip(used.iter().copied()));
        Self {
            policy: what.name.to_owned(),
            never_started: what.starts.iter().filter(|start| start.is_none()).count() as u64,
            figures: WaitFigures::of(waits.iter().flatten().copied().collect()),
            last_end: days.last_end(),
            utilisation: days.utilisation(),
            misallocated_share: mean(|day| day.misallocated_share),
            jains_index: mean(|day| day.jains_index),
            wait_change: None,
            domains,
            projects,
            users,
            days: series,
        }
    }

    /// Sets `wait_change` of the outcome and of all entities, compared with `other`.
    pub fn compare(&mut self, other: &Self) {
        let change = |now: &WaitFigures, before: &WaitFigures| Some(now.wait.mean - before.wait.mean);
        self.wait_change = change(&self.figures, &other.figures);
        let tiers = [
            (&mut self.domains, &other.domains),
            (&mut self.projects, &other.projects),
            (&mut self.users, &other.users),
        ];
        // Both outcomes have the same entities in the same order.
        for (now, before) in tiers.into_iter().flat_map(|(now, before)| now.iter_mut().zip(before)) {
            now.wait_change = change(&now.figures, &before.figures);
        }
    }
}

/// The weighted mean of values.
fn weighted_mean(figures: impl Iterator<Item = (ByTier, f64)>) -> ByTier {
    let (mut sum, mut weights) = (ByTier::default(), 0.0);
    for (figure, weight) in figures {
        sum.domain += figure.domain * weight;
        sum.project += figure.project * weight;
        sum.user += figure.user * weight;
        weights += weight;
    }
    let of = |sum: f64| if weights > 0.0 { sum / weights } else { 0.0 };
    ByTier { domain: of(sum.domain), project: of(sum.project), user: of(sum.user) }
}
