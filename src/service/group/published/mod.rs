//! What readers see: one immutable picture of each resource group, swapped whole.

pub mod answers;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::state::{GroupState, Occupancy};
use crate::domain::decimal::f64_text;
use crate::domain::factor::{Decayer, Exponent, History};
use crate::domain::hierarchy::{Hierarchy, Ranking, Share};
use crate::domain::ids::{Member, ProjectId, UserId};
use crate::domain::maps::FastMap;
use crate::domain::options::Options;
use crate::domain::queues::{Demand, Queues};
use crate::domain::sequencer::{GroupShares, MemberShare, Sequencer};
use crate::domain::slots::{Amounts, ScaledSum, Usages};
use crate::domain::time::{Day, MICROS_PER_DAY, Timestamp};
use crate::domain::weight::{EffectiveWeight, Weight};
use crate::service::division::Live;
use crate::service::people::Directory;
use crate::service::work::retire;
use crate::store::groups::Revisions;
use answers::Shared;

/// The conditions of the last calculation.
#[derive(Clone, Debug, PartialEq)]
pub struct Calculation {
    pub at: Timestamp,
    pub lookback_start: Day,
    pub lookback_end: Day,
    pub options: Options,
}

/// A domain's row; ranked in the group.
#[derive(Clone, Debug)]
pub struct DomainShare {
    pub domain_name: Arc<str>,
    pub share: Share,
    /// Archived: left out of lists and rankings. Its numbers go on.
    pub hidden: bool,
}

/// A project's row; ranked in its domain.
#[derive(Clone, Debug)]
pub struct ProjectShare {
    pub project_id: ProjectId,
    pub project_name: Option<Arc<str>>,
    pub domain_name: Arc<str>,
    pub share: Share,
    /// It or its domain is archived.
    pub hidden: bool,
}

/// A member's row; ranked in the group.
#[derive(Clone, Debug)]
pub struct UserShare {
    pub member: Member,
    pub user_name: Option<Arc<str>>,
    pub project_name: Option<Arc<str>>,
    pub domain_name: Arc<str>,
    pub share: Share,
    /// The user, the project or its domain is archived.
    pub hidden: bool,
}

/// One resource group as of one revision.
#[derive(Clone, Debug)]
pub struct PublishedGroup {
    pub name: Arc<str>,
    pub scheduler: Sequencer,
    /// As the admin set them.
    pub scheduler_opts: Map<String, Value>,
    pub options: Options,
    pub revision: i64,
    pub kernels_revision: i64,
    pub(in crate::service) created_at: Timestamp,
    pub calculation: Option<Calculation>,
    pub capacity: Amounts,
    /// By rank, equals by id; projects by domain first.
    pub domains: Arc<[DomainShare]>,
    pub projects: Arc<[ProjectShare]>,
    pub users: Arc<[UserShare]>,
    pub standings: GroupShares,
    /// As admins configure them.
    pub queues: Arc<Queues>,
    /// What running and pending kernels hold and ask for.
    pub demand: Arc<Demand>,
    /// What the look-back window offered, decayed like usage; empty where no history gain asks for it.
    pub(in crate::service) decayed_capacity: Usages,
    pub(in crate::service) live: Arc<Live>,
    pub shared: Shared,
    domain_at: Arc<FastMap<Arc<str>, usize>>,
    project_at: Arc<FastMap<ProjectId, usize>>,
    user_at: Arc<FastMap<Member, usize>>,
    users_of: Arc<FastMap<UserId, Vec<usize>>>,
    /// Built when somebody first asks.
    members_of: Arc<OnceLock<FastMap<ProjectId, Vec<usize>>>>,
}

