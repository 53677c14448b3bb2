//! Registers the people that reports name: stores changes of people, with entries in the audit log.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;

use super::earlier::EarlierReports;
use super::incoming::Named;
use super::newcomers::{Changes, Moved, Restored};
use crate::domain::ids::{KernelId, Member};
use crate::domain::kernel::{Changed, Report};
use crate::service::audit::Change;
use crate::service::group::transaction::GroupTransaction;
use crate::service::{Caller, Result};
use crate::store;
use crate::store::people::{People, PeopleLock, Project};

/// Registers the people that the taken reports name. `callers` are those of the parts. Returns true if anything
/// changed.
pub async fn register(
    session: &mut GroupTransaction,
    callers: &[&Caller],
    taken: &[&Named],
    merged: &Changed,
    earlier: &EarlierReports,
) -> Result<bool> {
    let reports: Vec<&Report> = merged.iter().map(|(_, kernel)| &*kernel.report).chain(earlier.all_reports()).collect();
    let mut changes = Changes::of(&session.people(), taken, &reports, session.now);
    let mut lock = None;
    if !changes.is_empty() {
        lock = Some(session.lock_people().await?);
        // Other processes may have registered the same people meanwhile.
        changes = Changes::of(&session.people(), taken, &reports, session.now);
    }
    let hierarchy = &session.state().hierarchy;
    let owners = merged.iter().map(|(_, kernel)| kernel.report.owner);
    let members: BTreeSet<Member> = owners.filter(|member| !hierarchy.users().contains_key(member)).collect();
    let domains = merged.iter().map(|(_, kernel)| kernel.report.domain.as_str());
    let domains: BTreeSet<&str> = domains.filter(|domain| !hierarchy.domains().contains_key(*domain)).collect();
    let starts: Vec<Project> = std::mem::take(&mut changes.starts).into_values().collect();
    if changes.is_empty() && starts.is_empty() && members.is_empty() && domains.is_empty() {
        return Ok(false);
    }
    store::people::add_memberships(session.write(), members.iter().copied()).await?;
    store::people::note_starts(session.write(), &starts).await?;
    session.note_starts(starts);
    if !changes.is_empty() || !members.is_empty() || !domains.is_empty() {
        session.show_again();
    }
    if !changes.moved.is_empty() {
        session.reconfigure();
    }
    know(session, &changes, &members, &domains);
    if let Some(lock) = lock.filter(|_| !changes.is_empty()) {
        book(session, lock, callers, taken, changes).await?;
    }
    Ok(true)
}

/// Adds new people to the group, and moves projects in it.
fn know(session: &mut GroupTransaction, changes: &Changes, members: &BTreeSet<Member>, domains: &BTreeSet<&str>) {
    let homes: Vec<Option<Arc<str>>> = {
        let people = session.people();
        let home = |id| {
            let row = changes.projects.get(&id).map(|project| &project.domain_name);
            row.or_else(|| people.project(id).map(|known| &known.domain_name)).cloned()
        };
        members.iter().map(|member| home(member.project)).collect()
    };
    session.know(|state| {
        let mut new = Vec::new();
        for project in changes.projects.values() {
            if state.hierarchy.projects().contains_key(&project.id) {
                new.extend(state.know_project(project.id, &project.domain_name));
            }
        }
        for (member, home) in members.iter().zip(homes) {
            new.extend(home.map(|home| state.know_member(*member, &home)).unwrap_or_default());
        }
        for domain in domains {
            new.extend(state.know_domain(&Arc::from(*domain)));
        }
        new
    });
}

/// Stores the changes of people, with an audit entry for each change that is not merely a new name.
async fn book(
    session: &mut GroupTransaction,
    lock: PeopleLock,
    callers: &[&Caller],
    taken: &[&Named],
    changes: Changes,
) -> Result<()> {
    let Changes { domains, projects, users, moved, restored, .. } = changes;
    let people = People {
        domains: domains.into_values().collect(),
        projects: projects.into_values().collect(),
        users: users.into_values().collect(),
    };
    session.save_people(lock, people).await?;
    let caller_of = |kernel: Option<KernelId>| {
        let told = taken.iter().rev().find(|named| Some(named.kernel) == kernel);
        told.and_then(|named| callers.get(named.part)).or(callers.first()).copied()
    };
    for Moved { id, from, to, by } in moved {
        let Some(caller) = caller_of(by) else { continue };
        let of = |domain: Arc<str>| Some(json!({"domain_name": domain}));
        let (before, after, target) = (of(from), of(to), id.to_string());
        session.audit_as(caller, Change { action: "project.moved", target, before, after, reason: None }).await?;
    }
    for Restored { action, target, by } in restored {
        let Some(caller) = caller_of(Some(by)) else { continue };
        let (before, after) = (Some(json!({"archived": true})), Some(json!({"archived": false})));
        session.audit_as(caller, Change { action, target, before, after, reason: None }).await?;
    }
    Ok(())
}
