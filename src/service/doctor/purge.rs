//! The check `purge`: the time of the last purge, and what the next one removes.

use futures::FutureExt;
use futures::future::BoxFuture;

use super::{Check, CheckOutcome, CheckSubject, MAX_NAMED, list_names};
use crate::domain::options::FairShareOptions;
use crate::domain::time::{MICROS_PER_DAY, Timestamp};
use crate::engine::accounting::shorter_lookback::{GroupReach, LostRecords, lost_records};
use crate::engine::audit::option_label;
use crate::service::Result;
use crate::store::audit::{self, AuditFilter};
use crate::store::audit_targets::TargetNames;
use crate::store::key_list::IdWindow;
use crate::store::{jobs::JobRun, records};

/// The number of latest changes of a look-back that are looked at.
const MAX_CHANGES: u64 = 50;

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
    let shortened = shortened_look_backs(subject, &runs).await?;
    if !shortened.is_empty() {
        let detail = format!(
            "the next purge makes shorter look-backs final, because it removes records that they reached before: {}",
            list_names(&shortened, MAX_NAMED)
        );
        return Ok(CheckOutcome::warning(
            detail,
            "if it is a mistake, take it back before that: `fairshared options set GROUP lookback_days=DAYS`",
        ));
    }
    let last: Option<Timestamp> = runs.iter().map(|run| run.started_at).max();
    let last = last.map_or_else(|| "no purge has run yet".to_owned(), |at| format!("the last purge began {at}"));
    Ok(CheckOutcome::ok(format!("{last}; {next}")))
}

/// The groups whose look-back was longer after their last purge, each with what the next one removes for good.
async fn shortened_look_backs(subject: &CheckSubject<'_>, runs: &[JobRun]) -> Result<Vec<String>> {
    let service = subject.service;
    let (db, today) = (service.store().read(), service.clock().now().day());
    let window = IdWindow { before: None, after: None, from_end: false, offset: 0, limit: MAX_CHANGES };
    let mut shortened = Vec::new();
    for group in &subject.groups {
        let facts = &group.facts;
        let purges = runs.iter().filter(|run| run.resource_group.as_deref() == Some(&*facts.name));
        let filter = AuditFilter {
            resource_group: Some(facts.name.to_string()),
            target: Some(TargetNames { names: vec![option_label("lookback_days")], prefix: None }),
            from: purges.map(|run| run.started_at).max(),
            ..AuditFilter::default()
        };
        let changes = audit::page(db, &filter, &window).await?.rows;
        let days = changes.iter().filter_map(|entry| {
            let set = entry.before.as_ref()?["scheduler_opts"]["lookback_days"].as_u64();
            set.map_or(Some(FairShareOptions::default().lookback_days), |days| u32::try_from(days).ok())
        });
        let Some(longest) = days.max() else { continue };
        let before = FairShareOptions { lookback_days: longest, ..facts.options.clone() };
        let reach =
            GroupReach { name: &facts.name, key: facts.key, records_from: facts.records_from, options: &facts.options };
        if let Some(LostRecords { count, until, .. }) = lost_records(&service.engine, db, reach, &before, today).await?
        {
            let (name, now) = (&facts.name, facts.options.lookback_days);
            shortened.push(format!("{name} (from {longest} to {now} days, {count} records from before {until})"));
        }
    }
    Ok(shortened)
}
