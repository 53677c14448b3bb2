//! Registers the people that reports name: stores changes of people, with entries in the audit log.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;

use super::earlier::EarlierReports;
use super::incoming::NamedOwner;
use super::newcomers::{MovedProject, PeopleChanges, RestoredEntity};
use crate::domain::ids::{KernelId, Member};
use crate::domain::kernel::{ChangedKernels, KernelReport};
use crate::domain::names::UNKNOWN_DOMAIN;
use crate::engine::audit::{AuditAuthor, AuditedChange};
use crate::engine::error::Result;
use crate::engine::group::transaction::GroupTransaction;
use crate::store;
use crate::store::people::{PeopleLock, PeopleRows, Project};

/// Registers the people that the taken reports name. `authors` are those of the parts. Returns true if anything
/// changed.
pub async fn register(
    session: &mut GroupTransaction,
    authors: &[&AuditAuthor],
    taken: &[&NamedOwner],
    merged: &ChangedKernels,
    earlier: &EarlierReports,
) -> Result<bool> {
    // A kernel that counts already lands in no other domain. Its report only places a project that has no domain yet.
    let places_project = |report: &&KernelReport| {
        let people = session.people();
        let domain = people.project(report.owner.project).map(|known| Arc::clone(&known.domain_name));
        domain.is_none_or(|domain| *domain == *UNKNOWN_DOMAIN || *domain == *report.domain)
    };
    let counted = earlier.known_reports().filter(places_project);
    let new = merged.iter().map(|(_, kernel)| &*kernel.report).chain(earlier.new_reports());
    let reports: Vec<&KernelReport> = new.chain(counted).collect();
    let mut changes = PeopleChanges::of(&session.people(), taken, &reports, session.now);
    let mut lock = None;
    if !changes.is_empty() {
        lock = Some(session.lock_people().await?);
        // Other processes may have registered the same people meanwhile.
        changes = PeopleChanges::of(&session.people(), taken, &reports, session.now);
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
    add_people(session, &changes, &members, &domains);
    if let Some(lock) = lock.filter(|_| !changes.is_empty()) {
        store_people_changes(session, lock, authors, taken, changes).await?;
    }
    Ok(true)
}

/// Adds new people to the group, and moves projects in it.
fn add_people(
    session: &mut GroupTransaction,
    changes: &PeopleChanges,
    members: &BTreeSet<Member>,
    domains: &BTreeSet<&str>,
) {
    let domain_assignments: Vec<Option<Arc<str>>> = {
        let people = session.people();
        let assigned_domain = |id| {
            let row = changes.projects.get(&id).map(|project| &project.domain_name);
            row.or_else(|| people.project(id).map(|known| &known.domain_name)).cloned()
        };
        members.iter().map(|member| assigned_domain(member.project)).collect()
    };
    session.apply_to_state(|state| {
        let mut new = Vec::new();
        for project in changes.projects.values() {
            if state.hierarchy.projects().contains_key(&project.id) {
                new.extend(state.know_project(project.id, &project.domain_name));
            }
        }
        for (member, assigned_domain) in members.iter().zip(domain_assignments) {
            new.extend(
                assigned_domain.map(|assigned_domain| state.know_member(*member, &assigned_domain)).unwrap_or_default(),
            );
        }
        for domain in domains {
            new.extend(state.know_domain(&Arc::from(*domain)));
        }
        new
    });
}

/// Stores the changes of people, with an audit entry for each change that is not merely a new name.
async fn store_people_changes(
    session: &mut GroupTransaction,
    lock: PeopleLock,
    authors: &[&AuditAuthor],
    taken: &[&NamedOwner],
    changes: PeopleChanges,
) -> Result<()> {
    let PeopleChanges { domains, projects, users, moved, restored, .. } = changes;
    let people = PeopleRows {
        domains: domains.into_values().collect(),
        projects: projects.into_values().collect(),
        users: users.into_values().collect(),
    };
    session.save_people(lock, people).await?;
    let author_of = |kernel: Option<KernelId>| {
        let named_report = taken.iter().rev().find(|named| Some(named.kernel) == kernel);
        named_report.and_then(|named| authors.get(named.part)).or(authors.first()).copied()
    };
    for MovedProject { id, from, to, by } in moved {
        let Some(author) = author_of(by) else { continue };
        let of = |domain: Arc<str>| Some(json!({"domain_name": domain}));
        let (before, after, target) = (of(from), of(to), id.to_string());
        session
            .audit_as(author, AuditedChange { action: "project.moved", target, before, after, reason: None })
            .await?;
    }
    for RestoredEntity { action, target, by } in restored {
        let Some(author) = author_of(Some(by)) else { continue };
        let (before, after) = (Some(json!({"archived": true})), Some(json!({"archived": false})));
        session.audit_as(author, AuditedChange { action, target, before, after, reason: None }).await?;
    }
    Ok(())
}
