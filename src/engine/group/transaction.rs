//! The transaction in which a use-case changes one resource group.
//!
//! Several requests, jobs and processes change the same group, and each change touches memory as well as many tables.
//! Therefore there is one way to change a group: a transaction of the group holds the group's lock in this process (its
//! slot), the lock of the group's row in the database, a database transaction, and the working state. Writers of one group
//! wait for each other; readers use the snapshot and never wait.
//!
//! A transaction
//! 1. takes the locks and compares the stored revision with the state. It reads again what another process has changed;
//! 2. lets the use-case change the state and write rows;
//! 3. commits and publishes the next snapshot, or rolls back. A state that was changed and not committed is dropped.
//!
//! It is not a web session and not a session of kernels. It covers one group only; people, which all groups share, have a
//! lock of their own ([`GroupTransaction::lock_people`]) that is taken inside it.
//!
//! Invariants:
//! - [`GroupTransaction::state_mut`] and the other methods that change the state mark it, so that only a commit keeps it.
//! - Rows are written through [`GroupTransaction::write`]; otherwise a commit that finds the state unchanged would roll them
//!   back.
//! - Snapshots appear in the order of the commits, because both happen under the slot.
//!
//! See "A write" in ARCHITECTURE.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Map, Value};

use super::calculate::{ClockMoment, PendingHistories};
use super::live_kernels;
use super::revision::ConfigRevision;
use super::snapshots::GroupSnapshot;
use super::state::GroupState;
use crate::domain::ids::{GroupKey, Owner};
use crate::domain::options::MAX_DECAY_UNIT_DAYS;
use crate::domain::queues::QueueConfigs;
use crate::domain::slots::SlotNameSource;
use crate::domain::time::{Day, Timestamp};
use crate::domain::weight::Weight;
use crate::engine::audit::{self, AuditAuthor, AuditedChange};
use crate::engine::error::{Error, Result};
use crate::engine::leases::LeasedWork;
use crate::engine::people::PeopleDirectory;
use crate::engine::upkeep::clock_watch::MAX_DIFFERENCE_MICROS;
use crate::engine::work::run_blocking;
use crate::engine::{FairShareEngine, SlotGuard};
use crate::store::agents::StoredAgent;
use crate::store::groups::{self, StoredGroup};
use crate::store::people::{PeopleLock, PeopleRows, Project};
use crate::store::{self, Tx};

/// A write of one group: its locks, its database transaction and its state.
#[expect(clippy::struct_excessive_bools, reason = "each is one thing that the commit has to do")]
pub struct GroupTransaction {
    pub(super) engine: Arc<FairShareEngine>,
    author: AuditAuthor,
    pub(super) slot: SlotGuard,
    pub(super) tx: Tx,
    pub(super) state: GroupState,
    /// The group's row as it was loaded; the commit writes what differs.
    pub(super) loaded: StoredGroup,
    /// True once the state was changed: only a commit keeps it.
    pub(super) touched: bool,
    /// True once rows besides the group's own were written.
    pub(super) written: AtomicBool,
    /// Histories that are still to be calculated.
    pub(super) histories: Option<PendingHistories>,
    /// Shares that must be stored.
    pub(super) changed_shares: BTreeSet<Owner>,
    /// True if the next snapshot shows other rows although no share was changed.
    pub(super) rows_changed: bool,
    /// The changes of kernels by this transaction; `None`: the current snapshot has no list of kernels, so the next one has
    /// none either.
    pub(super) kernels: Option<Vec<live_kernels::LiveKernelChange>>,
    /// The lease under which a run writes.
    pub(super) work: Option<LeasedWork>,
    /// People that are stored, with the lock that holds their new revision.
    pub(super) people: Option<(PeopleLock, PeopleRows)>,
    /// Projects whose newer starts are noted.
    pub(super) starts: Vec<Project>,
    /// True if the group itself is removed.
    pub(super) deleted: bool,
    /// True if another step follows at once, which needs the same buckets of the past.
    pub has_more_steps: bool,
    /// True if the group's configuration has changed.
    pub(super) reconfigured: bool,
    pub now: Timestamp,
}

