//! A job as a line of a report of kernels.

use serde::Serialize;

use super::job::ImportedJob;
use crate::domain::ids::{KernelId, SessionId};
use crate::domain::kernel_agents::KernelAgents;
use crate::domain::slots::SlotAmounts;
use crate::domain::time::Timestamp;

/// A job as a row of kernels.
#[derive(Serialize)]
struct KernelRow<'a> {
    kernel_id: KernelId,
    session_id: SessionId,
    user: &'a str,
    project: &'a str,
    domain_name: &'a str,
    occupied_slots: &'a SlotAmounts,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    terminated_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_id: Option<&'a KernelAgents>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<&'a str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    charge_class: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<i32>,
}

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
