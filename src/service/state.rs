//! The working state of one resource group, and the session in which a use-case changes it.
//!
//! The database is the truth; the state is a cache of it that belongs to one revision. A session
//! takes the group's lock in the database, reloads the state if another process was faster, and
//! either commits everything or leaves no trace.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hashbrown::HashMap;
use sea_orm::{ConnectionTrait, StreamTrait};
use tokio::sync::OwnedMutexGuard;

use super::error::{Error, Result};
use super::published::{Calculation, PublishedGroup};
use super::queues::Queues;
use super::{Service, audit, heavy};
use crate::domain::decimal::Amount;
use crate::domain::factor::{Decayer, History};
use crate::domain::hierarchy::{Hierarchy, Ranking, Share};
use crate::domain::ids::{KernelId, Member, ProjectId, UserId};
use crate::domain::kernel::{Kernel, Phase, Unsettled};
use crate::domain::ledger::{Entity, Ledger};
use crate::domain::options::{MAX_DECAY_UNIT_DAYS, Options};
use crate::domain::queues::{Demand, Portion};
use crate::domain::sequencer::Sequencer;
use crate::domain::slots::Amounts;
use crate::domain::time::{Day, Span, Timestamp};
use crate::store::agents::Agent;
use crate::store::groups::{self, Group};
use crate::store::people::Project;
use crate::store::{self, Tx};

type FastMap<K, V> = HashMap<K, V, foldhash::fast::FixedState>;

/// Unsettled kernels that are kept between runs.
pub const MOST_AT_HAND: usize = 100_000;

/// Everything about one group that its use-cases need, as of one revision.
#[derive(Clone, Debug)]
pub struct GroupState {
    pub group: Group,
    pub scheduler: Sequencer,
    pub options: Options,
    pub calculation: Option<Calculation>,
    pub agents: Vec<Agent>,
    /// Sum over the agents that are alive and schedulable.
    pub capacity: Amounts,
    pub hierarchy: Hierarchy,
    pub ledger: Ledger,
    /// Projects of the whole cluster, by id.
    pub projects: FastMap<ProjectId, Project>,
    pub project_names: FastMap<ProjectId, Arc<str>>,
    pub user_names: FastMap<UserId, Arc<str>>,
    /// As admins configure them.
    pub queues: Arc<Queues>,
    /// What each user's running kernels occupy.
    pub occupancy: FastMap<UserId, Amounts>,
    /// What running and pending kernels hold and ask for, by queue.
    pub demand: Arc<Demand>,
    /// What runs still have to record; read when it is first needed.
    unsettled: Option<BTreeMap<KernelId, Unsettled>>,
}

impl GroupState {
    /// Reads the state of `group`, with the buckets of its look-back window.
    pub async fn load(db: &(impl ConnectionTrait + StreamTrait), group: Group, today: Day) -> Result<Self> {
        let name = group.name.clone();
        let options = parse_options(&group)?;
        let scheduler = Sequencer::by_name(&group.scheduler)
            .ok_or_else(|| Error::Internal(format!("group {name} has the unknown scheduler {}", group.scheduler)))?;
        let projects: FastMap<_, _> = store::people::projects(db).await?.into_iter().map(|p| (p.id, p)).collect();
        let project_names =
            projects.values().filter_map(|p| Some((p.id, Arc::from(p.display_name.as_deref()?)))).collect();
        let user_names =
            store::people::user_names(db).await?.into_iter().map(|(id, name)| (id, Arc::from(name))).collect();
        let mut domains: hashbrown::HashSet<Arc<str>> = hashbrown::HashSet::new();
        let domain_names: FastMap<ProjectId, Arc<str>> = projects
            .values()
            .map(|p| (p.id, Arc::clone(domains.get_or_insert_with(p.domain_name.as_str(), |n| Arc::from(n)))))
            .collect();
        let hierarchy = store::shares::load(db, &name, |id| domain_names.get(&id).cloned()).await?;
        let calendar = store::capacity::load(db, &name).await?;
        let mut ledger = Ledger::new(calendar, window_start(&options, today));
        store::buckets::load(db, &name, &mut ledger, None).await?;
        let agents = store::agents::list(db, &name).await?;
        let queues = Arc::new(store::queues::list(db, &name).await?);
        // Where nothing is unsettled, nothing has to be read before the first run.
        let (_, some_unsettled) = store::kernels::unsettled(db, &name, None, None, 1).await?;
        let mut state = Self {
            calculation: calculation(&group)?,
            capacity: capacity_of(&agents),
            group,
            scheduler,
            options,
            agents,
            hierarchy,
            ledger,
            projects,
            project_names,
            user_names,
            queues,
            occupancy: FastMap::default(),
            demand: Arc::default(),
            unsettled: some_unsettled.is_none().then(BTreeMap::new),
        };
        state.load_live(db).await?;
        Ok(state)
    }