impl FairShareEngine {
    /// Changes one group: all changes of `change` are kept or, if it fails, none. Returns the group's snapshot afterwards;
    /// `None`: the group was removed.
    pub(crate) async fn change<T>(
        self: Arc<Self>,
        author: AuditAuthor,
        group: String,
        change: impl AsyncFnOnce(&mut GroupTransaction) -> Result<T>,
    ) -> Result<(T, Option<Arc<GroupSnapshot>>)> {
        GroupTransaction::open(&self, author, &group).await?.run(change).await
    }

    /// [`FairShareEngine::change`] by a run. Nothing is kept if the run has lost its lease.
    pub(crate) async fn change_in_run<T>(
        self: Arc<Self>,
        work: LeasedWork,
        change: impl AsyncFnOnce(&mut GroupTransaction) -> Result<T>,
    ) -> Result<T> {
        let mut session = GroupTransaction::open(&self, AuditAuthor::job(), &work.group).await?;
        session.work = Some(work);
        Ok(session.run(change).await?.0)
    }

    /// Runs `change` and rolls back, to return the result that the change would have.
    pub(crate) async fn preview<T>(
        self: Arc<Self>,
        author: AuditAuthor,
        group: String,
        change: impl AsyncFnOnce(&mut GroupTransaction) -> Result<T>,
    ) -> Result<T> {
        let mut session = GroupTransaction::open(&self, author, &group).await?;
        let outcome = change(&mut session).await;
        session.rollback();
        outcome
    }
}

impl GroupTransaction {
    /// Opens a transaction; writers of one group wait for each other.
    async fn open(engine: &Arc<FairShareEngine>, author: AuditAuthor, name: &str) -> Result<Self> {
        // Only groups that exist have a slot. Otherwise requests with invented names would fill the memory.
        engine.published_group(name)?;
        let slot = engine.slot(name).lock_owned().await;
        let tx = engine.store.begin().await?;
        Self::start(engine, author, name, slot, tx).await
    }

    /// Opens a transaction for reports, in the task that holds the group's lock in this process.
    pub async fn for_reports(engine: &Arc<FairShareEngine>, name: &str, slot: SlotGuard) -> Result<Self> {
        engine.published_group(name)?;
        let tx = engine.store.begin().await?;
        let mut session = Self::start(engine, AuditAuthor::job(), name, slot, tx).await?;
        session.state.group.reported_at = Some(session.now);
        Ok(session)
    }

    /// Opens a transaction of a group, which is created if it does not exist. Returns true if it is created.
    pub async fn open_or_create(
        engine: &Arc<FairShareEngine>,
        author: AuditAuthor,
        name: &str,
        scheduler: &str,
        opts: &Map<String, Value>,
    ) -> Result<(Self, bool)> {
        let slot = engine.slot(name).lock_owned().await;
        let tx = engine.store.begin().await?;
        let is_new = groups::create(&tx, name, scheduler, opts, engine.clock.now()).await?;
        let mut session = Self::start(engine, author, name, slot, tx).await?;
        // The state of a group whose creation is not committed must not be kept.
        session.touched = is_new;
        Ok((session, is_new))
    }

