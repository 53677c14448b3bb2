//! The session in which a use-case changes one resource group: it takes the group's lock in the database, brings the
//! state up to date if another process was faster, and either commits everything or leaves no trace.

use std::collections::BTreeSet;
use std::sync::{Arc, RwLockReadGuard};

use futures::future::join;
use serde_json::{Map, Value};

use super::live_kernels::{self, LiveKernels};
use super::published::PublishedGroup;
use super::state::{GroupState, window_start};
use crate::domain::hierarchy::{Hierarchy, Ranking};
use crate::domain::ids::Owner;
use crate::domain::kernel::Kernel;
use crate::domain::options::MAX_DECAY_UNIT_DAYS;
use crate::domain::queues::Queues;
use crate::domain::time::{Day, Span, Timestamp};
use crate::service::division::Live;
use crate::service::input::error::{Error, Result};
use crate::service::people::Directory;
use crate::service::work::blocking;
use crate::service::{Caller, Service, SlotGuard, Work, audit};
use crate::store::people::{People, Project};
use crate::store::{self, Tx, groups};

const KERNELS_BETWEEN_YIELDS: usize = 200;

/// A write of one group: its lock, its transaction and its state.
pub struct Session {
    service: Arc<Service>,
    slot: SlotGuard,
    state: Option<GroupState>,
    tx: Option<Tx>,
    touched: bool,
    shares_changed: bool,
    changed_shares: BTreeSet<Owner>,
    update: groups::Update,
    /// What this session makes of kernels; `None`: the picture does not have them, so the next one cannot either.
    kernels: Option<Vec<live_kernels::Change>>,
    /// The lease under which a run writes.
    work: Option<Work>,
    /// The revision that this session's changes of people get.
    people_revision: Option<i64>,
    people: People,
    /// Projects of which newer starts are noted.
    starts: Vec<Project>,
    pub now: Timestamp,
}

impl Session {
    /// Opens a session; writers of one group wait for each other.
    pub async fn open(service: &Arc<Service>, caller: &Caller, name: &str) -> Result<Self> {
        // Only groups that exist have a slot, whatever names requests invent.
        service.group(caller, name)?;
        let slot = service.slot(name).lock_owned().await;
        Self::begin(service, name, slot, false).await
    }

    /// Opens a session for whoever holds the group's lock in this process; `reporting`: because reports came in.
    pub async fn begin(service: &Arc<Service>, name: &str, slot: SlotGuard, reporting: bool) -> Result<Self> {
        service.published.get(name).ok_or_else(|| Error::unknown_group(name))?;
        let tx = service.store.begin().await?;
        Self::start(service, name, slot, tx, reporting).await
    }

    /// Opens a session of a group that is created if there is none. Returns whether the session creates it.
    pub async fn open_or_create(
        service: &Arc<Service>,
        name: &str,
        scheduler: &str,
        opts: &Map<String, Value>,
    ) -> Result<(Self, bool)> {
        let slot = service.slot(name).lock_owned().await;
        let tx = service.store.begin().await?;
        let is_new = groups::create(&tx, name, scheduler, opts, service.clock.now()).await?;
        let mut session = Self::start(service, name, slot, tx, false).await?;
        // The state of a group that is not committed must not be kept.
        session.touched = is_new;
        Ok((session, is_new))
    }

    async fn start(service: &Arc<Service>, name: &str, slot: SlotGuard, tx: Tx, reporting: bool) -> Result<Self> {
        let knows_kernels = service.published.get(name).is_some_and(|group| group.live.known_kernels().is_some());
        let mut session = Self {
            tx: Some(tx),
            service: Arc::clone(service),
            slot,
            state: None,
            touched: false,
            shares_changed: false,
            changed_shares: BTreeSet::new(),
            update: groups::Update::default(),
            kernels: knows_kernels.then(Vec::new),
            work: None,
            people_revision: None,
            people: People::default(),
            starts: Vec::new(),
            now: service.clock.now(),
        };
        let reported_at = reporting.then_some(session.now);
        let Some(group) = groups::lock_and_note(session.tx(), name, reported_at).await? else {
            return Err(Error::unknown_group(name));
        };
        session.state = Some(match session.slot.take() {
            Some(mut state) if state.is_of(&group) => {
                state.catch_up(session.tx(), group, 1).await?;
                state
            }
            _ => GroupState::load(session.tx(), &service.people, group, session.now.day()).await?,
        });
        session.follow_moves();
        Ok(session)
    }

