//! A job as a line of a report of kernels.

use serde::Serialize;

use super::job::ImportedJob;
use crate::domain::identity::{self, check_label};
use crate::domain::ids::{KernelId, ProjectId, SessionId, UserId};
use crate::domain::slots::Amounts;
use crate::domain::time::Timestamp;

/// A job as a row of kernels.
#[derive(Serialize)]
struct Row<'a> {
    kernel_id: KernelId,
    session_id: SessionId,
    #[serde(flatten)]
    user: User<'a>,
    #[serde(flatten)]
    project: Project<'a>,
    domain_name: &'a str,
    occupied_slots: &'a Amounts,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    terminated_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<i32>,
}

/// A user by name; one whose name reads as a UUID, by what the rule of names makes of it.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum User<'a> {
    Named { user: &'a str },
    ByRule { user_uuid: UserId, user_name: &'a str },
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Project<'a> {
    Named { project: &'a str },
    ByRule { project_id: ProjectId, project_name: &'a str },
}

impl<'a> User<'a> {
    pub fn of(name: &'a str) -> Self {
        match check_label(name) {
            Ok(()) => Self::Named { user: name },
            Err(_) => Self::ByRule { user_uuid: identity::user(name), user_name: name },
        }
    }
}

impl<'a> Project<'a> {
    pub fn of(name: &'a str) -> Self {
        match check_label(name) {
            Ok(()) => Self::Named { project: name },
            Err(_) => Self::ByRule { project_id: identity::project(name), project_name: name },
        }
    }
}

/// Adds the job, which is the kernel `id`, to `lines` as a line of a report.
pub fn write(job: &ImportedJob, id: KernelId, lines: &mut Vec<u8>) -> serde_json::Result<()> {
    let row = Row {
        kernel_id: id,
        session_id: job.session_id(),
        user: User::of(&job.user),
        project: Project::of(&job.project),
        domain_name: &job.domain,
        occupied_slots: &job.slots,
        status: job.phase().as_str(),
        started_at: job.started_at,
        terminated_at: job.terminated_at,
        agent_id: job.agent.as_deref(),
        queue: job.queue.as_deref(),
        priority: Some(job.priority).filter(|priority| *priority != 0),
    };
    serde_json::to_writer(&mut *lines, &row)?;
    lines.push(b'\n');
    Ok(())
}
