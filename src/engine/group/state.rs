//! The working state of one resource group.
//!
//! The database is the truth; the state is a cache of it that belongs to one revision. Writers work on the state, because
//! reading shares, buckets and kernels for every write would take longer than the write.
//!
//! One state per group and process exists, in the slot of the group. A transaction of the group takes it out of the slot,
//! reads it again if another process was faster, changes it, and puts it back after the commit. A state that was changed and
//! not committed is dropped. Readers never see the state: they use the snapshot that follows from it.
//!
//! Some fields are read when they are first needed, such as the kinds of slices and the kernels that runs still have to
//! record. `None` stands for "not read yet" there, never for "empty".
//!
//! Invariants:
//! - All fields belong to the revisions in the group's row.
//! - Sums over kernels (occupancy, demand, outstanding usage) follow every change of a kernel through
//!   [`GroupState::kernel_changed`].
//! - Every project is in the domain of the people directory as of `moves`.
//!
//! The rules are those of FAIR_SHARE §1 to §7.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::agent_slots::{capacity_of, slots_of};
use super::shared::CopyOnWrite;
use crate::domain::factor::DecayedHistory;
use crate::domain::fairness::PendingCounts;
use crate::domain::hierarchy::{Hierarchy, Share};
use crate::domain::ids::{KernelKey, Member, Owner, ProjectId, UserId};
use crate::domain::kernel::{ChangedKernels, Kernel, KernelPhase, OpenKernel, SharedKernelValues};
use crate::domain::ledger::Ledger;
use crate::domain::maps::{SharedMap, get_or_default};
use crate::domain::options::FairShareOptions;
use crate::domain::outstanding::{ENDED_KERNEL_MICROS, OutstandingKernels};
use crate::domain::queues::QueueConfigs;
use crate::domain::queues::{DemandPortion, QueueDemand};
use crate::domain::run_times::RunTimes;
use crate::domain::sequencer::Sequencer;
use crate::domain::share_tree::WeighingTerms;
use crate::domain::slots::{SlotAmounts, SlotName, SlotUsages};
use crate::domain::time::{Day, MICROS_PER_SECOND, Timestamp};
use crate::engine::error::{Error, Result};
use crate::engine::people::{CurrentDirectory, PeopleDirectory};
use crate::store;
use crate::store::agents::StoredAgent;
use crate::store::groups::StoredGroup;
use crate::store::run_times::RunTimesByDay;
use crate::store::slice_kinds::SliceKinds;
use crate::store::{ConnectionTrait, StreamTrait};

/// The slots that each user's running kernels occupy. Kept as the usage of one second, because sums of amounts would
/// saturate.
pub type UserOccupancy = SharedMap<UserId, SlotUsages>;

/// The addition of one kernel to [`UserOccupancy`].
fn occupied_slots(slots: &SlotAmounts) -> SlotUsages {
    slots.for_micros(MICROS_PER_SECOND.unsigned_abs())
}

/// Adds a running kernel of the user.
pub fn add_occupied(occupancy: &mut UserOccupancy, user: UserId, slots: &SlotAmounts) {
    get_or_default(occupancy, &user).add(&occupied_slots(slots));
}

/// The most open kernels that stay in memory between runs. Beyond that number they are read again.
pub const MAX_OPEN_IN_MEMORY: usize = 100_000;

/// The conditions of the last calculation of factors.
#[derive(Clone, Debug, PartialEq)]
pub struct LastCalculation {
    pub at: Timestamp,
    pub lookback_start: Day,
    pub lookback_end: Day,
    pub options: FairShareOptions,
}