    /// Opens the session of a run, which keeps nothing if it has lost its lease.
    pub async fn for_run(service: &Arc<Service>, work: &Work) -> Result<Self> {
        let mut session = Self::open(service, &Caller::job(), &work.group).await?;
        session.work = Some(work.clone());
        Ok(session)
    }

    pub fn state(&self) -> &GroupState {
        self.state.as_ref().unwrap_or_else(|| unreachable!("a session has a state from open to commit"))
    }

    /// The state, to be changed; from here on only a commit keeps it.
    pub fn state_mut(&mut self) -> &mut GroupState {
        self.touched = true;
        self.state.as_mut().unwrap_or_else(|| unreachable!("a session has a state from open to commit"))
    }

    pub fn tx(&self) -> &Tx {
        self.tx.as_ref().unwrap_or_else(|| unreachable!("a session has a transaction from open to commit"))
    }

    /// The transaction and the state that it is to change.
    pub fn parts(&mut self) -> (&Tx, &mut GroupState) {
        self.touched = true;
        match (&self.tx, &mut self.state) {
            (Some(tx), Some(state)) => (tx, state),
            _ => unreachable!("a session has both from open to commit"),
        }
    }

    /// Now, or the latest time that is certain to have come while the clock is doubted.
    fn certain_now(&self) -> Timestamp {
        self.service.clock.doubt().map_or(self.now, |doubt| doubt.reference)
    }

    pub fn service(&self) -> &Arc<Service> {
        &self.service
    }

    /// What will change in the group's own row.
    pub fn update(&mut self) -> &mut groups::Update {
        self.shares_changed = true;
        &mut self.update
    }

    /// Marks shares that must be stored.
    pub fn share_changed(&mut self, entities: impl IntoIterator<Item = Owner>) {
        self.changed_shares.extend(entities);
        self.shares_changed = true;
    }

    /// Replaces the queues of the group; their rows are stored by whoever asks.
    pub async fn set_queues(&mut self, queues: Arc<Queues>) -> Result<()> {
        let now = self.now;
        let state = self.state_mut();
        state.queues = queues;
        state.group.queues_revision += 1;
        let group = &self.state().group;
        Ok(groups::set_queues_revision(self.tx(), &group.name, group.queues_revision, now).await?)
    }

    /// Notes what reports of `seen_at` made of kernels: what was known of each, and what is known now.
    pub async fn kernels_changed(&mut self, changed: &[(Option<Kernel>, Kernel)], seen_at: Timestamp) -> Result<()> {
        if changed.is_empty() {
            return Ok(());
        }
        self.touched = true;
        let (Some(tx), Some(state)) = (&self.tx, &mut self.state) else {
            unreachable!("a session has both from open to commit")
        };
        let (group, noted) = (state.group.name.clone(), &mut self.kernels);
        let note = async {
            for part in changed.chunks(KERNELS_BETWEEN_YIELDS) {
                for (old, new) in part {
                    state.kernel_changed(old.as_ref(), new);
                }
                if let Some(noted) = noted {
                    noted.extend(part.iter().map(|(_, new)| live_kernels::change(new)));
                }
                tokio::task::yield_now().await;
            }
        };
        // The state takes the kernels while the database takes their cursors.
        let (saved, ()) = join(store::kernels::save_cursors(tx, &group, changed, seen_at), note).await;
        Ok(saved?)
    }

    /// Counts the time since the last observation at the capacity that the group had (§5). A group
    /// that has no agents observes nothing; its time passes all the same.
    pub async fn observe_capacity(&mut self) -> Result<()> {
        let (now, started_at) = (self.certain_now(), self.service.started_at());
        let state = self.state();
        let since = state.group.capacity_observed_at;
        if !state.agents.is_empty() {
            let span = since.and_then(|t| Span::new(started_at.map_or(t, |s| t.max(s)), now));
            let first_change = span.map_or(now, |s| s.start).day();
            self.load_buckets_of(first_change).await?;
            let state = self.state_mut();
            let capacity = state.capacity.clone();
            state.ledger.observe_capacity(span, now.day(), &capacity);
        }
        let observed_at = since.map_or(now, |t| t.max(now));
        self.state_mut().group.capacity_observed_at = Some(observed_at);
        self.update().capacity_observed_at = Some(observed_at);
        Ok(())
    }

