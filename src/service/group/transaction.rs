//! The session in which a use-case changes one resource group: it takes the group's lock in the database, and brings the
//! state up to date if another process was faster.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLockReadGuard};

use serde_json::{Map, Value};

use super::calculate::{Histories, Moment};
use super::live_kernels;
use super::revision::ConfigRevision;
use super::state::GroupState;
use super::visible::VisibleGroup;
use crate::domain::ids::{GroupKey, Owner};
use crate::domain::options::MAX_DECAY_UNIT_DAYS;
use crate::domain::queues::Queues;
use crate::domain::slots::SlotNameSource;
use crate::domain::time::{Day, Timestamp};
use crate::domain::weight::Weight;
use crate::service::audit::{self, Change};
use crate::service::people::Directory;
use crate::service::upkeep::clock_watch::TOLERANCE;
use crate::service::work::blocking;
use crate::service::{Caller, Error, Result, Service, SlotGuard, Work};
use crate::store::agents::Agent;
use crate::store::groups::{self, Group};
use crate::store::people::{People, PeopleLock, Project};
use crate::store::{self, Tx};

/// A write of one group: its lock, its transaction and its state.
#[expect(clippy::struct_excessive_bools, reason = "each is one thing that the commit has to do")]
pub struct GroupTransaction {
    pub(super) service: Arc<Service>,
    caller: Caller,
    pub(super) slot: SlotGuard,
    pub(super) tx: Tx,
    pub(super) state: GroupState,
    /// The group's row as it was loaded; the commit writes what differs.
    pub(super) loaded: Group,
    /// Whether the state was changed: only a commit keeps it.
    pub(super) touched: bool,
    /// Whether rows besides the group's own were written.
    pub(super) written: AtomicBool,
    /// Histories that are still to be calculated.
    pub(super) histories: Option<Histories>,
    /// Shares that must be stored.
    pub(super) changed_shares: BTreeSet<Owner>,
    /// Whether the next picture shows other rows, though no share was changed.
    pub(super) rows_changed: bool,
    /// What this session makes of kernels; `None`: the picture does not have them, so the next one cannot either.
    pub(super) kernels: Option<Vec<live_kernels::Change>>,
    /// The lease under which a run writes.
    pub(super) work: Option<Work>,
    /// People that are stored, with the revision that they get.
    pub(super) people: Option<(PeopleLock, People)>,
    /// Projects of which newer starts are noted.
    pub(super) starts: Vec<Project>,
    /// Whether the group itself is removed.
    pub(super) deleted: bool,
    /// Whether another step follows at once, which needs what of the past this one had to read.
    pub has_more_steps: bool,
    /// Whether the group's configuration is another than before.
    pub(super) reconfigured: bool,
    pub now: Timestamp,
}

impl Service {
    /// Changes one group: everything that `change` does is kept or, if it fails, nothing.
    pub(in crate::service) async fn change<T>(
        self: Arc<Self>,
        caller: Caller,
        group: String,
        change: impl AsyncFnOnce(&mut GroupTransaction) -> Result<T>,
    ) -> Result<T> {
        Ok(GroupTransaction::open(&self, caller, &group).await?.conclude(change).await?.0)
    }

    /// [`Service::change`], and the group as the caller sees it then.
    pub(in crate::service) async fn change_and_see<T>(
        self: Arc<Self>,
        caller: Caller,
        group: String,
        change: impl AsyncFnOnce(&mut GroupTransaction) -> Result<T>,
    ) -> Result<(T, VisibleGroup)> {
        let session = GroupTransaction::open(&self, caller.clone(), &group).await?;
        let (value, picture) = session.conclude(change).await?;
        Ok((value, VisibleGroup::new(&caller, &group, || picture)?))
    }

    /// [`Service::change`] by a run, which keeps nothing if it has lost its lease.
    pub(in crate::service) async fn change_in_run<T>(
        self: Arc<Self>,
        work: Work,
        change: impl AsyncFnOnce(&mut GroupTransaction) -> Result<T>,
    ) -> Result<T> {
        let mut session = GroupTransaction::open(&self, Caller::job(), &work.group).await?;
        session.work = Some(work);
        Ok(session.conclude(change).await?.0)
    }

