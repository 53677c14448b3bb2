//! The recorder of the process, and the gauges that are set when the metrics are read.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use metrics::{
    Counter, Histogram, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram,
    with_local_recorder,
};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};

use crate::domain::hierarchy::Share;
use crate::domain::time::MICROS_PER_SECOND;
use crate::service::visible_group::VisibleGroup;
use crate::service::{Caller, Service};

const REQUESTS: &str = "fairshared_http_requests_total";
const LATENCY: &str = "fairshared_http_request_duration_seconds";
/// Counted by the runner of jobs.
const JOB_RUNS: &str = "fairshared_job_runs_total";
const STATEMENTS: &str = "fairshared_db_statements_total";
const GROUPS: &str = "fairshared_resource_groups";
const AGE: &str = "fairshared_published_age_seconds";
const USERS: &str = "fairshared_ranked_users";
const WAITING: &str = "fairshared_ingests_waiting";
const MISALLOCATED: &str = "fairshared_misallocated_share";
const FORECAST_STARTS: &str = "fairshared_forecast_starts";
const FORECAST_COVERAGE: &str = "fairshared_forecast_coverage";
const FORECAST_ERROR: &str = "fairshared_forecast_median_error_seconds";
const QUEUE_USAGE: &str = "fairshared_queue_usage";
const STRAYS: &str = "fairshared_stray_records";
/// The upper bounds of the histogram's buckets, in seconds.
const LATENCY_BUCKETS: [f64; 10] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0];

static HANDLE: OnceLock<Option<PrometheusHandle>> = OnceLock::new();

/// Installs the recorder once per process. Values before that are lost.
pub fn describe() -> Option<&'static PrometheusHandle> {
    HANDLE
        .get_or_init(|| {
            let recorder = PrometheusBuilder::new().set_buckets(&LATENCY_BUCKETS).ok()?.build_recorder();
            let handle = recorder.handle();
            metrics::set_global_recorder(recorder).ok()?;
            describe_counter!(REQUESTS, "Requests answered, by method, route and status");
            describe_histogram!(LATENCY, "Time to the head of the answer, by method and route");
            describe_counter!(STATEMENTS, "SQL statements sent");
            describe_counter!(JOB_RUNS, "Runs of jobs that have ended, by job and outcome");
            describe_gauge!(GROUPS, "Resource groups");
            describe_gauge!(AGE, "Age of the published factors and ranks, by resource group");
            describe_gauge!(USERS, "Users in projects that are ranked, by resource group");
            describe_gauge!(
                MISALLOCATED,
                "Part of what was used that is in the wrong hands, by resource group, tier and window of days"
            );
            describe_gauge!(FORECAST_STARTS, "Starts with a forecast that are looked at, by resource group");
            describe_gauge!(
                FORECAST_COVERAGE,
                "Part of these starts between the 10th and 90th percentile of their forecast"
            );
            describe_gauge!(FORECAST_ERROR, "Median time between the 50th percentile and the start");
            describe_gauge!(STRAYS, "Usage records of recent days that lie in no partition of their day (PostgreSQL)");
            describe_gauge!(WAITING, "Requests whose reports wait to be committed, by resource group");
            Some(handle)
        })
        .as_ref()
}

/// The metrics of the requests of one method, route and status.
struct RequestMetrics {
    requests: Counter,
    latency: Histogram,
}

impl RequestMetrics {
    fn of(method: &'static str, route: &str, status: u16) -> Self {
        let route = route.to_owned();
        Self {
            requests: counter!(REQUESTS, "method" => method, "route" => route.clone(), "status" => status.to_string()),
            latency: histogram!(LATENCY, "method" => method, "route" => route),
        }
    }

    fn count(&self, took: Duration) {
        self.requests.increment(1);
        self.latency.record(took.as_secs_f64());
    }
}

