//! A report on the terminal, as JSON or as CSV.

use serde::Serialize;

use super::report::{PolicyForecasts, ReplayReport};
use crate::cli::failure::CommandFailure;
use crate::cli::figure_text::{duration_text, share_text};
use crate::cli::output::{OutputFormat, print, print_json, print_list};
use crate::domain::replay::report::{ByTier, PolicyOutcome, ReplayEntity, WaitFigures};

/// The number of users that a table shows at each end.
const USERS_PER_END: usize = 5;

pub(super) fn write_report(report: &ReplayReport, format: OutputFormat) -> Result<(), CommandFailure> {
    match format {
        OutputFormat::Json => print_json(report),
        OutputFormat::Table => tables(report),
        OutputFormat::Csv | OutputFormat::Ndjson => {
            let columns = &[
                "policy",
                "tier",
                "domain",
                "project",
                "user",
                "jobs",
                "wait_mean",
                "wait_median",
                "wait_p95",
                "bounded_slowdown",
                "used_share",
                "wait_change",
                "never_started",
                "utilisation",
                "misallocated_domains",
                "misallocated_projects",
                "misallocated_users",
                "jains_index_users",
            ];
            print_list(format, columns, report.all().flat_map(lines))
        }
    }
}

/// A policy, or one domain, project or user under it. Times are in seconds.
#[derive(Serialize)]
struct ReportLine<'r> {
    policy: &'r str,
    tier: &'static str,
    domain: Option<&'r str>,
    project: Option<&'r str>,
    user: Option<&'r str>,
    jobs: u64,
    wait_mean: f64,
    wait_median: f64,
    wait_p95: f64,
    bounded_slowdown: f64,
    used_share: Option<f64>,
    wait_change: Option<f64>,
    never_started: Option<u64>,
    utilisation: Option<f64>,
    misallocated_domains: Option<f64>,
    misallocated_projects: Option<f64>,
    misallocated_users: Option<f64>,
    jains_index_users: Option<f64>,
}

impl<'r> ReportLine<'r> {
    fn new(policy: &'r str, tier: &'static str, figures: &WaitFigures) -> Self {
        Self {
            policy,
            tier,
            domain: None,
            project: None,
            user: None,
            jobs: figures.jobs,
            wait_mean: figures.wait.mean,
            wait_median: figures.wait.median,
            wait_p95: figures.wait.p95,
            bounded_slowdown: figures.bounded_slowdown,
            used_share: None,
            wait_change: None,
            never_started: None,
            utilisation: None,
            misallocated_domains: None,
            misallocated_projects: None,
            misallocated_users: None,
            jains_index_users: None,
        }
    }

    fn whole(outcome: &'r PolicyOutcome) -> Self {
        let ByTier { domain, project, user } = outcome.misallocated_share;
        Self {
            wait_change: outcome.wait_change,
            never_started: Some(outcome.never_started),
            utilisation: Some(outcome.utilisation),
            misallocated_domains: Some(domain),
            misallocated_projects: Some(project),
            misallocated_users: Some(user),
            jains_index_users: Some(outcome.jains_index.user),
            ..Self::new(&outcome.policy, "all", &outcome.figures)
        }
    }

    fn one(policy: &'r str, tier: &'static str, entity: &'r ReplayEntity) -> Self {
        Self {
            domain: Some(&entity.domain),
            project: entity.project.as_deref(),
            user: entity.user.as_deref(),
            used_share: Some(entity.used_share),
            wait_change: entity.wait_change,
            ..Self::new(policy, tier, &entity.figures)
        }
    }
}

fn lines(outcome: &PolicyOutcome) -> impl Iterator<Item = ReportLine<'_>> {
    let tiers = [("domain", &outcome.domains), ("project", &outcome.projects), ("user", &outcome.users)];
    let entities = tiers.into_iter().flat_map(|(tier, entities)| entities.iter().map(move |entity| (tier, entity)));
    std::iter::once(ReportLine::whole(outcome))
        .chain(entities.map(|(tier, entity)| ReportLine::one(&outcome.policy, tier, entity)))
}

/// A row for people.
#[derive(Serialize)]
struct ReadableRow {
    policy: String,
    domain: String,
    project: String,
    user: String,
    jobs: u64,
    wait_mean: String,
    median: String,
    p95: String,
    slowdown: String,
    used: String,
    change: String,
    utilisation: String,
    misallocated: String,
    jain: String,
}

impl ReadableRow {
    fn of(line: &ReportLine) -> Self {
        let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
        Self {
            policy: line.policy.to_owned(),
            domain: text(line.domain),
            project: text(line.project),
            user: text(line.user),
            jobs: line.jobs,
            wait_mean: duration_text(line.wait_mean),
            median: duration_text(line.wait_median),
            p95: duration_text(line.wait_p95),
            slowdown: format!("{:.1}", line.bounded_slowdown),
            used: line.used_share.map(share_text).unwrap_or_default(),
            change: line.wait_change.map(duration_text).unwrap_or_default(),
            utilisation: line.utilisation.map(share_text).unwrap_or_default(),
            misallocated: line.misallocated_users.map(share_text).unwrap_or_default(),
            jain: line.jains_index_users.map(|index| format!("{index:.3}")).unwrap_or_default(),
        }
    }
}