/// All data of one group that its use-cases need, as of one revision.
#[derive(Clone, Debug)]
pub struct GroupState {
    pub group: StoredGroup,
    pub scheduler: Sequencer,
    pub options: FairShareOptions,
    pub calculation: Option<LastCalculation>,
    pub agents: Arc<[StoredAgent]>,
    /// The sum over the agents that are alive and schedulable.
    pub capacity: SlotAmounts,
    /// The slots that any agent has, in service or not.
    pub agent_slots: Arc<[SlotName]>,
    pub hierarchy: CopyOnWrite<Hierarchy>,
    pub ledger: CopyOnWrite<Ledger>,
    /// True once histories have their normalised days; false before the first calculation since the state was read.
    pub has_normalized_days: bool,
    /// The number of moves of projects between domains that the hierarchy has followed.
    moves: u64,
    /// The number of moves when a run last looked for usage of the placeholder domain; `None`: not since the state was read.
    pub placed_at: Option<u64>,
    /// As configured by admins.
    pub queues: Arc<QueueConfigs>,
    /// The slots that each user's running kernels occupy.
    pub occupancy: UserOccupancy,
    /// The amounts that running and pending kernels hold and ask for, by queue.
    pub demand: Arc<QueueDemand>,
    /// The usage that no run has recorded yet, and the usage that running kernels are expected to add.
    pub outstanding: OutstandingKernels,
    /// The owners of pending kernels.
    pub asking: PendingCounts,
    /// Grows whenever the set of active users may have changed for another reason than recorded usage.
    pub active_changes: u64,
    /// The run times of kernels that this transaction has recorded to the end, or takes back.
    ended: RunTimesByDay,
    /// The kernels that runs still have to record; read when first needed.
    unsettled: Option<BTreeMap<KernelKey, OpenKernel>>,
    /// The kinds of slices, numbered; read when first needed.
    kinds: Option<SliceKinds>,
    /// The longest stored bucket, in days; read when first needed.
    longest_bucket: Option<u32>,
    /// Values that many kernels share, stored once.
    common: SharedKernelValues,
}

impl GroupState {
    /// Reads the state of `group`, and the people who are new.
    pub async fn load(
        db: &(impl ConnectionTrait + StreamTrait),
        people: &CurrentDirectory,
        group: StoredGroup,
    ) -> Result<Self> {
        people.sync(db).await?;
        Self::as_of(db, people, group).await
    }

    /// [`GroupState::load`] as of the moment of `people`. Buckets are read only when needed, because ranks follow from the
    /// stored shares.
    pub async fn as_of(
        db: &(impl ConnectionTrait + StreamTrait),
        people: &CurrentDirectory,
        group: StoredGroup,
    ) -> Result<Self> {
        let name = group.name.clone();
        let options = parse_options(&group)?;
        let scheduler = Sequencer::by_name(&group.scheduler)
            .ok_or_else(|| Error::internal(format!("group {name} has the unknown scheduler {}", group.scheduler)))?;
        let moves = people.read().moves();
        let shares = store::shares::load(db, &group, |id| domain_of(&people.read(), id)).await?;
        let calendar = store::capacity::load(db, &name).await?;
        let agents = store::agents::list(db, &name).await?;
        let queues = Arc::new(store::queues::list(db, &name).await?);
        let mut state = Self {
            calculation: calculation(&group)?,
            capacity: capacity_of(&agents),
            agent_slots: slots_of(&agents),
            group,
            scheduler,
            options,
            agents: agents.into(),
            hierarchy: CopyOnWrite::default(),
            ledger: CopyOnWrite::new(Ledger::new(calendar, Day::MAX)),
            has_normalized_days: false,
            moves,
            placed_at: None,
            queues,
            occupancy: UserOccupancy::default(),
            demand: Arc::default(),
            outstanding: OutstandingKernels::default(),
            asking: PendingCounts::default(),
            active_changes: 0,
            ended: RunTimesByDay::new(),
            unsettled: None,
            kinds: None,
            longest_bucket: None,
            common: SharedKernelValues::default(),
        };
        state.load_kernels(db, None).await?;
        state.hierarchy = CopyOnWrite::new(shares.await?);
        // A project may have moved here while the group had no row of its domain.
        let domains: Vec<Arc<str>> =
            state.hierarchy.projects().values().map(|(domain, _)| Arc::clone(domain)).collect();
        for domain in domains {
            state.know_domain(&domain);
        }
        Ok(state)
    }

    /// Copies the state for a simulation, which changes it and stores nothing. Histories and buckets are copied once either
    /// side changes them.
    pub fn fork(&self) -> Self {
        Self {
            group: self.group.clone(),
            scheduler: self.scheduler,
            options: self.options.clone(),
            calculation: self.calculation.clone(),
            agents: Arc::clone(&self.agents),
            capacity: self.capacity.clone(),
            agent_slots: Arc::clone(&self.agent_slots),
            hierarchy: self.hierarchy.clone(),
            ledger: self.ledger.clone(),
            moves: self.moves,
            placed_at: self.placed_at,
            queues: Arc::clone(&self.queues),
            occupancy: self.occupancy.clone(),
            demand: Arc::clone(&self.demand),
            outstanding: self.outstanding.clone(),
            has_normalized_days: self.has_normalized_days,
            asking: self.asking.clone(),
            active_changes: self.active_changes,
            ended: RunTimesByDay::new(),
            unsettled: None,
            kinds: None,
            longest_bucket: None,
            common: SharedKernelValues::default(),
        }
    }