impl PublishedGroup {
    pub(in crate::service) fn build(state: &GroupState, people: &Directory, ranking: &Ranking) -> Self {
        let hierarchy = &state.hierarchy;
        let domains: Arc<[_]> = ranking
            .domains
            .iter()
            .filter_map(|name| {
                Some(DomainShare {
                    domain_name: Arc::clone(name),
                    share: hierarchy.domains.get(name)?.clone(),
                    hidden: people.hides_domain(name),
                })
            })
            .collect();
        let projects: Arc<[_]> = ranking
            .projects
            .iter()
            .filter_map(|id| {
                let (domain, share) = hierarchy.projects.get(id)?;
                Some(ProjectShare {
                    project_id: *id,
                    project_name: people.project_name(*id),
                    domain_name: Arc::clone(domain),
                    share: share.clone(),
                    hidden: people.hides_project(*id),
                })
            })
            .collect();
        let project_at: FastMap<ProjectId, usize> =
            projects.iter().enumerate().map(|(i, p)| (p.project_id, i)).collect();
        let users: Arc<[_]> = ranking
            .users
            .iter()
            .filter_map(|member| {
                let project = projects.get(*project_at.get(&member.project)?)?;
                let share = hierarchy.users.get(member)?.clone();
                Some(UserShare {
                    member: *member,
                    user_name: people.user_name(member.user),
                    project_name: project.project_name.clone(),
                    domain_name: Arc::clone(&project.domain_name),
                    share,
                    hidden: project.hidden || people.hides_user(member.user),
                })
            })
            .collect();
        let members = users.iter().map(|u| (u.member, standing(&u.share))).collect();
        let mut users_of: FastMap<UserId, Vec<usize>> = FastMap::default();
        for (at, user) in users.iter().enumerate() {
            users_of.entry(user.member.user).or_default().push(at);
        }
        Self {
            name: Arc::from(state.group.name.as_str()),
            scheduler: state.scheduler,
            scheduler_opts: state.group.scheduler_opts.clone(),
            options: state.options.clone(),
            revision: state.group.shares_revision,
            kernels_revision: state.group.kernels_revision,
            created_at: state.group.created_at,
            calculation: state.calculation.clone(),
            capacity: state.capacity.clone(),
            domain_at: Arc::new(domains.iter().enumerate().map(|(i, d)| (Arc::clone(&d.domain_name), i)).collect()),
            project_at: Arc::new(project_at),
            user_at: Arc::new(users.iter().enumerate().map(|(i, u)| (u.member, i)).collect()),
            users_of: Arc::new(users_of),
            members_of: Arc::default(),
            standings: GroupShares {
                members,
                dominant_shares: dominant_shares(&state.occupancy, &state.capacity),
                projects: Arc::new(project_exponents(hierarchy)),
                order: state.options.order,
            },
            queues: Arc::clone(&state.queues),
            demand: Arc::clone(&state.demand),
            decayed_capacity: decayed_capacity(state),
            live: Arc::default(),
            shared: Shared::default(),
            domains,
            projects,
            users,
        }
    }

    /// The same picture with new occupancy and queues.
    pub(in crate::service) fn with_queues(&self, state: &GroupState) -> Self {
        let mut next = self.clone();
        next.kernels_revision = state.group.kernels_revision;
        next.queues = Arc::clone(&state.queues);
        next.demand = Arc::clone(&state.demand);
        next.live = Arc::default();
        next.shared = self.shared.with_queues();
        next.standings.dominant_shares = dominant_shares(&state.occupancy, &state.capacity);
        next
    }

    pub(in crate::service) fn revisions(&self) -> Revisions {
        Revisions { created_at: self.created_at, shares: self.revision, kernels: self.kernels_revision }
    }

    pub fn domain(&self, name: &str) -> Option<&DomainShare> {
        self.domain_at.get(name).map(|at| &self.domains[*at])
    }

    pub fn project(&self, id: ProjectId) -> Option<&ProjectShare> {
        self.project_at.get(&id).map(|at| &self.projects[*at])
    }

    pub fn user(&self, member: Member) -> Option<&UserShare> {
        self.user_at.get(&member).map(|at| &self.users[*at])
    }

    /// All projects' rows of one user, best rank first.
    pub fn memberships(&self, user: UserId) -> impl Iterator<Item = &UserShare> {
        self.users_of.get(&user).into_iter().flatten().map(|at| &self.users[*at])
    }

    /// The rows of one project's users, best rank first.
    pub fn members_of(&self, project: ProjectId) -> impl Iterator<Item = &UserShare> {
        let index = self.members_of.get_or_init(|| {
            let mut index: FastMap<ProjectId, Vec<usize>> = FastMap::default();
            for (at, user) in self.users.iter().enumerate() {
                index.entry(user.member.project).or_default().push(at);
            }
            index
        });
        index.get(&project).into_iter().flatten().map(|at| &self.users[*at])
    }

    /// The weight in force: what an admin set, else the group's default.
    pub fn weight(&self, share: &Share) -> Weight {
        share.weight.unwrap_or(self.options.default_weight)
    }

    /// The row of a known entity that has none in this group yet: nothing used, nothing set.
    pub fn default_share(&self, effective_weight: EffectiveWeight) -> Share {
        Share { effective_weight, ..Share::new(None, History::default()) }
    }

