//! Kernels come in: idempotent by `kernel_id`, in any order, any number of times. Domains, projects
//! and users come into being by being named.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use uuid::Uuid;

use super::incoming::{Incoming, Refused};
use super::merging::{Merged, merge, of_another_group};
use super::registration::{Kept, Named, Warning, register, settle_domains, warnings};
use crate::domain::ids::KernelId;
use crate::domain::kernel::Report;
use crate::domain::time::Timestamp;
use crate::service::audit::INGEST;
use crate::service::group::session::Session;
use crate::service::{Caller, Result};
use crate::store;
use crate::store::audit::Tally;

/// Kernels that one transaction takes.
pub const BATCH: usize = 5_000;

impl Incoming {
    /// `part` is the place of the delivery that it came with.
    pub(super) fn split(self, part: usize) -> (Named, Report) {
        let Self { report, user, project, project_stays } = self;
        (Named { kernel: report.id, owner: report.owner, user, project, stays: project_stays, part }, report)
    }
}

/// What became of one batch.
#[derive(Clone, Debug, Default)]
pub struct Ingested {
    /// Kernels that are new or not what they were.
    pub changed: u64,
    pub refused: Vec<Refused>,
    pub warnings: Vec<Warning>,
}

/// Checked reports, and how many rows beside them could not be read.
#[derive(Clone, Debug, Default)]
pub struct Delivery {
    pub reports: Vec<Incoming>,
    /// Rows that were refused before; the audit log counts them with the others.
    pub rejected: u64,
    /// Of what time they are, if they are of a snapshot.
    pub taken_at: Option<Timestamp>,
}

impl From<Vec<Incoming>> for Delivery {
    fn from(reports: Vec<Incoming>) -> Self {
        Self { reports, rejected: 0, taken_at: None }
    }
}

/// What one request delivers.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub caller: Caller,
    pub delivery: Delivery,
}

/// Takes the parts, in their order, in the transaction of `session`, and counts them in the audit log. The answers
/// are in the order of the parts.
pub(super) async fn take(mut session: Session, parts: &mut [Part]) -> Result<Vec<Ingested>> {
    let sizes: Vec<usize> = parts.iter().map(|part| part.delivery.reports.len()).collect();
    let batch = parts.iter_mut().enumerate().flat_map(|(at, part)| {
        let reports = std::mem::take(&mut part.delivery.reports);
        reports.into_iter().map(move |incoming| incoming.split(at))
    });
    let (names, reports): (Vec<Named>, Vec<Report>) = batch.unzip();
    if strangers(&session, &names) {
        session.learn_people().await?;
    }
    let (reports, mut refused, kept) = settle_domains(&session.people(), &names, reports);
    let taken_at = parts.first().and_then(|part| part.delivery.taken_at);
    let (mut merged, seen) = merge(&session, reports, taken_at, &mut refused).await?;
    let seen_at = taken_at.unwrap_or(session.now);
    save(&mut session, &names, &mut merged, &mut refused, seen_at).await?;
    store::kernels::set_seen(session.tx(), &session.state().group.name, &seen, seen_at).await?;
    let refused_at: BTreeSet<usize> = refused.iter().map(|r| r.at).collect();
    let taken: Vec<&Named> =
        names.iter().enumerate().filter(|(at, _)| !refused_at.contains(at)).map(|(_, n)| n).collect();
    let callers: Vec<&Caller> = parts.iter().map(|part| &part.caller).collect();
    let registered = register(&mut session, &callers, &taken, &merged).await?;
    let is_new = registered || !merged.is_empty() || !seen.is_empty();
    let mut done = by_part(&sizes, &names, &merged, refused);
    warn(&session, &names, &kept, &mut done);
    let (tallies, now) = (tallies(parts, &sizes, &done), session.now);
    let group = session.state().group.name.clone();
    if is_new {
        store::audit::tally(session.tx(), INGEST, &group, &tallies, now).await?;
        session.commit().await?;
    } else {
        // Nothing is stored, so the picture stays as it is, and only the count is written.
        let service = Arc::clone(session.service());
        drop(session);
        store::audit::tally(service.store().write(), INGEST, &group, &tallies, now).await?;
    }
    Ok(done)
}