    /// The terms by which shares are weighed now.
    pub fn weighing_terms(&self) -> WeighingTerms {
        WeighingTerms { default_weight: self.options.default_weight, rule: self.scheduler.share_rule() }
    }

    /// True if projects have moved that the state still has in their old domains.
    pub fn is_behind(&self, people: &PeopleDirectory) -> bool {
        self.moves != people.moves()
    }

    /// Moves projects that have moved, in this process or another one, into their domains. Returns true if there was one.
    pub fn apply_people(&mut self, people: &PeopleDirectory) -> bool {
        if !self.is_behind(people) {
            return false;
        }
        self.moves = people.moves();
        let moved = self.hierarchy.projects().iter().filter_map(|(id, (domain, _))| {
            let now_in = domain_of(people, *id).filter(|now_in| now_in != domain)?;
            Some((*id, now_in))
        });
        let moved: Vec<_> = moved.collect();
        for (id, domain) in &moved {
            self.know_project(*id, domain);
        }
        !moved.is_empty()
    }

    /// True if shares, options, capacities and names are as of `stored`, and `stored` is not a later group of this name.
    pub fn is_of(&self, stored: &StoredGroup) -> bool {
        self.group.shares_revision == stored.shares_revision && self.group.created_at == stored.created_at
    }

    /// Takes the group's row as stored, and reads the queues and kernels again that another process has changed.
    pub async fn catch_up(&mut self, db: &(impl ConnectionTrait + StreamTrait), group: StoredGroup) -> Result<()> {
        let known = std::mem::replace(&mut self.group, group);
        if known.queues_revision != self.group.queues_revision {
            self.queues = Arc::new(store::queues::list(db, &self.group.name).await?);
        }
        if known.kernels_revision != self.group.kernels_revision {
            // Another process may have added kinds.
            self.kinds = self.kinds.take().filter(|kinds| kinds.last() == self.group.kinds_made);
            self.load_kernels(db, known.recorded_until).await?;
        }
        Ok(())
    }

    /// Reads the amounts that kernels hold and ask for, the number of kernels that runs still have to record, and the
    /// kernels that ended lately. `known_until` is the time until which the state knew the records.
    async fn load_kernels(
        &mut self,
        db: &(impl ConnectionTrait + StreamTrait),
        known_until: Option<Timestamp>,
    ) -> Result<()> {
        let mut occupancy = UserOccupancy::default();
        let mut demand = QueueDemand::default();
        let mut outstanding = OutstandingKernels::recorded(self.group.recorded_until);
        let mut asking = PendingCounts::default();
        store::live_kernels::load_portions(
            db,
            self.group.key,
            self.group.recorded_until,
            |user, portion, unsettled| {
                if portion.phase == KernelPhase::Running {
                    add_occupied(&mut occupancy, user, portion.slots);
                }
                if portion.phase == KernelPhase::Pending {
                    asking.add(Member { user, project: portion.project });
                }
                demand.add(portion);
                if let Some(kernel) = unsettled {
                    outstanding.put(&kernel);
                }
            },
        )
        .await?;
        if let Some(until) = self.group.recorded_until {
            outstanding.remember(&self.outstanding, until);
            let since = until.plus_micros(-ENDED_KERNEL_MICROS).max(known_until.unwrap_or(Timestamp::EPOCH));
            for (id, end) in store::live_kernels::ended_since(db, self.group.key, since).await? {
                outstanding.settled(id, end);
            }
        }
        self.occupancy = occupancy;
        self.demand = Arc::new(demand);
        // Where no kernel is open, none has to be read before the next run.
        self.unsettled = (outstanding.count() == 0).then(BTreeMap::new);
        self.take_outstanding(outstanding);
        self.asking = asking;
        Ok(())
    }

    /// Replaces the outstanding usage.
    pub fn take_outstanding(&mut self, outstanding: OutstandingKernels) {
        self.outstanding = outstanding;
        self.active_changes += 1;
    }

    /// Takes out the kernels that runs still have to record; `None`: they have to be read.
    pub fn take_unsettled(&mut self) -> Option<BTreeMap<KernelKey, OpenKernel>> {
        self.unsettled.take()
    }

    /// Keeps the kernels that the next run has to look at, unless there are more than [`MAX_OPEN_IN_MEMORY`].
    pub fn keep_unsettled(&mut self, kernels: Option<BTreeMap<KernelKey, OpenKernel>>) {
        self.unsettled = kernels.filter(|k| k.len() <= MAX_OPEN_IN_MEMORY);
    }