    /// Makes sure that every bucket whose capacity a change from `day` on may touch is in memory. The
    /// first capacity that a group ever knows reaches all its buckets.
    pub async fn load_buckets_of(&mut self, day: Day) -> Result<()> {
        let state = self.state();
        let first = match state.ledger.calendar().days().next() {
            Some(_) => day.plus(1 - state.options.decay_unit_days.cast_signed()),
            None => Day::MIN,
        };
        self.load_back_to(first).await
    }

    /// Makes sure that every bucket that usage of `day` may fall in, or push along, is in memory.
    pub async fn load_chains_of(&mut self, day: Day) -> Result<()> {
        let state = self.state();
        let unit = state.options.decay_unit_days.cast_signed();
        if day.plus(1 - unit) >= state.ledger.loaded_from() {
            return Ok(());
        }
        // Buckets that are older than every record may be longer than the option says today.
        self.load_back_to(day.plus(-MAX_DECAY_UNIT_DAYS.cast_signed())).await
    }

    /// Recomputes decayed usage, factors and ranks of everybody (§7).
    pub async fn recompute_histories(&mut self) -> Result<()> {
        let now = self.certain_now();
        // A clock that jumped back, or a longer look-back, sees older buckets again.
        let from = window_start(&self.state().options, now.day());
        self.load_back_to(from).await?;
        let state = self.state_mut();
        let changed = blocking(|| {
            state.ledger.settle_capacities();
            state.recompute_histories(now)
        });
        let with = state.options.to_json();
        self.share_changed(changed);
        self.update().calculated = Some((now, with));
        Ok(())
    }

    /// Makes sure that buckets from `day` on are in memory.
    pub async fn load_back_to(&mut self, day: Day) -> Result<()> {
        let Some(mut state) = self.state.take() else { return Ok(()) };
        let loaded = state.load_back_to(self.tx(), day).await;
        self.touched |= loaded.is_err();
        self.state = Some(state);
        loaded
    }

