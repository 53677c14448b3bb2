//! The runs of jobs, which become kernels.
//!
//! A job may run several times, because it was evicted, held or restarted. The ad of a job has its last run, and while it runs
//! mostly the one before; `condor_history -epochs` has one ad for each run that has ended, if the site records them. A run is
//! known by its job and its start, so that all sources have the same kernel for it, and the surest one counts.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use domain::time::{MICROS_PER_SECOND, Timestamp};

use super::class_ads::ClassAd;
use super::jobs::{owner_of, uses_slots};
use super::programs::HISTORY;
use super::resources::ResourceMapping;
use crate::fault::RoundFault;
use crate::scheduler_run::SchedulerRun;

/// The attribute with the end of a run, which only ads of `condor_history -epochs` have.
pub const EPOCH_END: &str = "EpochWriteDate";

/// The source of a run, the surest one last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RunSource {
    /// The job runs, as the queue shows it.
    Open,
    /// The job has ended its last run, as its ad shows it.
    Ended,
    /// The record of the run itself.
    Epoch,
}

/// The runs of a reading, each once.
#[derive(Clone, Debug, Default)]
pub struct RunCollection {
    runs: BTreeMap<(String, Timestamp), (RunSource, SchedulerRun)>,
}

impl RunCollection {
    /// Adds the last runs of a job, by its ad of the queue or of the history.
    pub fn add_job(&mut self, ad: &ClassAd, resources: &ResourceMapping) -> Result<(), RoundFault> {
        let has_slot = uses_slots(ad)?;
        let Some(start) = ad.time("JobCurrentStartDate").filter(|_| has_slot) else {
            return Ok(());
        };
        if let (Some(earlier), Some(end)) = (ad.time("JobLastStartDate"), ad.time("LastVacateTime"))
            && earlier < start
            && (earlier..=start).contains(&end)
        {
            self.add(RunSource::Ended, run(ad, earlier, Some(end), resources)?);
        }
        // A job has a shadow for as long as it holds a slot, also while it is being removed.
        if ad.time("ShadowBday").is_some() {
            self.add(RunSource::Open, run(ad, start, None, resources)?);
        } else {
            self.add(RunSource::Ended, run(ad, start, Some(end_of_last_run(ad, start)?), resources)?);
        }
        Ok(())
    }

    /// Adds the run that an ad of `condor_history -epochs` records.
    pub fn add_epoch(&mut self, ad: &ClassAd, resources: &ResourceMapping) -> Result<(), RoundFault> {
        if !uses_slots(ad)? {
            return Ok(());
        }
        let start = ad.needed_time(HISTORY, "JobCurrentStartDate")?;
        let end = ad.needed_time(HISTORY, EPOCH_END)?;
        self.add(RunSource::Epoch, run(ad, start, Some(end.max(start)), resources)?);
        Ok(())
    }

    fn add(&mut self, source: RunSource, run: SchedulerRun) {
        match self.runs.entry((run.job.clone(), run.started_at)) {
            Entry::Vacant(vacant) => {
                vacant.insert((source, run));
            }
            Entry::Occupied(mut known) if known.get().0 < source => {
                known.insert((source, run));
            }
            Entry::Occupied(_) => {}
        }
    }

    /// The runs that were under way at `since` or later, by job and start.
    pub fn since(self, since: Timestamp) -> impl Iterator<Item = SchedulerRun> {
        let runs = self.runs.into_values().map(|(_, run)| run);
        runs.filter(move |run| run.ended_at.is_none_or(|end| end >= since))
    }
}

/// The end of the last run of a job that runs no more.
fn end_of_last_run(ad: &ClassAd, start: Timestamp) -> Result<Timestamp, RoundFault> {
    let by_length = ad.integer("LastRemoteWallClockTime").map(|seconds| start.plus_micros(seconds * MICROS_PER_SECOND));
    // A schedd that was killed while the job ran has not noted how long it ran, and knows when it found the job idle.
    let end = by_length.or_else(|| ad.time("EnteredCurrentStatus").filter(|end| *end >= start));
    end.ok_or_else(|| {
        let id = ad.text("GlobalJobId").unwrap_or("?");
        RoundFault::new("unreadable_row", format!("the job {id} has a start, and neither a running time nor an end"))
    })
}

fn run(
    ad: &ClassAd,
    started_at: Timestamp,
    ended_at: Option<Timestamp>,
    resources: &ResourceMapping,
) -> Result<SchedulerRun, RoundFault> {
    let hosts = ad.integer("MaxHosts").and_then(|hosts| u64::try_from(hosts).ok()).unwrap_or(1).max(1);
    let mut slots = resources.held(ad);
    for amount in slots.values_mut() {
        // A job of the universe parallel holds as many equal slots as it has hosts.
        *amount = amount.checked_mul(hosts).unwrap_or(*amount);
    }
    let host = ad.text("RemoteHost").or_else(|| ad.text("LastRemoteHost")).filter(|_| hosts == 1);
    let machine = host.map(|host| host.rsplit_once('@').map_or(host, |(_, machine)| machine).to_owned());
    let priority = ad.integer("JobPrio").unwrap_or_default().clamp(i32::MIN.into(), i32::MAX.into());
    Ok(SchedulerRun {
        job: ad.needed_text(HISTORY, "GlobalJobId")?.to_owned(),
        owner: owner_of(ad)?,
        started_at,
        ended_at,
        slots,
        machine,
        priority: i32::try_from(priority).unwrap_or_default(),
    })
}