    /// A strong validator for answers made from this picture.
    pub fn etag(&self) -> String {
        format!("\"{}-{}\"", self.revision, self.kernels_revision)
    }

    /// A strong validator for answers about the scheduler and its options, which most changes of a group leave alone.
    /// Behind a point follow the warnings, which depend on more than the options.
    pub fn options_etag(&self) -> String {
        let options = options_tag(self.scheduler.name(), &self.scheduler_opts);
        match self.warnings() {
            none if none.is_empty() => format!("\"{options}\""),
            some => format!("\"{options}.{}\"", digest(&serde_json::json!(some))),
        }
    }
}

fn options_tag(scheduler: &str, opts: &Map<String, Value>) -> String {
    digest(&serde_json::json!([scheduler, opts]))
}

fn digest(value: &Value) -> String {
    let digest = Sha256::digest(value.to_string().as_bytes());
    URL_SAFE_NO_PAD.encode(&digest[..12])
}

/// Whether a validator that [`PublishedGroup::options_etag`] made is of these options, whatever the warnings were.
pub(in crate::service) fn is_etag_of(etag: &str, scheduler: &str, opts: &Map<String, Value>) -> bool {
    etag.trim_matches('"').split('.').next() == Some(&options_tag(scheduler, opts))
}

fn standing(share: &Share) -> MemberShare {
    MemberShare {
        exponent: share.exponent,
        fair_share_factor: f64_text(share.fair_share_factor).into(),
        rank: share.rank,
    }
}

/// The exponents of each project's domain and of the project itself.
fn project_exponents(hierarchy: &Hierarchy) -> FastMap<ProjectId, (Exponent, Exponent)> {
    let of_domain = |name: &Arc<str>| hierarchy.domains.get(name).map_or(Exponent::ZERO, |share| share.exponent);
    hierarchy.projects.iter().map(|(id, (domain, share))| (*id, (of_domain(domain), share.exponent))).collect()
}

/// The largest part of any slot's capacity that each user occupies; a slot without capacity does not count.
fn dominant_shares(occupancy: &Occupancy, capacity: &Amounts) -> FastMap<UserId, f64> {
    let share = |occupied: &Usages| {
        let parts = occupied.iter().filter_map(|(slot, of_one_second)| {
            let offered = capacity.get(slot).filter(|c| !c.is_zero())?;
            Some(of_one_second.to_f64() / offered.to_f64())
        });
        parts.fold(0.0, f64::max)
    };
    occupancy.iter().map(|(user, occupied)| (*user, share(occupied))).collect()
}

/// What the look-back window offered, each day weighed as its usage is (§6).
fn decayed_capacity(state: &GroupState) -> Usages {
    let Some(calculation) = state.calculation.as_ref().filter(|_| state.options.division.options.reads_usage()) else {
        return Usages::default();
    };
    let mut sum = ScaledSum::default();
    let decayer = Decayer::new(&state.options, calculation.lookback_end);
    for age in 0..state.options.lookback_days {
        let day = calculation.lookback_end.plus(-age.cast_signed());
        let capacity = state.ledger.calendar().get(day).map_or(&state.capacity, |known| &*known.capacity);
        let weight = decayer.weight(day).unwrap_or(0.0);
        sum.add(&capacity.for_micros(MICROS_PER_DAY.unsigned_abs()), weight);
    }
    sum.rounded()
}

/// All groups' pictures. Reading never waits.
#[derive(Default)]
pub struct Published(ArcSwap<BTreeMap<Arc<str>, Arc<PublishedGroup>>>);

impl Published {
    pub fn all(&self) -> Arc<BTreeMap<Arc<str>, Arc<PublishedGroup>>> {
        self.0.load_full()
    }

    pub fn get(&self, name: &str) -> Option<Arc<PublishedGroup>> {
        self.0.load().get(name).cloned()
    }

    pub(in crate::service) fn put(&self, group: &Arc<PublishedGroup>) {
        let before = self.0.rcu(|old| {
            let mut next = BTreeMap::clone(old);
            next.insert(Arc::clone(&group.name), Arc::clone(group));
            next
        });
        if let Some(old) = before.get(&group.name) {
            retire(Arc::clone(old));
        }
    }

    pub(in crate::service) fn remove(&self, name: &str) {
        self.0.rcu(|old| {
            let mut next = BTreeMap::clone(old);
            next.remove(name);
            next
        });
    }
}