    async fn start(
        engine: &Arc<FairShareEngine>,
        author: AuditAuthor,
        name: &str,
        mut slot: SlotGuard,
        tx: Tx,
    ) -> Result<Self> {
        let knows_kernels = engine.published.get(name).is_some_and(|group| group.live.known_kernels().is_some());
        let now = engine.clock.now();
        let lock_timeout = engine.store.lock_timeout();
        if lock_timeout.is_some() {
            engine.locked_elsewhere.check(name)?;
        }
        let locked = groups::lock(&tx, name, lock_timeout).await;
        engine.locked_elsewhere.note(name, &locked);
        let Some(group) = locked? else { return Err(Error::unknown_group(name)) };
        let loaded = group.clone();
        let known = slot.take();
        if known.as_ref().is_some_and(|state| group.revisions().contradicts(&state.group.revisions())) {
            engine.rewinds.note_group(name);
        }
        let state = match known {
            Some(mut state) if state.is_of(&group) => {
                state.catch_up(&tx, group).await?;
                state
            }
            _ => GroupState::load(&tx, &engine.people, group).await?,
        };
        let mut session = Self {
            engine: Arc::clone(engine),
            author,
            slot,
            tx,
            state,
            loaded,
            touched: false,
            written: AtomicBool::new(false),
            histories: None,
            changed_shares: BTreeSet::new(),
            rows_changed: false,
            kernels: knows_kernels.then(Vec::new),
            work: None,
            people: None,
            starts: Vec::new(),
            deleted: false,
            has_more_steps: false,
            reconfigured: false,
            now,
        };
        session.follow_moves();
        Ok(session)
    }

    /// The source of slot names for the author of this transaction.
    pub fn slot_name_source(&self) -> SlotNameSource {
        self.author.slot_name_source(self.group())
    }

    pub fn group(&self) -> &str {
        &self.state.group.name
    }

    /// The group's key, which kernels and records have in the database.
    pub fn key(&self) -> GroupKey {
        self.state.group.key
    }

    pub fn state(&self) -> &GroupState {
        &self.state
    }

    /// The state, to be changed; from here on only a commit keeps it.
    pub fn state_mut(&mut self) -> &mut GroupState {
        self.touched = true;
        &mut self.state
    }

    /// The database transaction, for reads.
    pub fn read(&self) -> &Tx {
        &self.tx
    }

    /// The database transaction, for writes. Marks that there are rows to commit.
    pub fn write(&self) -> &Tx {
        self.written.store(true, Ordering::Relaxed);
        &self.tx
    }

    /// The database transaction, and the state to be changed.
    pub fn parts(&mut self) -> (&Tx, &mut GroupState) {
        self.touched = true;
        (&self.tx, &mut self.state)
    }

    /// `now`, or the latest trusted time while the clock is not trusted.
    fn trusted_now(&self) -> Timestamp {
        self.engine.trusted_time(self.now)
    }

    pub fn engine(&self) -> &Arc<FairShareEngine> {
        &self.engine
    }

    /// Sets or unsets the weight of an entity that the group knows.
    pub fn set_weight(&mut self, entity: &Owner, weight: Option<Weight>) {
        self.reconfigured |= self.state.hierarchy.share(entity).is_some_and(|share| share.weight != weight);
        self.state_mut().hierarchy.set_weight(entity, weight);
        self.changed_shares.insert(entity.clone());
    }

    /// Registers entities in the group by `know`, which returns the new ones.
    pub fn apply_to_state(&mut self, know: impl FnOnce(&mut GroupState) -> Vec<Owner>) {
        let new = know(self.state_mut());
        self.changed_shares.extend(new);
    }

    /// Stores every share, also unchanged ones, because the stored rows may be damaged.
    pub fn store_all_shares(&mut self) {
        self.changed_shares = self.state.hierarchy.owners().collect();
    }

    /// Publishes all rows again, because names or domains in them have changed.
    pub fn show_again(&mut self) {
        self.rows_changed = true;
    }

    /// Gives the group's configuration a new revision.
    pub fn reconfigure(&mut self) {
        self.reconfigured = true;
        self.touched = true;
    }

    /// Refuses a request that was made for another configuration than the group has now.
    pub async fn require_revision(&mut self, seen: Option<&str>) -> Result<()> {
        let Some(seen) = seen else { return Ok(()) };
        self.learn_people().await?;
        let known = ConfigRevision::of(&self.state.group);
        if self.reconfigured { known.next() } else { known }.require(seen)
    }