    /// What a change would do, which is not done.
    pub(in crate::service) async fn preview<T>(
        self: Arc<Self>,
        caller: Caller,
        group: String,
        change: impl AsyncFnOnce(&mut GroupTransaction) -> Result<T>,
    ) -> Result<T> {
        let mut session = GroupTransaction::open(&self, caller, &group).await?;
        let outcome = change(&mut session).await;
        session.release();
        outcome
    }
}

impl GroupTransaction {
    /// Opens a session; writers of one group wait for each other.
    async fn open(service: &Arc<Service>, caller: Caller, name: &str) -> Result<Self> {
        // Only groups that exist have a slot, whatever names requests invent.
        service.group(&caller, name)?;
        let slot = service.slot(name).lock_owned().await;
        let tx = service.store.begin().await?;
        Self::start(service, caller, name, slot, tx).await
    }

    /// Opens a session for reports that came in, in the task that holds the group's lock in this process.
    pub async fn for_reports(service: &Arc<Service>, name: &str, slot: SlotGuard) -> Result<Self> {
        service.published.get(name).ok_or_else(|| Error::unknown_group(name))?;
        let tx = service.store.begin().await?;
        let mut session = Self::start(service, Caller::job(), name, slot, tx).await?;
        session.state.group.reported_at = Some(session.now);
        Ok(session)
    }

    /// Opens a session of a group that is created if there is none. Returns whether the session creates it.
    pub async fn open_or_create(
        service: &Arc<Service>,
        caller: Caller,
        name: &str,
        scheduler: &str,
        opts: &Map<String, Value>,
    ) -> Result<(Self, bool)> {
        let slot = service.slot(name).lock_owned().await;
        let tx = service.store.begin().await?;
        let is_new = groups::create(&tx, name, scheduler, opts, service.clock.now()).await?;
        let mut session = Self::start(service, caller, name, slot, tx).await?;
        // The state of a group that is not committed must not be kept.
        session.touched = is_new;
        Ok((session, is_new))
    }

