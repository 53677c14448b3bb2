//! Takes reports of kernels. Reports are idempotent by `kernel_id` and may arrive in any order and any number of times.
//!
//! The problem: each transaction of a group holds the group's lock, and the commit costs much more than a report. If
//! many clients report at the same time, one transaction for each request would let them wait for each other.
//!
//! So requests put their reports into a queue of the group. The task that gets the lock takes everything that waits, up
//! to [`BATCH_KERNELS`] kernels, and commits it in one transaction. Each request gets its own answer, with its own refused
//! rows. If the common transaction fails, every request is tried alone, so that one bad request does not affect the
//! others.
//!
//! A batch is not a unit for the client: parts of one delivery may be in several batches, and a refused row does not
//! undo the others.
//!
//! Invariants:
//! - Reports of one kernel are merged in the order of their arrival.
//! - An answer is sent only after the commit.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use uuid::Uuid;

use super::archived_owners;
use super::domain_assignment::{BatchWarning, DomainOverride, IndexedReports, late_domains, settle_domains, warnings};
use super::earlier::{EarlierReports, note_backfill};
use super::foreign_owners::ForeignOwners;
use super::incoming::{IncomingReport, NamedOwner, RefusedReport};
use super::merging::{MergedReports, merge, of_another_group};
use super::registration::register;
use crate::domain::ids::KernelId;
use crate::domain::time::{Day, Timestamp};
use crate::engine::audit::{AuditAuthor, INGEST_ACTION};
use crate::engine::error::{Error, Result};
use crate::engine::group::reported::ReportedKernels;
use crate::engine::group::transaction::GroupTransaction;
use crate::engine::work::run_to_completion;
use crate::engine::{FairShareEngine, SlotGuard};
use crate::store;
use crate::store::audit::DeliveryTally;

/// The number of kernels in one transaction, except for large deliveries.
pub const BATCH_KERNELS: usize = 5_000;

/// The number of kernels in one transaction of a large delivery. Ids have no order, so a transaction writes pages all
/// over their index, and a few large transactions write less than many small ones.
pub const LARGEST_BATCH: usize = 10 * BATCH_KERNELS;

/// After a transaction with this number of kernels, the log is copied into the database file while the next transaction
/// begins. Otherwise one transaction in several would have to copy the log of all of them.
const FILLS_LOG: usize = LARGEST_BATCH / 2;

/// The number of kernels in one transaction for a delivery with `rows` rows. It is limited, so that memory holds only a
/// part of the delivery.
pub fn batch_of(rows: u64) -> usize {
    usize::try_from(rows).unwrap_or(usize::MAX).clamp(BATCH_KERNELS, LARGEST_BATCH)
}

/// The result of one batch.
#[derive(Clone, Debug, Default)]
pub struct IngestResult {
    /// The number of kernels that are new or changed.
    pub changed: u64,
    pub refused: Vec<RefusedReport>,
    pub warnings: Vec<BatchWarning>,
    /// The number of kernels that ended before the server keeps usage, or before the kernels that it has removed. They count
    /// in a history.
    pub earlier: u64,
    /// The day before which these kernels ended.
    pub earlier_before: Option<Day>,
}

/// Checked reports, and the number of rows that could not be read.
#[derive(Clone, Debug, Default)]
pub struct ReportDelivery {
    pub reports: Vec<IncomingReport>,
    /// The number of rows that were refused before. The audit log adds them to the others.
    pub rejected: u64,
    /// The time of the snapshot that the reports belong to, if they do.
    pub taken_at: Option<Timestamp>,
}

impl From<Vec<IncomingReport>> for ReportDelivery {
    fn from(reports: Vec<IncomingReport>) -> Self {
        Self { reports, rejected: 0, taken_at: None }
    }
}

/// The sender of a delivery.
#[derive(Clone, Debug)]
pub struct ReportSender {
    pub author: AuditAuthor,
    /// The only groups that its key reaches; `None` for all.
    pub groups: Option<Arc<[String]>>,
}

/// The delivery of one request.
#[derive(Clone, Debug)]
struct PendingDelivery {
    sender: ReportSender,
    delivery: ReportDelivery,
}

struct PendingBatch {
    part: PendingDelivery,
    answer: oneshot::Sender<Result<IngestResult>>,
}

/// The deliveries that wait, by resource group, in the order of arrival.
#[derive(Default)]
pub struct CommitQueues(Mutex<HashMap<String, VecDeque<PendingBatch>>>);