    /// Whether everything but the occupancy is as of `stored`, and not of an earlier group of that name.
    pub fn is_of(&self, stored: &Group) -> bool {
        self.group.shares_revision == stored.shares_revision && self.group.created_at == stored.created_at
    }

    /// Takes the group's row as it is now, and reads again what another process has changed of queues and
    /// kernels; `own_writes` is how often this process has bumped the revision of the kernels itself.
    pub async fn catch_up(
        &mut self,
        db: &(impl ConnectionTrait + StreamTrait),
        group: Group,
        own_writes: i64,
    ) -> Result<()> {
        let known = std::mem::replace(&mut self.group, group);
        if known.queues_revision != self.group.queues_revision {
            self.queues = Arc::new(store::queues::list(db, &self.group.name).await?);
        }
        if known.kernels_revision + own_writes != self.group.kernels_revision {
            self.reload_kernels(db).await?;
        }
        Ok(())
    }

    /// Reads again what another process has ingested.
    pub async fn reload_kernels(&mut self, db: &(impl ConnectionTrait + StreamTrait)) -> Result<()> {
        self.unsettled = None;
        self.load_live(db).await
    }

    async fn load_live(&mut self, db: &(impl ConnectionTrait + StreamTrait)) -> Result<()> {
        let mut occupancy: FastMap<UserId, Amounts> = FastMap::default();
        let mut demand = Demand::default();
        store::live_kernels::portions(db, &self.group.name, |user, portion| {
            if portion.phase == Phase::Running {
                occupancy.entry(user).or_default().add(portion.slots);
            }
            demand.add(portion);
        })
        .await?;
        self.occupancy = occupancy;
        self.demand = Arc::new(demand);
        Ok(())
    }

    /// Takes out what runs still have to record; `None`: it has to be read.
    pub fn take_unsettled(&mut self) -> Option<BTreeMap<KernelId, Unsettled>> {
        self.unsettled.take()
    }

    /// Keeps what the next run has to look at, unless it is so much that reading it again is better.
    pub fn keep_unsettled(&mut self, kernels: Option<BTreeMap<KernelId, Unsettled>>) {
        self.unsettled = kernels.filter(|k| k.len() <= MOST_AT_HAND);
    }

    /// Notes what an ingest made of a kernel.
    pub fn kernel_changed(&mut self, old: Option<&Kernel>, new: &Kernel) {
        if let Some(known) = &mut self.unsettled {
            let before = known.remove(&new.report.id);
            if let Some(kernel) = Unsettled::of(new) {
                let in_step = before.is_some_and(|k| k.in_step);
                known.insert(kernel.id, Unsettled { in_step, ..kernel });
            }
            if known.len() > MOST_AT_HAND {
                self.unsettled = None;
            }
        }
        let demand = Arc::make_mut(&mut self.demand);
        if let Some(old) = old {
            demand.remove(Portion::of(old));
        }
        demand.add(Portion::of(new));
        if let Some(old) = old.filter(|k| k.report.phase == Phase::Running)
            && let Some(sum) = self.occupancy.get_mut(&old.report.owner.user)
        {
            sum.subtract(&old.report.slots);
        }
        if new.report.phase == Phase::Running {
            self.occupancy.entry(new.report.owner.user).or_default().add(&new.report.slots);
        }
    }

    /// Makes sure that buckets from `day` on are in memory.
    pub async fn load_back_to(&mut self, db: &impl ConnectionTrait, day: Day) -> Result<()> {
        let known_from = self.ledger.loaded_from();
        if day < known_from {
            self.ledger.reach_back(day);
            store::buckets::load(db, &self.group.name, &mut self.ledger, Some(known_from)).await?;
        }
        Ok(())
    }

