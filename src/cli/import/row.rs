//! A job as a line of a report of kernels.

use super::job::ImportedJob;
use crate::api::kernels::KernelRow;
use crate::domain::ids::KernelId;

/// Adds the job, which is the kernel `id`, to `lines` as a line of a report.
pub fn write(job: &ImportedJob, id: KernelId, lines: &mut Vec<u8>) -> serde_json::Result<()> {
    let row = KernelRow {
        kernel_id: id,
        session_id: job.session_id(),
        user: &job.user,
        project: &job.project,
        domain_name: &job.domain,
        occupied_slots: &job.slots,
        status: job.phase().as_str(),
        started_at: job.started_at,
        terminated_at: job.terminated_at,
        agent_id: Some(&job.agents).filter(|agents| !agents.names().is_empty()),
        queue: job.queue.as_deref(),
        charge_class: &job.charge_class,
        priority: Some(job.priority).filter(|priority| *priority != 0),
    };
    serde_json::to_writer(&mut *lines, &row)?;
    lines.push(b'\n');
    Ok(())
}