impl CommitQueues {
    fn pending_batches(&self) -> MutexGuard<'_, HashMap<String, VecDeque<PendingBatch>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn join(&self, group: &str, waiting: PendingBatch) {
        self.pending_batches().entry(group.to_owned()).or_default().push_back(waiting);
    }

    /// The number of deliveries that wait for the group.
    pub fn waiting(&self, group: &str) -> usize {
        self.pending_batches().get(group).map_or(0, VecDeque::len)
    }

    /// Takes waiting deliveries of one time, up to `most` kernels, but at least the first delivery.
    fn take(&self, group: &str, most: usize) -> Vec<PendingBatch> {
        let mut lines = self.pending_batches();
        let Some(line) = lines.get_mut(group) else { return Vec::new() };
        let mut kernels = 0;
        let taken_at = line.front().and_then(|first| first.part.delivery.taken_at);
        let fits = |waiting: &&PendingBatch| {
            kernels += waiting.part.delivery.reports.len();
            kernels <= most && waiting.part.delivery.taken_at == taken_at
        };
        let count = line.iter().take_while(fits).count().max(1).min(line.len());
        let taken = line.drain(..count).collect();
        if line.is_empty() {
            lines.remove(group);
        }
        taken
    }
}

impl FairShareEngine {
    /// Takes one batch of checked reports in one transaction, together with what other requests deliver at the same
    /// time. Reports that contradict what is known are refused one by one; the others are kept. The answer says if anything
    /// changed.
    #[tracing::instrument(
        name = "engine.ingest.batch.take_reports",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub(crate) async fn take_reports(
        self: &Arc<Self>,
        sender: ReportSender,
        group: &str,
        delivery: ReportDelivery,
    ) -> Result<IngestResult> {
        let part = PendingDelivery { sender, delivery };
        let (engine, group) = (Arc::clone(self), group.to_owned());
        run_to_completion(async move { enqueue(&engine, &group, part).await }).await
    }
}

/// Waits in the queue until the delivery is committed, by this task or by another one.
async fn enqueue(engine: &Arc<FairShareEngine>, group: &str, part: PendingDelivery) -> Result<IngestResult> {
    // Only existing groups have a queue, whatever names requests contain.
    engine.published_group(group)?;
    let (answer, mut answered) = oneshot::channel();
    engine.lines.join(group, PendingBatch { part, answer });
    loop {
        tokio::select! {
            biased;
            answer = &mut answered => {
                return answer.unwrap_or_else(|_| Err(Error::internal("a use-case panicked")));
            }
            slot = engine.slot(group).lock_owned() => commit_batch(engine, group, slot).await,
        }
    }
}

/// Commits the deliveries that wait. There may be none, if another task took them while this one waited for the lock.
async fn commit_batch(engine: &Arc<FairShareEngine>, group: &str, slot: SlotGuard) {
    if engine.lines.waiting(group) == 0 {
        return;
    }
    let begun = GroupTransaction::for_reports(engine, group, slot).await;
    // Deliveries that arrived while this one waited for the database are included.
    let waiting = engine.lines.take(group, BATCH_KERNELS);
    let session = match begun {
        Ok(session) => session,
        Err(error) => return refuse_all(waiting, &error),
    };
    let (mut parts, answers): (Vec<PendingDelivery>, Vec<_>) = waiting.into_iter().map(|w| (w.part, w.answer)).unzip();
    let alone = parts.len() == 1;
    let again = if alone { Vec::new() } else { parts.clone() };
    let outcome = commit_parts(session, &mut parts).await;
    if outcome.as_ref().is_ok_and(|taken| taken.kernels() >= FILLS_LOG) {
        engine.begin_saving_log();
    }
    match outcome {
        Ok(taken) => answers.into_iter().zip(taken.done).for_each(|(answer, done)| respond(answer, Ok(done))),
        Err(error) if alone => answers.into_iter().for_each(|answer| respond(answer, Err(error.clone()))),
        Err(error) => {
            tracing::warn!(%error, group, requests = again.len(), "a group commit failed; each request is tried alone");
            let waiting = again.into_iter().zip(answers).map(|(part, answer)| PendingBatch { part, answer }).collect();
            one_by_one(engine, group, waiting).await;
        }
    }
}

/// Gives each delivery its own transaction, so that a delivery that cannot be stored does not keep others out.
async fn one_by_one(engine: &Arc<FairShareEngine>, group: &str, waiting: Vec<PendingBatch>) {
    let mut waiting = waiting.into_iter();
    while let Some(PendingBatch { part, answer }) = waiting.next() {
        let alone = async {
            engine.published_group(group)?;
            let slot = engine.slot(group).lock_owned().await;
            let session = GroupTransaction::for_reports(engine, group, slot).await?;
            commit_parts(session, &mut [part]).await
        };
        match alone.await {
            Ok(mut taken) => respond(answer, Ok(taken.done.pop().unwrap_or_default())),
            // The database is not available, so the other deliveries would wait for the same error.
            Err(error @ Error::Unavailable { .. }) => {
                respond(answer, Err(error.clone()));
                return refuse_all(waiting.collect(), &error);
            }
            Err(error) => respond(answer, Err(error)),
        }
    }
}