/// What became of each part of a batch.
fn by_part(sizes: &[usize], names: &[Named], merged: &Merged, mut refused: Vec<Refused>) -> Vec<Ingested> {
    refused.sort_unstable_by_key(|r| r.at);
    if sizes.len() == 1 {
        return vec![Ingested { changed: merged.len() as u64, refused, warnings: Vec::new() }];
    }
    let changed: BTreeSet<KernelId> = merged.iter().map(|(_, kernel)| kernel.report.id).collect();
    let mut refused = refused.into_iter().peekable();
    let mut first = 0;
    let part = |size: &usize| {
        let end = first + size;
        let mut own = Vec::new();
        while let Some(row) = refused.next_if(|row| row.at < end) {
            own.push(Refused { at: row.at - first, ..row });
        }
        let named: BTreeSet<KernelId> =
            names[first..end].iter().map(|n| n.kernel).filter(|id| changed.contains(id)).collect();
        first = end;
        Ingested { changed: named.len() as u64, refused: own, warnings: Vec::new() }
    };
    sizes.iter().map(part).collect()
}

/// Tells each part which of its reports were taken in another domain than they say.
fn warn(session: &Session, names: &[Named], kept: &[Kept], done: &mut [Ingested]) {
    let of_part = |part: usize| kept.iter().filter(move |kept| names[kept.at].part == part);
    for (part, done) in done.iter_mut().enumerate().filter(|_| !kept.is_empty()) {
        done.warnings = warnings(&session.people(), of_part(part));
    }
}

/// What the audit log counts of `parts`: one sum for each key.
fn tallies(parts: &[Part], sizes: &[usize], done: &[Ingested]) -> Vec<Tally> {
    let mut sums: BTreeMap<(Option<Uuid>, &str), Tally> = BTreeMap::new();
    for ((Part { caller, delivery }, size), done) in parts.iter().zip(sizes).zip(done) {
        let sum = sums.entry((caller.key_id, caller.actor.as_str())).or_insert_with(|| Tally {
            actor: caller.actor.clone(),
            key_id: caller.key_id,
            request_id: caller.request_id.clone(),
            accepted: 0,
            rejected: 0,
        });
        sum.accepted += (size - done.refused.len()) as u64;
        sum.rejected += delivery.rejected + done.refused.len() as u64;
    }
    sums.into_values().filter(|sum| sum.accepted + sum.rejected > 0).collect()
}

/// Whether the batch names somebody whom this process does not know.
fn strangers(session: &Session, names: &[Named]) -> bool {
    let people = session.people();
    let unknown = |n: &Named| people.project(n.owner.project).is_none() || people.user(n.owner.user).is_none();
    names.iter().any(unknown)
}

/// Stores what was merged. A kernel that another group has claimed since `merge` looked is refused.
async fn save(
    session: &mut Session,
    names: &[Named],
    merged: &mut Merged,
    refused: &mut Vec<Refused>,
    seen_at: Timestamp,
) -> Result<()> {
    let group = session.state().group.name.clone();
    if store::kernels::upsert(session.tx(), &group, merged).await? != merged.len() as u64 {
        let ids: Vec<KernelId> = merged.iter().map(|(_, kernel)| kernel.report.id).collect();
        let found = store::kernels::find_many(session.tx(), &ids).await?;
        let lost: BTreeSet<KernelId> =
            found.into_iter().filter(|(of, _)| *of != group).map(|(_, k)| k.report.id).collect();
        merged.retain(|(_, kernel)| !lost.contains(&kernel.report.id));
        let known: BTreeSet<usize> = refused.iter().map(|r| r.at).collect();
        let late = (0..names.len()).filter(|at| lost.contains(&names[*at].kernel) && !known.contains(at));
        refused.extend(late.map(of_another_group));
    }
    session.kernels_changed(merged, seen_at).await
}