    /// Replaces the agents of the group, whose rows the caller stores. The next snapshot shows their capacity.
    pub fn set_agents(&mut self, agents: Vec<StoredAgent>) {
        self.rows_changed = true;
        let same = |(old, new): (&StoredAgent, &StoredAgent)| {
            StoredAgent { updated_at: new.updated_at, ..old.clone() } == *new
        };
        let before = &self.state.agents;
        self.reconfigured |= before.len() != agents.len() || !before.iter().zip(&agents).all(same);
        self.state_mut().take_agents(agents);
    }

    /// Replaces the queues of the group, whose rows the caller stores.
    pub fn set_queues(&mut self, queues: Arc<QueueConfigs>) {
        self.reconfigured = true;
        let state = self.state_mut();
        state.queues = queues;
        state.group.queues_revision = state.group.queues_revision.next();
    }

    /// Counts the time since the last observation at the capacity that the group had (FAIR_SHARE §5).
    pub async fn observe_capacity(&mut self) -> Result<()> {
        let moment = self.moment();
        let limit = moment.trusted_time.plus_micros(MAX_DIFFERENCE_MICROS);
        if self.state.group.capacity_observed_at.is_some_and(|until| until > limit) {
            // The clock was set back, and no run has removed the observations of times that are in the future now.
            self.forget_capacities_ahead(moment.trusted_time).await?;
        }
        self.touched = true;
        self.state.observe_capacity(&self.tx, moment).await
    }

    /// Removes observations of the group's capacity for times after `now`, which were made while a clock was ahead.
    pub async fn forget_capacities_ahead(&mut self, now: Timestamp) -> Result<()> {
        store::capacity::forget_after(self.write(), self.group(), now.day()).await?;
        let downtimes = self.engine.downtimes(0);
        let state = self.state_mut();
        state.ledger.forget_capacities_after(now, &downtimes);
        state.group.capacity_observed_at = state.group.capacity_observed_at.map(|until| until.min(now));
        Ok(())
    }

    fn moment(&self) -> ClockMoment {
        ClockMoment { now: self.now, trusted_time: self.trusted_now(), started_at: self.engine.started_at() }
    }

    /// Loads every bucket whose capacity a change from `day` on may touch.
    pub async fn load_buckets_of(&mut self, day: Day) -> Result<()> {
        let loaded = self.state.load_buckets_of(&self.tx, day, self.now.day()).await;
        self.touched |= loaded.is_err();
        loaded
    }

    /// Loads every bucket that may take usage of `day`, or that such usage may shift.
    pub async fn load_chains_of(&mut self, day: Day) -> Result<()> {
        self.load_back_to(self.state.options.window_start(self.now.day())).await?;
        let first = self.state.first_bucket_of(&self.tx, day).await?;
        if first >= self.state.ledger.loaded_from() {
            return Ok(());
        }
        // A bucket whose records are purged may be longer than the current option says.
        self.load_back_to(day.back(MAX_DECAY_UNIT_DAYS)).await
    }

    /// Stores the run times of kernels that this transaction has recorded to the end, and adds them to their owners.
    pub(super) async fn save_ended(&mut self) -> Result<()> {
        let ended = self.state.take_ended();
        if ended.is_empty() {
            return Ok(());
        }
        self.touched = true;
        store::run_times::add(&self.tx, self.key(), &ended).await?;
        let from = self.state.run_times_from();
        for ((_, owner), times) in ended.into_iter().filter(|((day, _), _)| from.is_none_or(|from| *day >= from)) {
            if self.state.hierarchy.add_run_times(owner, times) {
                self.changed_shares.insert(Owner::User(owner));
            }
        }
        Ok(())
    }

    /// Calculates decayed usage where it may have changed (FAIR_SHARE §7). Factors follow with the commit.
    pub async fn recompute_histories(&mut self) -> Result<()> {
        self.begin_histories().await?;
        run_blocking(|| self.take_histories());
        Ok(())
    }

