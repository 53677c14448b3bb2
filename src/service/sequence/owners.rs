//! The owners of the workloads of a request, and checks of its other values.

use crate::api::sequence::{PendingWorkload, PlacedWorkload};
use crate::domain::ids::{KernelId, Member, ProjectId, UserId};
use crate::domain::maps::FastSet;
use crate::domain::reading::seconds;
use crate::engine::group::snapshots::snapshot_data::GroupSnapshotData;
use crate::engine::people::{PeopleDirectory, lookup};
use crate::service::{Fault, RequestFaults, Result};

/// The indices of placed workloads that are not among the kernels yet, with their owners.
pub(super) fn placed(
    people: &PeopleDirectory,
    facts: &GroupSnapshotData,
    placed: &[PlacedWorkload<'_>],
) -> Result<Vec<(usize, Member)>> {
    let mut faults = RequestFaults::default();
    let (mut found, mut listed) = (Vec::with_capacity(placed.len()), FastSet::default());
    for (at, entry) in placed.iter().enumerate() {
        let owner =
            owner(people, (entry.user_uuid, entry.user.as_deref()), (entry.project_id, entry.project.as_deref()));
        match owner.and_then(|owner| expected(entry.expected_seconds).map(|()| owner)) {
            Ok(_) if !listed.insert(entry.kernel_id) => {
                faults.push(Fault::about(format!("/placed/{at}/kernel_id"), "duplicate", "is listed twice"));
            }
            Ok(owner) if !facts.outstanding.knows(KernelId(entry.kernel_id)) => found.push((at, owner)),
            Ok(_) => {}
            Err(fault) => faults.push(Fault { pointer: format!("/placed/{at}{}", fault.pointer), ..fault }),
        }
        if faults.are_enough() {
            break;
        }
    }
    faults.or(found)
}

fn expected(seconds: Option<u32>) -> std::result::Result<(), Fault> {
    let said = seconds.and_then(seconds::fault);
    said.map_or(Ok(()), |said| Err(Fault::about("/expected_seconds", "out_of_range", said)))
}

/// The largest number of tasks of one workload.
const MAX_COUNT: u32 = 1_000_000;

fn check_count(count: Option<u32>) -> std::result::Result<(), Fault> {
    let is_wrong = count.is_some_and(|count| !(1..=MAX_COUNT).contains(&count));
    let fault = || Fault::about("/count", "out_of_range", format!("must be 1 to {MAX_COUNT}"));
    if is_wrong { Err(fault()) } else { Ok(()) }
}

/// The owner of a workload, by id or by name.
fn owner(
    people: &PeopleDirectory,
    (user, user_name): (Option<UserId>, Option<&str>),
    (project, project_name): (Option<ProjectId>, Option<&str>),
) -> std::result::Result<Member, Fault> {
    Ok(Member {
        user: lookup::user(people, user, user_name)?,
        project: lookup::project(people, project, project_name)?,
    })
}

/// The owners of all workloads, with a single lock of the directory.
pub(super) fn owners(people: &PeopleDirectory, pending: &[PendingWorkload]) -> Result<Vec<Member>> {
    let owner = |w: &PendingWorkload| {
        let owner = owner(people, (w.user_uuid, w.user.as_deref()), (w.project_id, w.project.as_deref()))?;
        expected(w.expected_seconds)?;
        check_count(w.count)?;
        Ok::<_, Fault>(owner)
    };
    let mut owners = Vec::with_capacity(pending.len());
    let mut faults = RequestFaults::default();
    for (at, workload) in pending.iter().enumerate() {
        match owner(workload) {
            Ok(owner) => owners.push(owner),
            Err(fault) => {
                faults.push(Fault { pointer: format!("/workloads/{at}{}", fault.pointer), ..fault });
                if faults.are_enough() {
                    break;
                }
            }
        }
    }
    faults.or(owners)
}
