//! The report of one tier of a group in a window, as one caller may see it.

use std::cmp::Ordering;
use std::sync::Arc;

use super::window::ReportWindow;
use crate::domain::fairness::{ReceivedShare, SPAN_DAYS, TierReport, report};
use crate::domain::tier::Tier;
use crate::domain::time::{TimeSpan, Timestamp};
use crate::engine::day_history::fairness::known_reports;
use crate::engine::group::snapshots::entitlements::SnapshotEntitlements;
use crate::engine::group::snapshots::rows::{DomainShare, ProjectShare, UserShare};
use crate::engine::work::run_blocking;
use crate::service::input::page::{CursorKey, Page, PageWindow, cut_window};
use crate::service::{Caller, Result, Service, VisibleGroup};

/// The name of the rows of a tier in page cursors.
pub fn list_name(tier: Tier) -> String {
    format!("fairness/{tier:?}")
}

/// The fairness of one tier of a group.
#[derive(Clone, Debug)]
pub struct TierFairness {
    pub group: VisibleGroup,
    pub tier: Tier,
    pub span: TimeSpan,
    pub report: TierReport,
    /// The rows that the caller may see. Archived owners are left out, as in all lists.
    pub rows: Vec<FairnessRow>,
}

/// The fairness of one tier in the `days` up to the last calculation.
#[derive(Clone, Copy, Debug)]
pub struct KnownFairness {
    pub days: u32,
    pub tier: Tier,
    pub misallocated_share: f64,
    pub jains_index: f64,
}

/// An owner in a report.
#[derive(Clone, Debug)]
pub enum ReportedOwner {
    Domain(Arc<DomainShare>),
    Project(Arc<ProjectShare>),
    User(Arc<UserShare>),
}

/// The usage of a domain, project or user, compared with its entitled share.
#[derive(Clone, Debug)]
pub struct FairnessRow {
    pub who: ReportedOwner,
    pub received: ReceivedShare,
}

impl ReportedOwner {
    fn of(entitlements: &SnapshotEntitlements, tier: Tier, place: usize) -> Self {
        match tier {
            Tier::Domain => Self::Domain(Arc::clone(&entitlements.domains[place])),
            Tier::Project => Self::Project(Arc::clone(&entitlements.projects[place])),
            Tier::User => Self::User(Arc::clone(&entitlements.users[place])),
        }
    }

    fn is_hidden(&self) -> bool {
        match self {
            Self::Domain(row) => row.hidden,
            Self::Project(row) => row.hidden,
            Self::User(row) => row.hidden,
        }
    }

    /// Compares in the order of [`Self::id`], within a tier.
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Domain(a), Self::Domain(b)) => a.domain_name.cmp(&b.domain_name),
            (Self::Project(a), Self::Project(b)) => a.project_id.cmp(&b.project_id),
            (Self::User(a), Self::User(b)) => a.member.cmp(&b.member),
            _ => Ordering::Equal,
        }
    }

    fn id(&self) -> Vec<CursorKey> {
        match self {
            Self::Domain(row) => vec![CursorKey::Text(row.domain_name.to_string())],
            Self::Project(row) => vec![CursorKey::Text(row.project_id.to_string())],
            Self::User(row) => {
                vec![CursorKey::Text(row.member.user.to_string()), CursorKey::Text(row.member.project.to_string())]
            }
        }
    }
}

impl FairnessRow {
    /// A number that ascends with the error, so that the most under-served owner comes first.
    fn ascending(&self) -> u64 {
        let bits = self.received.error.to_bits();
        // The bits of negative floats have the reverse order.
        if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
    }

    /// The sort key: the error, then the id.
    fn key(&self) -> Vec<CursorKey> {
        let mut key = vec![CursorKey::Number(self.ascending())];
        key.extend(self.who.id());
        key
    }
}

impl TierFairness {
    fn of(group: VisibleGroup, tier: Tier, span: TimeSpan, report: TierReport) -> Self {
        let entitlements = group.published().entitlements();
        let only = group.access().only_user();
        let may_see = |who: &ReportedOwner| match (only, who) {
            (None, _) => true,
            (Some(user), ReportedOwner::User(row)) => row.member.user == user,
            (Some(_), _) => false,
        };
        let row = |received: &ReceivedShare| {
            let who = ReportedOwner::of(entitlements, tier, received.place);
            (!who.is_hidden() && may_see(&who)).then_some(FairnessRow { who, received: *received })
        };
        let mut rows: Vec<FairnessRow> = report.entities.iter().filter_map(row).collect();
        rows.sort_unstable_by(|a, b| a.ascending().cmp(&b.ascending()).then_with(|| a.who.cmp(&b.who)));
        Self { group, tier, span, report, rows }
    }

    /// The owner that received the most beyond its share, for callers that may see all owners.
    pub fn most_over_served(&self) -> Option<&FairnessRow> {
        self.report
            .most_over_served
            .and(self.rows.last())
            .filter(|row| row.received.error > 0.0 && self.shows_everyone())
    }

    /// The owner that received the least of its share, for callers that may see all owners.
    pub fn most_under_served(&self) -> Option<&FairnessRow> {
        self.report
            .most_under_served
            .and(self.rows.first())
            .filter(|row| row.received.error < 0.0 && self.shows_everyone())
    }

    fn shows_everyone(&self) -> bool {
        self.group.access().only_user().is_none()
    }

    /// A page of the rows.
    pub fn page(&self, window: &PageWindow) -> Page<FairnessRow> {
        cut_window(&list_name(self.tier), &self.rows, FairnessRow::key, window)
    }
}

fn of_tier(mut reports: Vec<TierReport>, tier: Tier) -> TierReport {
    reports.swap_remove(tier as usize)
}

impl Service {
    /// The fairness of one tier of the group in the window. A caller that may see only one user gets the figures of the
    /// whole tier and the rows of that user.
    #[tracing::instrument(
        name = "service.fairness.report.fairness",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub async fn fairness(
        &self,
        caller: &Caller,
        group: &str,
        window: ReportWindow,
        tier: Tier,
    ) -> Result<TierFairness> {
        let group = self.group(caller, group)?;
        let now = self.trusted_now();
        window.check(now.day(), self.keep_buckets_days())?;
        let _permit = self.report_permits.acquire_for(caller.client(), group.count_users()).await?;
        let uses = self.uses(&group, window, now).await?;
        Ok(run_blocking(|| {
            let reports = report(&group.published().entitlements().tree, &uses);
            TierFairness::of(group, tier, window.span(now), of_tier(reports, tier))
        }))
    }

    /// The fairness of each tier of a group until `now`, as far as it is known without the database.
    pub fn known_fairness(&self, group: &VisibleGroup, now: Timestamp) -> Vec<KnownFairness> {
        let known = SPAN_DAYS.into_iter().zip(known_reports(group.published(), &SPAN_DAYS, now));
        let by_tier = |(days, reports): (u32, Vec<TierReport>)| {
            let tiers = Tier::ALL.into_iter().zip(reports);
            tiers.map(move |(tier, TierReport { misallocated_share, jains_index, .. })| KnownFairness {
                days,
                tier,
                misallocated_share,
                jains_index,
            })
        };
        known.flat_map(by_tier).collect()
    }
}