/// The metrics by method and status, then by route. The recorder takes many times longer to find them.
type KnownMetrics = HashMap<(&'static str, u16), HashMap<Box<str>, RequestMetrics>>;

/// The methods with a label of their own. Others are counted together, because clients may invent methods.
const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// Counts an answered request.
pub fn record_request(method: &str, route: &str, status: u16, took: Duration) {
    static KNOWN_METRICS: LazyLock<RwLock<KnownMetrics>> = LazyLock::new(RwLock::default);
    if HANDLE.get().is_none() {
        return;
    }
    let method = METHODS.into_iter().find(|known| *known == method).unwrap_or("other");
    let known = KNOWN_METRICS.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(figures) = known.get(&(method, status)).and_then(|routes| routes.get(route)) {
        return figures.count(took);
    }
    drop(known);
    let figures = RequestMetrics::of(method, route, status);
    figures.count(took);
    let mut known = KNOWN_METRICS.write().unwrap_or_else(PoisonError::into_inner);
    known.entry((method, status)).or_default().insert(route.into(), figures);
}

/// All metrics in the text format of Prometheus.
pub(super) fn render(service: &Service) -> String {
    let Some(handle) = describe() else { return String::new() };
    let groups = service.groups(&Caller::internal("metrics"));
    let (now, trusted_time) = (service.clock().now(), service.trusted_now());
    counter!(STATEMENTS).absolute(service.store().statements());
    gauge!(GROUPS).set(groups.len() as f64);
    gauge!(STRAYS).set(service.store().known_strays() as f64);
    for group in &groups {
        let users = group.whole().map_or(0, |facts| facts.rows.users.len());
        gauge!(USERS, "resource_group" => group.name.to_string()).set(users as f64);
        gauge!(WAITING, "resource_group" => group.name.to_string()).set(service.reports_waiting(&group.name) as f64);
        for known in service.known_fairness(group, trusted_time) {
            let (name, tier, window) = (group.name.to_string(), known.tier.as_str(), format!("{}d", known.days));
            let gauge = gauge!(MISALLOCATED, "resource_group" => name, "tier" => tier, "window" => window);
            gauge.set(known.misallocated_share);
        }
        if let Some(quality) = service.forecast_quality(group) {
            let set = |name: &'static str, value: f64| {
                gauge!(name, "resource_group" => group.name.to_string()).set(value);
            };
            set(FORECAST_STARTS, quality.starts.into());
            if let Some(coverage) = quality.coverage() {
                set(FORECAST_COVERAGE, coverage);
            }
            if let Some(seconds) = quality.median_error_seconds {
                set(FORECAST_ERROR, seconds as f64);
            }
        }
        if let Some(calculation) = &group.calculation {
            let age = (now.micros() - calculation.at.micros()) as f64 / MICROS_PER_SECOND as f64;
            gauge!(AGE, "resource_group" => group.name.to_string()).set(age);
        }
    }
    handle.run_upkeep();
    handle.render() + &render_queue_usage(&groups)
}

/// The usage of each domain and project that has used anything, for schedulers that read it from Prometheus, such as KAI. It has a
/// recorder of its own, because the one of the process would show those that are gone for ever.
fn render_queue_usage(groups: &[VisibleGroup]) -> String {
    let recorder = PrometheusBuilder::new().build_recorder();
    with_local_recorder(&recorder, || {
        describe_gauge!(
            QUEUE_USAGE,
            "Decayed usage as a part of the capacity, by resource group, tier and name of the domain or project"
        );
        for group in groups {
            let Ok(facts) = group.whole() else { continue };
            let set = |tier: &'static str, name: &str, share: &Share, hidden: bool| {
                let usage = share.history.normalized_usage;
                if usage > 0.0 && !hidden {
                    let (group, name) = (group.name.to_string(), name.to_owned());
                    gauge!(QUEUE_USAGE, "resource_group" => group, "tier" => tier, "queue_name" => name).set(usage);
                }
            };
            for row in facts.rows.domains.iter() {
                set("domain", &row.domain_name, &row.share, row.hidden);
            }
            for row in facts.rows.projects() {
                if let Some(name) = &row.project_name {
                    set("project", name, &row.share, row.hidden);
                }
            }
        }
    });
    recorder.handle().render()
}