    /// Makes a domain known to the group. Returns what is new.
    pub fn admit_domain(&mut self, domain: &Arc<str>) -> Vec<Entity> {
        if self.hierarchy.domains.contains_key(domain) {
            return Vec::new();
        }
        self.hierarchy.domains.insert(Arc::clone(domain), Share::new(None, History::default()));
        vec![Entity::Domain(Arc::clone(domain))]
    }

    /// Makes a project and its domain known to the group. Returns what is new.
    pub fn admit_project(&mut self, project: ProjectId, domain: &Arc<str>) -> Vec<Entity> {
        let mut new = self.admit_domain(domain);
        if let Entry::Vacant(place) = self.hierarchy.projects.entry(project) {
            place.insert((Arc::clone(domain), Share::new(None, History::default())));
            new.push(Entity::Project(project));
        }
        new
    }

    /// Makes a member, its project and its domain known to the group. Returns what is new.
    pub fn admit(&mut self, member: Member, domain: &Arc<str>) -> Vec<Entity> {
        let mut new = self.admit_project(member.project, domain);
        if let Entry::Vacant(place) = self.hierarchy.users.entry(member) {
            place.insert(Share::new(None, History::default()));
            new.push(Entity::User(member));
        }
        new
    }

    /// Puts a project of the group into another domain. Returns what is new.
    pub fn move_project(&mut self, id: ProjectId, domain: &Arc<str>) -> Vec<Entity> {
        let new = self.admit_domain(domain);
        if let Some((current, _)) = self.hierarchy.projects.get_mut(&id) {
            *current = Arc::clone(domain);
        }
        new
    }

    /// Recomputes what buckets amount to. Returns whose history changed.
    pub fn recompute_histories(&mut self, now: Timestamp) -> Vec<Entity> {
        let today = now.day();
        let mut decayer = Decayer::new(&self.options, today);
        let mut changed = Vec::new();
        let entities: Vec<Entity> = self.hierarchy.entities().collect();
        for entity in entities {
            let history = self.ledger.history(&entity, &mut decayer);
            if let Some(share) = self.hierarchy.share_mut(&entity)
                && *share.history != history
            {
                share.history = Arc::new(history);
                changed.push(entity);
            }
        }
        self.calculation = Some(Calculation {
            at: now,
            lookback_start: window_start(&self.options, today),
            lookback_end: today,
            options: self.options.clone(),
        });
        changed
    }
}

pub fn window_start(options: &Options, today: Day) -> Day {
    Ledger::window_start(options, today)
}

fn parse_options(group: &Group) -> Result<Options> {
    Options::parse_stored(&group.scheduler_opts)
        .map_err(|e| Error::Internal(format!("stored options of {}: {e:?}", group.name)))
}

fn calculation(group: &Group) -> Result<Option<Calculation>> {
    let (Some(at), Some(with)) = (group.calculated_at, &group.calculated_with) else { return Ok(None) };
    let options = Options::parse_stored(with)
        .map_err(|e| Error::Internal(format!("stored calculation of {}: {e:?}", group.name)))?;
    Ok(Some(Calculation { at, lookback_start: window_start(&options, at.day()), lookback_end: at.day(), options }))
}

/// The group's capacity: the sum over agents that are alive and schedulable (§1).
pub fn capacity_of(agents: &[Agent]) -> Amounts {
    let mut sum = Amounts::default();
    for agent in agents.iter().filter(|a| a.offers()) {
        sum.add(&agent.available_slots);
    }
    sum.filtered(|amount: Amount| !amount.is_zero())
}

/// A write of one group: its lock, its transaction and its state.
pub struct Session {
    service: Arc<Service>,
    slot: OwnedMutexGuard<Option<GroupState>>,
    state: Option<GroupState>,
    tx: Option<Tx>,
    touched: bool,
    shares_changed: bool,
    changed_shares: BTreeSet<Entity>,
    update: groups::Update,
    pub now: Timestamp,
}

