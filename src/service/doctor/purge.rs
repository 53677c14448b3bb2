//! The check `purge`: the time of the last purge, and what the next one removes.

use futures::FutureExt;
use futures::future::BoxFuture;

use super::{Check, CheckOutcome, CheckSubject, MAX_NAMED, list_names};
use crate::domain::time::{MICROS_PER_DAY, Timestamp};
use crate::service::Result;
use crate::store::{jobs::JobRun, records};

/// A purge is due once a day. If the last one is older than this, in days, purges do not run at all.
const LATE_DAYS: i64 = 2;

pub(super) struct PurgeCheck;

impl Check for PurgeCheck {
    fn name(&self) -> &'static str {
        "purge"
    }

    fn examine<'a>(&'a self, subject: &'a CheckSubject<'a>) -> BoxFuture<'a, Result<CheckOutcome>> {
        examine(subject).boxed()
    }
}

async fn examine(subject: &CheckSubject<'_>) -> Result<CheckOutcome> {
    let service = subject.service;
    let runs: Vec<JobRun> =
        service.last_job_runs(subject.caller).await?.into_iter().filter(|run| run.job == "purge").collect();
    let of = |run: &JobRun| run.resource_group.clone().unwrap_or_default();
    let failed: Vec<String> =
        runs.iter().filter(|run| ["failed", "panicked"].contains(&&*run.status)).map(of).collect();
    if !failed.is_empty() {
        let detail = format!("the last purge failed: {}", list_names(&failed, MAX_NAMED));
        return Ok(CheckOutcome::fault(
            detail,
            "`fairshared jobs list` says why; `fairshared jobs run purge` tries again",
        ));
    }
    let now = service.clock().now();
    let late: Vec<String> =
        runs.iter().filter(|run| now.micros() - run.started_at.micros() > LATE_DAYS * MICROS_PER_DAY).map(of).collect();
    let keys = subject.groups.iter().map(|group| group.facts.key);
    let until = now.day().back(service.engine.longest_look_back());
    let due = records::count_of_groups(service.store().read(), keys, until).await?;
    let next = if due == 0 {
        "the next one removes no usage records".to_owned()
    } else {
        let records = if due == 1 { "usage record" } else { "usage records" };
        format!("the next one removes {due} {records} from before {until}, which no look-back reaches")
    };
    if !late.is_empty() {
        let detail = format!("no purge ran for {LATE_DAYS} days: {}; {next}", list_names(&late, MAX_NAMED));
        return Ok(CheckOutcome::warning(
            detail,
            "a server runs it once a day: is one running? `fairshared jobs list` shows the last runs",
        ));
    }
    let last: Option<Timestamp> = runs.iter().map(|run| run.started_at).max();
    let last = last.map_or_else(|| "no purge has run yet".to_owned(), |at| format!("the last purge began {at}"));
    Ok(CheckOutcome::ok(format!("{last}; {next}")))
}