    /// Takes out the kinds of slices, for a run that adds to them.
    pub async fn take_kinds(&mut self, db: &impl ConnectionTrait) -> Result<SliceKinds> {
        match self.kinds.take() {
            Some(kinds) => Ok(kinds),
            None => Ok(SliceKinds::load(db, self.group.key, self.group.kinds_made).await?),
        }
    }

    pub fn keep_kinds(&mut self, kinds: SliceKinds) {
        self.group.kinds_made = kinds.last();
        self.kinds = Some(kinds);
    }

    /// The first day whose usage can be summed again: from its records, or from its day totals where the records are purged.
    /// `None`: every day can.
    pub fn known_from(&self) -> Option<Day> {
        if self.group.day_totals_made { self.group.totals_from } else { self.group.records_from }
    }

    /// Notes that buckets and day totals of days before `day` are removed.
    pub fn removed_days_before(&mut self, day: Day) {
        self.group.totals_from = self.group.totals_from.max(Some(day));
    }

    /// Notes that records of days before `day` do not count any more.
    pub fn purged_before(&mut self, day: Day) {
        self.group.records_from = Some(day);
        if let Some(kinds) = &mut self.kinds {
            kinds.forget_before(day);
        }
    }

    /// The first day whose run times count, as of the last calculation.
    pub fn run_times_from(&self) -> Option<Day> {
        self.calculation.as_ref().map(|calculation| calculation.lookback_start)
    }

    /// Notes the run time of a kernel that ended on `day`.
    pub fn ended(&mut self, owner: Member, day: Day, times: RunTimes) {
        *self.ended.entry((day, owner)).or_default() += times;
    }

    /// Takes out the run times that were noted since they were last stored.
    pub fn take_ended(&mut self) -> RunTimesByDay {
        let mut ended = std::mem::take(&mut self.ended);
        ended.retain(|_, times| !times.is_zero());
        ended
    }

    /// Gives new kernels their keys.
    pub fn number_kernels(&mut self, kernels: &mut ChangedKernels) {
        for (_, kernel) in kernels.iter_mut().filter(|(_, kernel)| kernel.key.is_none()) {
            self.group.kernels_made += 1;
            kernel.key = Some(self.group.key.kernel(self.group.kernels_made));
        }
    }

    /// Notes the change of a kernel by an ingest. `new` is `None` if the kernel turned out to be another group's.
    pub fn kernel_changed(&mut self, old: Option<&Kernel>, new: Option<&Kernel>) {
        let Some(kernel) = new.or(old) else { return };
        let (key, owner) = (kernel.key, kernel.report.owner);
        let mut unsettled = new.and_then(|new| OpenKernel::of(new, &mut self.common));
        if let (Some(known), Some(key)) = (&mut self.unsettled, key) {
            let before = known.remove(&key);
            if let Some(kernel) = &mut unsettled {
                kernel.in_step = before.is_some_and(|k| k.in_step);
                known.insert(key, kernel.clone());
            }
            if known.len() > MAX_OPEN_IN_MEMORY {
                self.unsettled = None;
            }
        }
        self.note_activity(old, new, unsettled.as_ref());
        let (before, now) = (old.and_then(Kernel::run_times), new.and_then(Kernel::run_times));
        if before != now {
            if let Some((day, times)) = before {
                self.ended(owner, day, -times);
            }
            if let Some((day, times)) = now {
                self.ended(owner, day, times);
            }
        }
        let demand = Arc::make_mut(&mut self.demand);
        if let Some(old) = old {
            demand.remove(DemandPortion::of(old));
        }
        if let Some(new) = new {
            demand.add(DemandPortion::of(new));
        }
        if let Some(old) = old.filter(|k| k.report.phase == KernelPhase::Running)
            && let Some(sum) = self.occupancy.get_mut(&old.report.owner.user)
        {
            sum.subtract(&occupied_slots(&old.report.slots));
        }
        if let Some(new) = new.filter(|k| k.report.phase == KernelPhase::Running) {
            add_occupied(&mut self.occupancy, new.report.owner.user, &new.report.slots);
        }
    }