fn table<'r>(
    columns: &'static [&'static str],
    lines: impl Iterator<Item = ReportLine<'r>>,
) -> Result<(), CommandFailure> {
    print_list(OutputFormat::Table, columns, lines.map(|line| ReadableRow::of(&line)))
}

fn tables(report: &ReplayReport) -> Result<(), CommandFailure> {
    print(&table_heading(report))?;
    let policies =
        &["policy", "jobs", "wait_mean", "median", "p95", "slowdown", "change", "utilisation", "misallocated", "jain"];
    table(policies, report.all().map(ReportLine::whole))?;
    let of = |entities: fn(&PolicyOutcome) -> &[ReplayEntity], tier: &'static str| {
        report.all().flat_map(move |outcome| {
            entities(outcome).iter().map(move |entity| ReportLine::one(&outcome.policy, tier, entity))
        })
    };
    if report.recorded.domains.len() > 1 {
        print("\nDomains")?;
        let columns = &["policy", "domain", "jobs", "wait_mean", "median", "p95", "slowdown", "used", "change"];
        table(columns, of(|outcome| &outcome.domains, "domain"))?;
    }
    if report.recorded.projects.len() > 1 {
        print("\nProjects")?;
        let columns =
            &["policy", "domain", "project", "jobs", "wait_mean", "median", "p95", "slowdown", "used", "change"];
        table(columns, of(|outcome| &outcome.projects, "project"))?;
    }
    if let Some(other) = &report.compared_with {
        print(&format!("\nUsers whose mean wait differs most from {other}; `-o csv` has all"))?;
        let columns =
            &["policy", "project", "user", "jobs", "wait_mean", "median", "p95", "slowdown", "used", "change"];
        let ends = report.policies.iter().flat_map(|outcome| {
            largest_differences(&outcome.users)
                .into_iter()
                .map(|entity| ReportLine::one(&outcome.policy, "user", entity))
        });
        table(columns, ends)?;
    }
    if !report.forecasts.is_empty() {
        print("\nForecasts of starts, each from its past alone; errors are medians")?;
        let columns = &[
            "policy",
            "waited",
            "forecasts",
            "known",
            "beyond_history",
            "in_interval",
            "earlier",
            "later",
            "error",
            "by_announced_times",
            "wait",
        ];
        print_list(OutputFormat::Table, columns, report.forecasts.iter().map(ForecastRow::of))?;
    }
    Ok(())
}

/// The forecasts under a policy, for people.
#[derive(Serialize)]
struct ForecastRow<'r> {
    policy: &'r str,
    waited: u64,
    forecasts: u64,
    known: u64,
    beyond_history: u64,
    in_interval: Option<String>,
    earlier: Option<String>,
    later: Option<String>,
    error: Option<String>,
    by_announced_times: Option<String>,
    wait: Option<String>,
}

impl<'r> ForecastRow<'r> {
    fn of(forecasts: &'r PolicyForecasts) -> Self {
        let of = &forecasts.calibration;
        Self {
            policy: &forecasts.policy,
            waited: of.waited,
            forecasts: of.asked,
            known: of.known,
            beyond_history: of.beyond_history,
            in_interval: of.coverage.map(share_text),
            earlier: of.earlier.map(share_text),
            later: of.later.map(share_text),
            error: of.median_error_seconds.map(duration_text),
            by_announced_times: of.announced_error_seconds.map(duration_text),
            wait: of.median_wait_seconds.map(duration_text),
        }
    }
}

fn table_heading(report: &ReplayReport) -> String {
    let capacity: Vec<String> = report.capacity.iter().map(|(slot, amount)| format!("{slot}={amount}")).collect();
    format!(
        "{} jobs of {} owners, submitted from {} to {}, on {} with the scheduler {}\n",
        report.jobs,
        report.owners,
        report.first_submission,
        report.last_submission,
        capacity.join(" "),
        report.scheduler
    )
}

/// The users that gain the most, then those that lose the most.
pub(super) fn largest_differences(users: &[ReplayEntity]) -> Vec<&ReplayEntity> {
    let mut changed: Vec<(&ReplayEntity, f64)> = users
        .iter()
        .filter_map(|user| Some((user, user.wait_change?)))
        .filter(|(_, change)| change.abs() >= 1.0)
        .collect();
    changed.sort_by(|a, b| a.1.total_cmp(&b.1));
    let gain = changed.iter().filter(|(_, change)| *change < 0.0).take(USERS_PER_END);
    let lose = changed.iter().rev().filter(|(_, change)| *change > 0.0).take(USERS_PER_END);
    gain.chain(lose).map(|(user, _)| *user).collect()
}