fn refuse_all(waiting: Vec<PendingBatch>, error: &Error) {
    for PendingBatch { answer, .. } in waiting {
        respond(answer, Err(error.clone()));
    }
}

/// Sends the answer. The client may have disconnected.
fn respond(answer: oneshot::Sender<Result<IngestResult>>, outcome: Result<IngestResult>) {
    let _ = answer.send(outcome);
}

/// Takes the parts, in their order, in the transaction of `session`, and counts them in the audit log.
async fn commit_parts(mut session: GroupTransaction, parts: &mut [PendingDelivery]) -> Result<CommittedBatch> {
    let taken = match take_in(&mut session, parts).await {
        Ok(taken) => taken,
        Err(error) => {
            session.rollback();
            return Err(error);
        }
    };
    let (group, now) = (session.group().to_owned(), session.now);
    if taken.is_new {
        store::audit::tally(session.write(), INGEST_ACTION, &group, &taken.tallies, now).await?;
        session.commit().await?;
    } else {
        // Nothing is stored, so the snapshot stays as it is, and only the audit counts are written.
        let engine = Arc::clone(session.engine());
        session.rollback();
        store::audit::tally(engine.store().write(), INGEST_ACTION, &group, &taken.tallies, now).await?;
    }
    Ok(taken)
}

struct CommittedBatch {
    /// The answers, in the order of the parts.
    done: Vec<IngestResult>,
    tallies: Vec<DeliveryTally>,
    /// True if anything was stored.
    is_new: bool,
    /// The data of the batch. Freeing it takes a while, so it is freed after the answers are sent.
    batch: (Vec<NamedOwner>, ReportedKernels),
}

impl CommittedBatch {
    /// The number of kernels that were stored.
    fn kernels(&self) -> usize {
        self.batch.1.len()
    }
}

async fn take_in(session: &mut GroupTransaction, parts: &mut [PendingDelivery]) -> Result<CommittedBatch> {
    let sizes: Vec<usize> = parts.iter().map(|part| part.delivery.reports.len()).collect();
    let count = sizes.iter().sum();
    let (mut names, mut reports): (Vec<NamedOwner>, IndexedReports) =
        (Vec::with_capacity(count), Vec::with_capacity(count));
    for (at, part) in parts.iter_mut().enumerate() {
        let incoming = std::mem::take(&mut part.delivery.reports);
        for (named, report) in incoming.into_iter().map(|incoming| incoming.split(at)) {
            reports.push((names.len(), report));
            names.push(named);
        }
    }
    if has_unknown_owners(session, &names) {
        session.learn_people().await?;
    }
    let authors: Vec<&AuditAuthor> = parts.iter().map(|part| &part.sender.author).collect();
    let reached: Vec<Option<&[String]>> = parts.iter().map(|part| part.sender.groups.as_deref()).collect();
    let foreign = ForeignOwners::new(session.engine(), &reached);
    let (mut refused, kept) = settle_domains(&session.people(), &foreign, &mut names, &mut reports);
    let taken_at = parts.first().and_then(|part| part.delivery.taken_at);
    let group = &session.state().group;
    let set_aside = EarlierReports::set_aside(session.read(), session.engine(), group, &mut reports, session.now);
    let mut earlier = Box::pin(set_aside).await?;
    let MergedReports { kernels: mut merged, recorded_elsewhere, seen } =
        merge(session, reports, &names, taken_at, &mut refused).await?;
    earlier.cut(&mut merged);
    let seen_at = taken_at.unwrap_or(session.now);
    save(session, &names, &mut merged, &mut refused, seen_at).await?;
    earlier.keep_taken(&merged);
    note_backfill(session, &merged).await?;
    store::cursors::set_seen(session.write(), &seen, seen_at).await?;
    let refused_at: BTreeSet<usize> = refused.iter().map(|r| r.at).collect();
    let taken: Vec<&NamedOwner> =
        names.iter().enumerate().filter(|(at, _)| !refused_at.contains(at)).map(|(_, n)| n).collect();
    let registered = register(session, &authors, &taken, &merged, &earlier).await?;
    if let Some(author) = authors.first() {
        Box::pin(earlier.store(session, author)).await?;
    }
    let is_new = registered || !merged.is_empty() || !seen.is_empty() || !earlier.is_empty();
    let mut done = by_part(&sizes, &names, &merged, &earlier, refused);
    warn(session, &names, &kept, &mut done);
    let archived = archived_owners::warnings(&session.people(), &names);
    for (part, warning) in archived.into_iter().chain(late_domains(&names, &merged, &recorded_elsewhere)) {
        done[part].warnings.push(warning);
    }
    let tallies = delivery_tallies(parts, &sizes, &done);
    Ok(CommittedBatch { done, tallies, is_new, batch: (names, merged) })
}