impl Session {
    /// Opens a session; writers of one group wait for each other.
    pub async fn open(service: &Arc<Service>, name: &str) -> Result<Self> {
        // Only groups that exist have a slot, whatever names requests invent.
        service.group(name)?;
        let slot = service.slot(name).lock_owned().await;
        let mut session = Self {
            tx: Some(service.store.begin().await?),
            service: Arc::clone(service),
            slot,
            state: None,
            touched: false,
            shares_changed: false,
            changed_shares: BTreeSet::new(),
            update: groups::Update::default(),
            now: service.clock.now(),
        };
        let Some(group) = groups::lock(session.tx(), name).await? else {
            return Err(Error::unknown_group(name));
        };
        session.state = Some(match session.slot.take() {
            Some(mut state) if state.is_of(&group) => {
                state.catch_up(session.tx(), group, 1).await?;
                state
            }
            _ => GroupState::load(session.tx(), group, session.now.day()).await?,
        });
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

    pub fn service(&self) -> &Arc<Service> {
        &self.service
    }

    /// What will change in the group's own row.
    pub fn update(&mut self) -> &mut groups::Update {
        self.shares_changed = true;
        &mut self.update
    }

    /// Marks shares that must be stored.
    pub fn share_changed(&mut self, entities: impl IntoIterator<Item = Entity>) {
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

    /// Counts the time since the last observation at the capacity that the group had (§5). A group
    /// that has no agents observes nothing; its time passes all the same.
    pub async fn observe_capacity(&mut self) -> Result<()> {
        let (now, started_at) = (self.now, self.service.started_at());
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
        let now = self.now;
        // A clock that jumped back, or a longer look-back, sees older buckets again.
        let from = window_start(&self.state().options, now.day());
        self.load_back_to(from).await?;
        let state = self.state_mut();
        let changed = heavy(|| {
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

    /// Reads projects that another group's reports may have made known since the state was loaded.
    pub async fn learn_projects(&mut self, ids: impl IntoIterator<Item = ProjectId>) -> Result<()> {
        let unknown: BTreeSet<ProjectId> =
            ids.into_iter().filter(|id| !self.state().projects.contains_key(id)).collect();
        let found = store::people::find_projects(self.tx(), unknown).await?;
        // What the database says is no change of this session.
        if let Some(state) = &mut self.state {
            for project in found {
                if let Some(name) = &project.display_name {
                    state.project_names.insert(project.id, Arc::from(name.as_str()));
                }
                state.projects.insert(project.id, project);
            }
        }
        Ok(())
    }

    /// Commits the removal of the group itself.
    pub async fn commit_deleted(mut self) -> Result<()> {
        let Some(state) = self.state.take() else { return Ok(()) };
        if let Some(tx) = self.tx.take() {
            tx.commit().await.map_err(store::StoreError::from)?;
        }
        self.service.published.remove(&state.group.name);
        self.service.forget_slot(&state.group.name);
        Ok(())
    }

    /// Writes an entry about this session's change.
    pub async fn audit(&mut self, entry: audit::Change<'_>) -> Result<()> {
        let group = self.state().group.name.clone();
        audit::write(self.tx(), entry, Some(&group), self.now).await
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
        // From here on the database decides; on failure the slot stays empty and the next session
        // reads the truth.
        if let Some(tx) = self.tx.take() {
            tx.commit().await.map_err(store::StoreError::from)?;
        }
        let published = match (&ranking, self.service.published.get(&name)) {
            (Some(ranking), _) => heavy(|| PublishedGroup::build(&state, ranking)),
            (None, Some(old)) if old.revision == state.group.shares_revision => old.with_queues(&state),
            (None, _) => {
                let ranking = state.hierarchy.recompute(state.options.default_weight);
                PublishedGroup::build(&state, &ranking)
            }
        };
        state.ledger.forget_before(window_start(&state.options, now.day()));
        *self.slot = Some(state);
        let published = Arc::new(published);
        self.service.published.put(&published);
        Ok(published)
    }

    /// Recomputes factors and ranks, and stores every share whose numbers changed.
    async fn save_shares(&mut self, state: &mut GroupState) -> Result<Ranking> {
        let entities: Vec<Entity> = state.hierarchy.entities().collect();
        let factor = |h: &Hierarchy, e: &Entity| h.share(e).map(|s| s.fair_share_factor.to_bits());
        let before: Vec<_> = entities.iter().map(|e| factor(&state.hierarchy, e)).collect();
        let ranking = heavy(|| state.hierarchy.recompute(state.options.default_weight));
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
