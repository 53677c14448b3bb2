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
    started_at: Option<Timestamp>,
    terminated_at: Option<Timestamp>,
    agent_id: Option<&'a str>,
    queue: Option<&'a str>,
    priority: i32,
}

/// A user by name; one whose name reads as a UUID, by what the rule of names makes of it.
#[derive(Serialize)]
#[serde(untagged)]
enum User<'a> {
    Named { user: &'a str },
    ByRule { user_uuid: UserId, user_name: &'a str },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Project<'a> {
    Named { project: &'a str },
    ByRule { project_id: ProjectId, project_name: &'a str },
}

/// The job as a line of a report.
pub fn line(job: &ImportedJob) -> serde_json::Result<Vec<u8>> {
    let user = match check_label(&job.user) {
        Ok(()) => User::Named { user: &job.user },
        Err(_) => User::ByRule { user_uuid: identity::user(&job.user), user_name: &job.user },
    };
    let project = match check_label(&job.project) {
        Ok(()) => Project::Named { project: &job.project },
        Err(_) => Project::ByRule { project_id: identity::project(&job.project), project_name: &job.project },
    };
    let row = Row {
        kernel_id: job.kernel_id(),
        session_id: job.session_id(),
        user,
        project,
        domain_name: &job.domain,
        occupied_slots: &job.slots,
        status: job.phase().as_str(),
        started_at: job.started_at,
        terminated_at: job.terminated_at,
        agent_id: job.agent.as_deref(),
        queue: job.queue.as_deref(),
        priority: job.priority,
    };
    serde_json::to_vec(&row)
}
