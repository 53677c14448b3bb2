//! The runs of schedulers that no importer reads, as lines of a report.

use crate::cli::import::job::{ImportedJob, key_of_run};
use crate::cli::import::row;
use crate::connectors::scheduler_run::SchedulerRun;
use crate::domain::kernel_agents::KernelAgents;
use crate::domain::names::check_name;
use crate::domain::slots::{SlotAmounts, SlotName};

/// Adds a run to the lines of a report. Its kernel has the id that an import would give to a job of this key.
pub fn write_run(run: &SchedulerRun, resource_group: &str, lines: &mut Vec<u8>) -> Result<(), String> {
    let mut slots = SlotAmounts::default();
    for (slot, amount) in &run.slots {
        slots.set(SlotName::offered(slot).map_err(|error| error.to_string())?, *amount);
    }
    let job = ImportedJob {
        job_key: key_of_run(&run.job, run.started_at),
        session_key: run.job.clone(),
        user: run.owner.user.clone(),
        project: run.owner.project.clone(),
        domain: run.owner.domain.clone(),
        resource_group: resource_group.to_owned(),
        started_at: Some(run.started_at),
        terminated_at: run.ended_at,
        slots,
        agents: KernelAgents::of_one(run.machine.clone().filter(|machine| check_name(machine).is_ok())),
        priority: run.priority,
        ..ImportedJob::default()
    };
    row::write(&job, job.kernel_id(), lines).map_err(|error| error.to_string())
}