    async fn start(service: &Arc<Service>, caller: Caller, name: &str, mut slot: SlotGuard, tx: Tx) -> Result<Self> {
        let knows_kernels = service.published.get(name).is_some_and(|group| group.live.known_kernels().is_some());
        let now = service.clock.now();
        let patience = service.store.patience();
        if patience.is_some() {
            service.locked_elsewhere.check(name)?;
        }
        let locked = groups::lock(&tx, name, patience).await;
        service.locked_elsewhere.note(name, &locked);
        let Some(group) = locked? else { return Err(Error::unknown_group(name)) };
        let loaded = group.clone();
        let known = slot.take();
        if known.as_ref().is_some_and(|state| group.revisions().contradicts(&state.group.revisions())) {
            service.rewinds.note_group(name);
        }
        let state = match known {
            Some(mut state) if state.is_of(&group) => {
                state.catch_up(&tx, group).await?;
                state
            }
            _ => GroupState::load(&tx, &service.people, group).await?,
        };
        let mut session = Self {
            service: Arc::clone(service),
            caller,
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

    /// The group's name.
    /// The source of slot names that the caller of this session brings.
    pub fn slot_name_source(&self) -> SlotNameSource {
        self.caller.slot_name_source(self.group())
    }

    pub fn group(&self) -> &str {
        &self.state.group.name
    }

    /// The group, as the database has it in kernels and records.
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

    /// The transaction, to read in it.
    pub fn read(&self) -> &Tx {
        &self.tx
    }

    /// The transaction, to write in it: the session is committed for it.
    pub fn write(&self) -> &Tx {
        self.written.store(true, Ordering::Relaxed);
        &self.tx
    }

    /// The transaction and the state that it is to change.
    pub fn parts(&mut self) -> (&Tx, &mut GroupState) {
        self.touched = true;
        (&self.tx, &mut self.state)
    }

    /// Now, or the latest time that is certain to have come while the clock is doubted.
    fn certain_now(&self) -> Timestamp {
        self.service.certain(self.now)
    }

    pub fn service(&self) -> &Arc<Service> {
        &self.service
    }

    /// Sets or unsets the weight of an entity that the group knows.
    pub fn set_weight(&mut self, entity: &Owner, weight: Option<Weight>) {
        self.reconfigured |= self.state.hierarchy.share(entity).is_some_and(|share| share.weight != weight);
        self.state_mut().hierarchy.set_weight(entity, weight);
        self.changed_shares.insert(entity.clone());
    }

    /// Makes entities known to the group by `know`, which returns those that are new.
    pub fn know(&mut self, know: impl FnOnce(&mut GroupState) -> Vec<Owner>) {
        let new = know(self.state_mut());
        self.changed_shares.extend(new);
    }

    /// Stores every share, also those that are as they were in memory: what is stored may be damaged.
    pub fn store_all_shares(&mut self) {
        self.changed_shares = self.state.hierarchy.owners().collect();
    }

    /// Publishes all rows again, because names or domains that they show have changed.
    pub fn show_again(&mut self) {
        self.rows_changed = true;
    }

    /// Gives the group's configuration another revision.
    pub fn reconfigure(&mut self) {
        self.reconfigured = true;
        self.touched = true;
    }

    /// Refuses what was asked for on the grounds of another configuration than the group has.
    pub async fn require_revision(&mut self, seen: Option<&str>) -> Result<()> {
        let Some(seen) = seen else { return Ok(()) };
        self.learn_people().await?;
        let known = ConfigRevision::of(&self.state.group);
        if self.reconfigured { known.next() } else { known }.require(seen)
    }

    /// Replaces the agents of the group, whose rows the caller stores. The picture shows their capacity.
    pub fn set_agents(&mut self, agents: Vec<Agent>) {
        self.rows_changed = true;
        let same = |(old, new): (&Agent, &Agent)| Agent { updated_at: new.updated_at, ..old.clone() } == *new;
        let before = &self.state.agents;
        self.reconfigured |= before.len() != agents.len() || !before.iter().zip(&agents).all(same);
        self.state_mut().take_agents(agents);
    }

    /// Replaces the queues of the group, whose rows the caller stores.
    pub fn set_queues(&mut self, queues: Arc<Queues>) {
        self.reconfigured = true;
        let state = self.state_mut();
        state.queues = queues;
        state.group.queues_revision = state.group.queues_revision.next();
    }

    /// Counts the time since the last observation at the capacity that the group had (FAIR_SHARE §5).
    pub async fn observe_capacity(&mut self) -> Result<()> {
        let moment = self.moment();
        let limit = moment.certain.plus_micros(TOLERANCE);
        if self.state.group.capacity_observed_at.is_some_and(|until| until > limit) {
            // The clock was set back. No run has taken back yet what was observed of times that have not come.
            self.forget_capacities_ahead(moment.certain).await?;
        }
        self.touched = true;
        self.state.observe_capacity(&self.tx, moment).await
    }

    /// Forgets what was observed of the group's capacity for times after `now`, because a clock was ahead.
    pub async fn forget_capacities_ahead(&mut self, now: Timestamp) -> Result<()> {
        store::capacity::forget_after(self.write(), self.group(), now.day()).await?;
        let downtimes = self.service.downtimes(0);
        let state = self.state_mut();
        state.ledger.forget_capacities_after(now, &downtimes);
        state.group.capacity_observed_at = state.group.capacity_observed_at.map(|until| until.min(now));
        Ok(())
    }

    fn moment(&self) -> Moment {
        Moment { now: self.now, certain: self.certain_now(), started_at: self.service.started_at() }
    }

    /// Makes sure that every bucket whose capacity a change from `day` on may touch is in memory.
    pub async fn load_buckets_of(&mut self, day: Day) -> Result<()> {
        let loaded = self.state.load_buckets_of(&self.tx, day, self.now.day()).await;
        self.touched |= loaded.is_err();
        loaded
    }

    /// Makes sure that every bucket that usage of `day` may fall in, or push along, is in memory.
    pub async fn load_chains_of(&mut self, day: Day) -> Result<()> {
        self.load_back_to(self.state.options.window_start(self.now.day())).await?;
        let first = self.state.first_bucket_of(&self.tx, day).await?;
        if first >= self.state.ledger.loaded_from() {
            return Ok(());
        }
        // Buckets that are older than every record may be longer still.
        self.load_back_to(day.back(MAX_DECAY_UNIT_DAYS)).await
    }

    /// Stores how long kernels ran that this session has recorded to the end, and counts it for their owners.
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

    /// Calculates decayed usage again, where it may have changed (FAIR_SHARE §7). Factors follow with the commit.
    pub async fn recompute_histories(&mut self) -> Result<()> {
        self.begin_histories().await?;
        blocking(|| self.take_histories());
        Ok(())
    }

    /// The first half of [`Self::recompute_histories`]. The commit does the other half while it stores buckets.
    pub async fn begin_histories(&mut self) -> Result<()> {
        let now = self.certain_now();
        self.touched = true;
        // Nothing tells again what an earlier half has found.
        self.take_histories();
        let recount = !self.state.knows_run_times(self.state.options.window_start(now.day()));
        if recount {
            self.settle_run_times().await?;
        }
        let changed = self.state.prepare(&self.tx, now, recount).await?;
        self.changed_shares.extend(changed);
        self.histories = Some(blocking(|| self.state.begin_calculation(now)));
        Ok(())
    }

    /// The other half.
    pub(super) fn take_histories(&mut self) {
        let GroupState { ledger, hierarchy, options, .. } = &mut self.state;
        let changed = self.histories.take().map(|histories| histories.take(ledger, hierarchy, options));
        self.changed_shares.extend(changed.into_iter().flatten());
    }

    /// Stores what was noted of run times. What is stored of them is made anew first where it is not right.
    async fn settle_run_times(&mut self) -> Result<()> {
        self.save_ended().await?;
        if !self.state.group.run_times_made {
            // From all kernels that are kept: a later look-back may be longer.
            store::run_times::rebuild(&self.tx, self.key(), Day::MIN).await?;
            self.state.group.run_times_made = true;
        }
        Ok(())
    }

    /// Makes sure that buckets from `day` on are in memory.
    pub async fn load_back_to(&mut self, day: Day) -> Result<()> {
        let loaded = self.state.load_back_to(&self.tx, day).await;
        self.touched |= loaded.is_err();
        loaded
    }

    /// The directory of people, as this session may read it; its own changes are not in it before the commit.
    pub fn people(&self) -> RwLockReadGuard<'_, Directory> {
        self.service.people.read()
    }

    /// Takes what other processes have changed of people. Only before this session changes any.
    pub async fn learn_people(&mut self) -> Result<()> {
        self.service.people.sync(&self.tx).await?;
        self.follow_moves();
        Ok(())
    }

    /// Keeps other writers from changing people until the commit, and takes what they have changed before.
    pub async fn lock_people(&mut self) -> Result<PeopleLock> {
        let lock = self.service.people.lock(&self.tx).await?;
        self.follow_moves();
        Ok(lock)
    }

    /// Stores people. The directory has them from the commit on.
    pub async fn save_people(&mut self, lock: PeopleLock, people: People) -> Result<()> {
        store::people::save(self.write(), &people, lock).await?;
        self.people = Some((lock, people));
        Ok(())
    }

    /// Notes newer starts of projects, which the directory has from the commit on.
    pub fn note_starts(&mut self, projects: Vec<Project>) {
        self.starts = projects;
    }

    /// Puts projects that were moved elsewhere into their domains. From here on only a commit keeps the state.
    fn follow_moves(&mut self) {
        if self.state.follow(&self.service.people.read()) {
            self.touched = true;
            self.rows_changed = true;
            self.reconfigured = true;
        }
    }

    /// Lets kernels be read again, because the database has them otherwise than memory.
    pub fn forget_kernels(&mut self) {
        self.kernels = None;
        self.state_mut().take_unsettled();
    }

    /// Notes that the rows of the group itself are removed.
    pub fn delete(&mut self) {
        self.deleted = true;
    }

    /// Writes an entry about this session's change.
    pub async fn audit(&self, entry: Change) -> Result<()> {
        self.audit_as(&self.caller, entry).await
    }

    /// Writes an entry about a change of this session that `caller` has made.
    pub async fn audit_as(&self, caller: &Caller, entry: Change) -> Result<()> {
        audit::write(self.write(), caller, entry, Some(self.group()), self.now).await?;
        Ok(())
    }

    /// Writes an entry about a change of several things, to be found by the name of each. Returns its id.
    pub async fn audit_of(&self, entry: Change, targets: &[String]) -> Result<i64> {
        let id = audit::write(self.write(), &self.caller, entry, Some(self.group()), self.now).await?;
        store::audit_targets::add(self.write(), self.group(), id, targets).await?;
        Ok(id)
    }
}