/// The result of each part of a batch.
fn by_part(
    sizes: &[usize],
    names: &[NamedOwner],
    merged: &ReportedKernels,
    earlier: &EarlierReports,
    mut refused: Vec<RefusedReport>,
) -> Vec<IngestResult> {
    refused.sort_unstable_by_key(|r| r.at);
    let changed: BTreeSet<KernelId> = if sizes.len() == 1 {
        BTreeSet::new()
    } else {
        let new = earlier.new_reports().map(|report| report.id);
        merged.iter().map(|(_, kernel)| kernel.report.id).chain(new).collect()
    };
    let mut refused = refused.into_iter().peekable();
    let mut first = 0;
    let part = |size: &usize| {
        let end = first + size;
        let mut own = Vec::new();
        while let Some(row) = refused.next_if(|row| row.at < end) {
            own.push(RefusedReport { at: row.at - first, ..row });
        }
        let changed = if sizes.len() == 1 {
            merged.len() + earlier.new_reports().count()
        } else {
            let named = names[first..end].iter().map(|n| n.kernel).filter(|id| changed.contains(id));
            named.collect::<BTreeSet<KernelId>>().len()
        };
        let aside = earlier.places.iter().filter(|at| (first..end).contains(*at)).count() as u64;
        first = end;
        IngestResult {
            changed: changed as u64,
            refused: own,
            warnings: Vec::new(),
            earlier: aside,
            earlier_before: (aside > 0).then(|| earlier.whole_before()),
        }
    };
    sizes.iter().map(part).collect()
}

/// Adds to each part warnings about its reports that were taken in another domain than they name.
fn warn(session: &GroupTransaction, names: &[NamedOwner], kept: &[DomainOverride], done: &mut [IngestResult]) {
    let of_part = |part: usize| kept.iter().filter(move |kept| names[kept.at].part == part);
    for (part, done) in done.iter_mut().enumerate().filter(|_| !kept.is_empty()) {
        done.warnings = warnings(&session.people(), of_part(part));
    }
}

/// The counts of `parts` for the audit log: one sum for each client.
fn delivery_tallies(parts: &[PendingDelivery], sizes: &[usize], done: &[IngestResult]) -> Vec<DeliveryTally> {
    let mut sums: BTreeMap<(Option<Uuid>, &str), DeliveryTally> = BTreeMap::new();
    for ((PendingDelivery { sender, delivery }, size), done) in parts.iter().zip(sizes).zip(done) {
        let author = &sender.author;
        let sum = sums.entry((author.key_id, &*author.actor)).or_insert_with(|| DeliveryTally {
            actor: author.actor.to_string(),
            key_id: author.key_id,
            request_id: author.request_id.to_string(),
            accepted: 0,
            rejected: 0,
        });
        sum.accepted += (size - done.refused.len()) as u64;
        sum.rejected += delivery.rejected + done.refused.len() as u64;
    }
    sums.into_values().filter(|sum| sum.accepted + sum.rejected > 0).collect()
}

/// True if the batch names a user or a project that this process does not know.
fn has_unknown_owners(session: &GroupTransaction, names: &[NamedOwner]) -> bool {
    let people = session.people();
    let unknown = |n: &NamedOwner| people.project(n.owner.project).is_none() || people.user(n.owner.user).is_none();
    names.iter().any(unknown)
}

/// Stores the merged kernels. A kernel that another group has claimed since `merge` is refused.
async fn save(
    session: &mut GroupTransaction,
    names: &[NamedOwner],
    merged: &mut ReportedKernels,
    refused: &mut Vec<RefusedReport>,
    seen_at: Timestamp,
) -> Result<()> {
    let claimed = session.save_kernels(merged, seen_at).await?;
    if !claimed.is_empty() {
        let known: BTreeSet<usize> = refused.iter().map(|r| r.at).collect();
        let late = (0..names.len()).filter(|at| claimed.contains(&names[*at].kernel) && !known.contains(at));
        refused.extend(late.map(of_another_group));
    }
    Ok(())
}