    /// The directory of people, as this session may read it; its own changes are not in it before the commit.
    pub fn people(&self) -> RwLockReadGuard<'_, Directory> {
        self.service.people.read()
    }

    /// Takes what other processes have changed of people. Only before this session changes any.
    pub async fn learn_people(&mut self) -> Result<()> {
        self.service.people.sync(self.tx()).await?;
        self.follow_moves();
        Ok(())
    }

    /// Keeps everybody else from changing people until the commit, and knows what they have changed before.
    pub async fn lock_people(&mut self) -> Result<()> {
        if self.people_revision.is_none() {
            self.people_revision = Some(self.service.people.lock(self.tx()).await?);
            self.follow_moves();
        }
        Ok(())
    }

    /// Stores people, after [`Session::lock_people`]. The directory has them from the commit on.
    pub async fn save_people(&mut self, people: People) -> Result<()> {
        let revision = self.people_revision.unwrap_or_else(|| unreachable!("people are locked before they are saved"));
        store::people::save(self.tx(), &people, revision).await?;
        self.people = people;
        Ok(())
    }

    /// Notes newer starts of projects, which the directory has from the commit on.
    pub fn note_starts(&mut self, projects: Vec<Project>) {
        self.starts = projects;
    }

    /// Puts projects that were moved elsewhere into their domains. From here on only a commit keeps the state.
    fn follow_moves(&mut self) {
        let people = self.service.people.read();
        if self.state.as_mut().is_some_and(|state| state.follow(&people)) {
            self.touched = true;
            self.shares_changed = true;
        }
    }

    /// Commits the removal of the group itself.
    pub async fn commit_deleted(mut self) -> Result<()> {
        let Some(state) = self.state.take() else { return Ok(()) };
        if let Some(tx) = self.tx.take() {
            tx.commit().await.map_err(store::StoreError::from)?;
        }
        self.service.published.remove(&state.group.name);
        Ok(())
    }

    /// Writes an entry about this session's change.
    pub async fn audit(&mut self, entry: audit::Change<'_>) -> Result<()> {
        let group = self.state().group.name.clone();
        audit::write(self.tx(), entry, Some(&group), self.now).await
    }

    /// Ends a session that changes nothing. Readers then see all that the session saw, also what another process wrote.
    pub async fn unchanged(self) -> Result<Arc<PublishedGroup>> {
        let group = &self.state().group;
        let seen = groups::Revisions {
            created_at: group.created_at,
            shares: group.shares_revision,
            // The session's lock has raised it by one.
            kernels: group.kernels_revision - 1,
        };
        match self.service.published.get(&group.name).filter(|shown| shown.revisions() == seen) {
            Some(shown) => Ok(shown),
            None => self.commit().await,
        }
    }

    /// Stores what changed, commits, and publishes.
    pub async fn commit(mut self) -> Result<Arc<PublishedGroup>> {
        let now = self.now;
        let mut state = self.state.take().unwrap_or_else(|| unreachable!("a session commits once"));
        let name = state.group.name.clone();
        let ledger_changes = state.ledger.take_changes();
        if !ledger_changes.is_empty() {
            self.shares_changed = true;
            store::buckets::delete(self.tx(), &name, &ledger_changes.deletes).await?;
            store::buckets::save(self.tx(), &name, &state.ledger, &ledger_changes.upserts, now).await?;
            store::capacity::save(self.tx(), &name, state.ledger.calendar(), &ledger_changes.capacity_days).await?;
        }
        let mut ranking = None;
        if self.shares_changed {
            ranking = Some(self.save_shares(&mut state).await?);
            state.group.shares_revision += 1;
            let update = std::mem::take(&mut self.update);
            groups::update(self.tx(), &name, update, state.group.shares_revision, now).await?;
        }
        if let Some(work) = &self.work {
            work.check_fence(self.tx()).await?;
        }
        // From here on the database decides; on failure the slot stays empty and the next session
        // reads the truth.
        if let Some(tx) = self.tx.take() {
            tx.commit().await.map_err(store::StoreError::from)?;
        }
        if let Some(revision) = self.people_revision {
            self.service.people.committed(std::mem::take(&mut self.people), revision);
        }
        let people = &self.service.people;
        people.starts_noted(std::mem::take(&mut self.starts));
        let same_group = |group: &Arc<PublishedGroup>| group.created_at == state.group.created_at;
        let before = self.service.published.get(&name).filter(same_group);
        let mut published = match (&ranking, &before) {
            (Some(ranking), _) => blocking(|| PublishedGroup::build(&state, &people.read(), ranking)),
            (None, Some(old)) if old.revision == state.group.shares_revision => old.with_queues(&state),
            (None, _) => {
                let ranking = state.hierarchy.recompute(state.options.default_weight);
                PublishedGroup::build(&state, &people.read(), &ranking)
            }
        };
        published.live = Arc::new(Live::with_kernels(before.and_then(|before| self.kernels_after(&before, &state))));
        state.ledger.forget_before(window_start(&state.options, now.day()));
        *self.slot = Some(state);
        let published = Arc::new(published);
        self.service.published.put(&published);
        Ok(published)
    }

    /// The kernels of the picture `before` and what this session made of them, if nobody else wrote in between.
    fn kernels_after(&mut self, before: &PublishedGroup, state: &GroupState) -> Option<LiveKernels> {
        let changes = self.kernels.take().filter(|_| before.kernels_revision + 1 == state.group.kernels_revision)?;
        before.live.known_kernels()?.after(changes)
    }

    /// Recomputes factors and ranks, and stores every share whose numbers changed.
    async fn save_shares(&mut self, state: &mut GroupState) -> Result<Ranking> {
        let entities: Vec<Owner> = state.hierarchy.owners().collect();
        let factor = |h: &Hierarchy, e: &Owner| h.share(e).map(|s| s.fair_share_factor.to_bits());
        let before: Vec<_> = entities.iter().map(|e| factor(&state.hierarchy, e)).collect();
        let ranking = blocking(|| state.hierarchy.recompute(state.options.default_weight));
        let moved = entities.into_iter().zip(before).filter(|(e, b)| factor(&state.hierarchy, e) != *b).map(|(e, _)| e);
        self.changed_shares.extend(moved);
        let name = state.group.name.clone();
        store::shares::save(self.tx(), &name, &state.hierarchy, &self.changed_shares, self.now).await?;
        Ok(ranking)
    }
}

impl Drop for Session {
    /// A session that changed nothing gives the state back, so that a refused request costs no reload.
    fn drop(&mut self) {
        if let Some(mut state) = self.state.take().filter(|_| !self.touched) {
            state.group.kernels_revision -= 1;
            *self.slot = Some(state);
        }
    }
}