    /// Notes the amounts that the owner of a kernel now holds and asks for.
    fn note_activity(&mut self, old: Option<&Kernel>, new: Option<&Kernel>, unsettled: Option<&OpenKernel>) {
        let Some(kernel) = new.or(old) else { return };
        let owner = kernel.report.owner;
        let is_active = |state: &Self| state.outstanding.holds(owner) || state.asking.waits(owner);
        let before = is_active(self);
        match new {
            Some(new) => self.outstanding.changed(new, unsettled),
            None => self.outstanding.forget(kernel),
        }
        let waits = |kernel: Option<&Kernel>| kernel.is_some_and(|kernel| kernel.report.phase == KernelPhase::Pending);
        if waits(old) {
            self.asking.remove(owner);
        }
        if waits(new) {
            self.asking.add(owner);
        }
        if before != is_active(self) {
            let used = |share: &Share| !share.history.total_decayed_usage.is_empty();
            self.active_changes += u64::from(!self.hierarchy.users().get(&owner).is_some_and(used));
        }
    }

    /// Loads the buckets from `day` on.
    pub async fn load_back_to(&mut self, db: &(impl ConnectionTrait + StreamTrait), day: Day) -> Result<()> {
        let known_from = self.ledger.loaded_from();
        if day < known_from {
            self.ledger.reach_back(day);
            store::buckets::load(db, &self.group.name, &mut self.ledger, Some(known_from)).await?;
        }
        Ok(())
    }

    /// The first day of the oldest bucket that may take usage of `day`. A change of the bucket length rebuilds buckets only
    /// where all their records exist; a bucket with purged records keeps the length of its time.
    pub async fn first_bucket_of(&mut self, db: &impl ConnectionTrait, day: Day) -> Result<Day> {
        let mut days = self.options.decay_unit_days;
        if let Some(from) = self.group.records_from {
            let longest = match self.longest_bucket {
                Some(longest) => longest,
                None => *self.longest_bucket.insert(store::buckets::longest_bucket_days(db, &self.group.name).await?),
            };
            if day < from.plus(longest.cast_signed()) {
                days = days.max(longest);
            }
        }
        Ok(day.plus(1 - days.cast_signed()))
    }

    /// Forgets the longest bucket, because buckets of another length are about to be made.
    pub fn forget_longest_bucket(&mut self) {
        self.longest_bucket = None;
    }

    /// Replaces the agents, the capacity and the slots.
    pub fn take_agents(&mut self, agents: Vec<StoredAgent>) {
        self.capacity = capacity_of(&agents);
        self.agent_slots = slots_of(&agents);
        self.agents = agents.into();
    }

    /// Registers a domain in the group. Returns the owners that are new.
    pub fn know_domain(&mut self, domain: &Arc<str>) -> Vec<Owner> {
        if self.hierarchy.domains().contains_key(domain) {
            return Vec::new();
        }
        self.hierarchy.put_domain(domain, Share::new(None, DecayedHistory::default()));
        self.ledger.doubt(Owner::Domain(Arc::clone(domain)));
        vec![Owner::Domain(Arc::clone(domain))]
    }

    /// Registers a project in its domain, and moves it if it was in another one. Returns the owners that are new.
    pub fn know_project(&mut self, project: ProjectId, domain: &Arc<str>) -> Vec<Owner> {
        let mut new = self.know_domain(domain);
        if self.hierarchy.projects().contains_key(&project) {
            self.hierarchy.move_project(project, domain);
        } else {
            self.hierarchy.put_project(project, domain, Share::new(None, DecayedHistory::default()));
            self.ledger.doubt(Owner::Project(project));
            new.push(Owner::Project(project));
        }
        new
    }

    /// Registers a member, its project and its domain. Returns the owners that are new.
    pub fn know_member(&mut self, member: Member, domain: &Arc<str>) -> Vec<Owner> {
        let mut new = self.know_project(member.project, domain);
        if !self.hierarchy.users().contains_key(&member) {
            self.hierarchy.put_user(member, Share::new(None, DecayedHistory::default()));
            self.ledger.doubt(Owner::User(member));
            new.push(Owner::User(member));
        }
        new
    }
}

fn parse_options(group: &StoredGroup) -> Result<FairShareOptions> {
    FairShareOptions::parse_stored(&group.scheduler_opts)
        .map_err(|e| Error::internal(format!("stored options of {}: {e:?}", group.name)))
}

fn calculation(group: &StoredGroup) -> Result<Option<LastCalculation>> {
    let (Some(at), Some(with)) = (group.calculated_at, &group.calculated_with) else { return Ok(None) };
    let options = FairShareOptions::parse_stored(with)
        .map_err(|e| Error::internal(format!("stored calculation of {}: {e:?}", group.name)))?;
    Ok(Some(LastCalculation { at, lookback_start: options.window_start(at.day()), lookback_end: at.day(), options }))
}

fn domain_of(people: &PeopleDirectory, id: ProjectId) -> Option<Arc<str>> {
    people.project(id).map(|project| Arc::clone(&project.domain_name))
}