    /// The first half of [`Self::recompute_histories`]. The commit does the second half while it stores buckets.
    pub async fn begin_histories(&mut self) -> Result<()> {
        let now = self.trusted_now();
        self.touched = true;
        // Histories that an earlier first half has left must be calculated now, because the next one does not find them
        // again.
        self.take_histories();
        let recount = !self.state.knows_run_times(self.state.options.window_start(now.day()));
        if recount {
            self.settle_run_times().await?;
        }
        let changed = self.state.prepare(&self.tx, now, recount).await?;
        self.changed_shares.extend(changed);
        self.histories = Some(run_blocking(|| self.state.begin_calculation(now)));
        Ok(())
    }

    /// The second half of [`Self::recompute_histories`].
    pub(super) fn take_histories(&mut self) {
        let GroupState { ledger, hierarchy, options, .. } = &mut self.state;
        let changed = self.histories.take().map(|histories| histories.take(ledger, hierarchy, options));
        self.changed_shares.extend(changed.into_iter().flatten());
    }

    /// Stores the noted run times. Rebuilds the stored ones first if they are incomplete.
    async fn settle_run_times(&mut self) -> Result<()> {
        self.save_ended().await?;
        if !self.state.group.run_times_made {
            // From all kernels that exist, because a later look-back may be longer.
            store::run_times::rebuild(&self.tx, self.key(), Day::MIN).await?;
            self.state.group.run_times_made = true;
        }
        Ok(())
    }

    /// Loads the buckets from `day` on.
    pub async fn load_back_to(&mut self, day: Day) -> Result<()> {
        let loaded = self.state.load_back_to(&self.tx, day).await;
        self.touched |= loaded.is_err();
        loaded
    }

    /// The directory of people. The changes of this transaction appear in it with the commit.
    pub fn people(&self) -> Arc<PeopleDirectory> {
        self.engine.people.read()
    }

    /// Reads the people that other processes have changed. Must come before any change of people by this transaction.
    pub async fn learn_people(&mut self) -> Result<()> {
        self.engine.people.sync(&self.tx).await?;
        self.follow_moves();
        Ok(())
    }

    /// Keeps other writers from changing people until the commit, and reads their earlier changes.
    pub async fn lock_people(&mut self) -> Result<PeopleLock> {
        let lock = self.engine.people.lock(&self.tx).await?;
        self.follow_moves();
        Ok(lock)
    }

    /// Stores people. They appear in the directory with the commit.
    pub async fn save_people(&mut self, lock: PeopleLock, people: PeopleRows) -> Result<()> {
        store::people::save(self.write(), &people, lock).await?;
        self.people = Some((lock, people));
        Ok(())
    }

    /// Notes newer starts of projects, which appear in the directory with the commit.
    pub fn note_starts(&mut self, projects: Vec<Project>) {
        self.starts = projects;
    }

    /// Moves projects that have moved elsewhere into their domains. From then on only a commit keeps the state.
    fn follow_moves(&mut self) {
        if self.state.apply_people(&self.engine.people.read()) {
            self.touched = true;
            self.rows_changed = true;
            self.reconfigured = true;
        }
    }

    /// Makes the kernels be read again, because the database has other ones than memory.
    pub fn forget_kernels(&mut self) {
        self.kernels = None;
        self.state_mut().take_unsettled();
    }

    /// Notes that the rows of the group itself are removed.
    pub fn delete(&mut self) {
        self.deleted = true;
    }

    /// Writes an audit entry about this transaction's change.
    pub async fn audit(&self, entry: AuditedChange) -> Result<()> {
        self.audit_as(&self.author, entry).await
    }

    /// Writes an audit entry about a change of this transaction on behalf of `author`.
    pub async fn audit_as(&self, author: &AuditAuthor, entry: AuditedChange) -> Result<()> {
        audit::write(self.write(), author, entry, Some(self.group()), self.now).await?;
        Ok(())
    }

    /// Writes an audit entry about a change of several targets, which is found by the name of each. Returns its id.
    pub async fn audit_of(&self, entry: AuditedChange, targets: &[String]) -> Result<i64> {
        let id = audit::write(self.write(), &self.author, entry, Some(self.group()), self.now).await?;
        store::audit_targets::add(self.write(), self.group(), id, targets).await?;
        Ok(id)
    }
}
