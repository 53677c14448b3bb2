//! `node` and `nodes`: rows by their global ids. Ids of one kind are read together, so that the number
//! of SQL statements does not grow with the number of ids.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use async_graphql::{Context, ID, Object, Result};

use super::{caller, service};
use crate::domain::filter::{CompareOperator, DayMatch, Filter, PatternPlace, TextMatch};
use crate::domain::ids::{Member, Owner, ProjectId, UserId};
use crate::domain::tier::Tier;
use crate::graphql::global_id;
use crate::graphql::guard;
use crate::graphql::types::{
    Agent, AuditEntry, Domain, DomainFairShare, DomainUsageBucketNode, FairShareWeightNode, JobRun, Node, Project,
    ProjectFairShare, ProjectUsageBucketNode, Queue, ScalingGroup, User, UserFairShare, UserUsageBucketNode,
};
use crate::service::buckets::{BucketCondition, BucketField, BucketList, BucketRow};
use crate::service::input::page::PageWindow;
use crate::service::shares::FoundShares;
use crate::service::{Error, Result as ServiceResult};

/// The largest number of ids in one `nodes`.
const MAX_IDS: usize = 100;

/// The parts of a global id.
type IdParts = (String, Vec<String>);

#[derive(Default)]
pub struct NodeQuery;

#[Object(rename_fields = "snake_case", rename_args = "snake_case")]
impl NodeQuery {
    /// The row with this global id; null if it is gone or was never there.
    async fn node(&self, ctx: &Context<'_>, id: ID) -> Result<Option<Node>> {
        Ok(find(ctx, &[id]).await?.pop().flatten())
    }

    /// The rows with these global ids, in their order; null for each that is not there.
    async fn nodes(&self, ctx: &Context<'_>, ids: Vec<ID>) -> Result<Vec<Option<Node>>> {
        if ids.len() > MAX_IDS {
            let said = format!("names more than {MAX_IDS} ids");
            return Err(Error::about("/ids", "invalid_page_size", said).into());
        }
        guard::spend_rows(ctx, ids.len())?;
        Ok(find(ctx, &ids).await?)
    }
}

async fn find(ctx: &Context<'_>, ids: &[ID]) -> ServiceResult<Vec<Option<Node>>> {
    let keys: Vec<Option<IdParts>> = ids.iter().map(global_id::decode).collect();
    let mut rows = NodeRows::load(ctx, keys.iter().flatten()).await?;
    keys.into_iter().map(|key| key.map_or(Ok(None), |(kind, key)| rows.take(ctx, &kind, &key))).collect()
}

/// The rows that need SQL, read for all ids at once.
#[derive(Default)]
struct NodeRows {
    buckets: HashMap<IdParts, BucketRow>,
    agents: HashMap<Vec<String>, crate::service::agents::StoredAgent>,
    job_runs: HashMap<String, crate::service::jobs::JobRun>,
    audit: HashMap<String, crate::service::audit_log::AuditEntry>,
    /// By group.
    shares: HashMap<String, FoundShares>,
}

impl NodeRows {
    async fn load(ctx: &Context<'_>, keys: impl Iterator<Item = &IdParts>) -> ServiceResult<Self> {
        let (service, caller) = (service(ctx)?, caller(ctx)?);
        let mut rows = Self::default();
        let mut buckets: BTreeMap<(&'static str, &str), Vec<Filter<BucketCondition>>> = BTreeMap::new();
        let mut shares: BTreeMap<&str, Vec<Owner>> = BTreeMap::new();
        let mut groups_of_agents = BTreeSet::new();
        let (mut runs, mut entries) = (BTreeSet::new(), BTreeSet::new());
        for (kind, key) in keys {
            match (kind.as_str(), key.as_slice()) {
                (Agent::KIND, [group, _]) => {
                    groups_of_agents.insert(group.as_str());
                }
                (JobRun::KIND, [id]) => runs.extend(id.parse::<i64>()),
                (AuditEntry::KIND, [id]) => entries.extend(id.parse::<i64>()),
                (kind, [group, rest @ ..]) => {
                    if let Some(entity) = share_of(kind, rest) {
                        shares.entry(group).or_default().push(entity);
                    } else if let Some((kind, filter)) = bucket_filter(kind, rest) {
                        buckets.entry((kind, group)).or_default().push(filter);
                    }
                }
                _ => {}
            }
        }
        for ((kind, group), filters) in buckets {
            guard::charge_rows(ctx, guard::DATABASE_LIST_ROWS)?;
            rows.load_buckets(ctx, kind, group, filters).await?;
        }
        for (name, entities) in shares {
            if let Ok(group) = service.group(caller, name) {
                rows.shares.insert(name.to_owned(), service.shares_of(&group, &entities).await?);
            }
        }
        for group in groups_of_agents {
            if service.group(caller, group).is_ok() {
                guard::charge_rows(ctx, guard::DATABASE_LIST_ROWS)?;
                let found = service.agents(caller, group).await?;
                rows.agents.extend(found.into_iter().map(|a| (vec![group.to_owned(), a.agent_id.clone()], a)));
            }
        }
        if !runs.is_empty() {
            guard::charge_rows(ctx, guard::DATABASE_LIST_ROWS)?;
            let found = service.job_runs_by_id(caller, runs).await?;
            rows.job_runs.extend(found.into_iter().map(|r| (r.id.to_string(), r)));
        }
        if !entries.is_empty() {
            guard::charge_rows(ctx, guard::DATABASE_LIST_ROWS)?;
            let found = service.audit_entries(caller, entries).await?;
            rows.audit.extend(found.into_iter().map(|e| (e.id.to_string(), e)));
        }
        Ok(rows)
    }

    async fn load_buckets(
        &mut self,
        ctx: &Context<'_>,
        kind: &'static str,
        group: &str,
        filters: Vec<Filter<BucketCondition>>,
    ) -> ServiceResult<()> {
        if service(ctx)?.group(caller(ctx)?, group).is_err() {
            return Ok(());
        }
        let list = BucketList {
            tier: tier(kind),
            window: PageWindow::forward(u32::try_from(filters.len()).unwrap_or(u32::MAX), None),
            filter: Filter::Any(filters),
            field: BucketField::PeriodStart,
            descending: false,
        };
        let page = service(ctx)?.usage_buckets(caller(ctx)?, group, list).await?;
        self.buckets
            .extend(page.rows.into_iter().map(|(_, row)| ((kind.to_owned(), bucket_key(kind, group, &row)), row)));
        Ok(())
    }

    fn take(&mut self, ctx: &Context<'_>, kind: &str, key: &[String]) -> ServiceResult<Option<Node>> {
        let [group, ..] = key else { return Ok(None) };
        Ok(match kind {
            Agent::KIND => self.agents.get(key).map(|row| Agent { group: group.clone(), row: row.clone() }.into()),
            JobRun::KIND => self.job_runs.get(group).map(|run| JobRun(run.clone()).into()),
            Domain::KIND => service(ctx)?.known_domain(caller(ctx)?, group)?.map(|row| Domain(row).into()),
            Project::KIND => match group.parse() {
                Ok(id) => service(ctx)?.known_project(caller(ctx)?, id)?.map(|row| Project(row).into()),
                Err(_) => None,
            },
            User::KIND => match group.parse() {
                Ok(id) => service(ctx)?.known_user(caller(ctx)?, id)?.map(|row| User(row).into()),
                Err(_) => None,
            },
            AuditEntry::KIND => self.audit.get(group).map(|entry| AuditEntry(entry.clone()).into()),
            DomainUsageBucketNode::KIND => {
                self.bucket(kind, key).map(|row| DomainUsageBucketNode::new(group, row).into())
            }
            ProjectUsageBucketNode::KIND => {
                self.bucket(kind, key).and_then(|row| ProjectUsageBucketNode::new(group, row)).map(Node::from)
            }
            UserUsageBucketNode::KIND => {
                self.bucket(kind, key).and_then(|row| UserUsageBucketNode::new(group, row)).map(Node::from)
            }
            _ => self.published(ctx, kind, key)?,
        })
    }

    fn bucket(&self, kind: &str, key: &[String]) -> Option<BucketRow> {
        self.buckets.get(&(kind.to_owned(), key.to_vec())).cloned()
    }

    /// A row of a published snapshot, or the default row of a known user, project or domain that has no row in it.
    fn published(&self, ctx: &Context<'_>, kind: &str, key: &[String]) -> ServiceResult<Option<Node>> {
        let [name, rest @ ..] = key else { return Ok(None) };
        let Ok(group) = service(ctx)?.group(caller(ctx)?, name) else { return Ok(None) };
        if let Some(entity) = share_of(kind, rest) {
            let Some(found) = self.shares.get(name) else { return Ok(None) };
            return Ok(match entity {
                Owner::User(member) => found.user(member)?.map(|row| UserFairShare::new(&group, row).into()),
                Owner::Domain(name) => found.domain(&name)?.map(|row| DomainFairShare::new(&group, row).into()),
                Owner::Project(id) => found.project(id)?.map(|row| ProjectFairShare::new(&group, row).into()),
            });
        }
        match (kind, rest) {
            (Queue::KIND, [name]) => {
                let found = group.whole()?.queues.get(name.as_str()).cloned();
                Ok(found.map(|config| Queue { group: Arc::clone(&group.name), config }.into()))
            }
            (ScalingGroup::KIND, []) => Ok(Some(ScalingGroup(group).into())),
            (FairShareWeightNode::KIND, [tier, ids @ ..]) => {
                let facts = group.whole()?;
                let row = entity(tier, ids).and_then(|target| facts.weight_row(target));
                Ok(row.map(|row| FairShareWeightNode::new(&group, row).into()))
            }
            _ => Ok(None),
        }
    }
}

/// The owner of the fair share with this global id.
fn share_of(kind: &str, key: &[String]) -> Option<Owner> {
    match kind {
        DomainFairShare::KIND => entity("domain", key),
        ProjectFairShare::KIND => entity("project", key),
        UserFairShare::KIND => entity("user", key),
        _ => None,
    }
}

fn entity(tier: &str, ids: &[String]) -> Option<Owner> {
    match (tier, ids) {
        ("domain", [name]) => Some(Owner::Domain(Arc::from(name.as_str()))),
        ("project", [id]) => Some(Owner::Project(ProjectId(id.parse().ok()?))),
        ("user", [user, project]) => {
            Some(Owner::User(Member { user: UserId(user.parse().ok()?), project: ProjectId(project.parse().ok()?) }))
        }
        _ => None,
    }
}

fn tier(kind: &str) -> Tier {
    match kind {
        DomainUsageBucketNode::KIND => Tier::Domain,
        ProjectUsageBucketNode::KIND => Tier::Project,
        _ => Tier::User,
    }
}

/// The key in the global id of a bucket.
fn bucket_key(kind: &str, group: &str, row: &BucketRow) -> Vec<String> {
    let mut key = vec![group.to_owned()];
    if kind == DomainUsageBucketNode::KIND {
        key.push(row.domain_name.clone());
    }
    key.extend(row.user.map(|u| u.to_string()));
    key.extend(row.project.map(|p| p.to_string()));
    key.push(row.period_start.to_string());
    key
}

/// The filter that finds the one bucket with this key.
fn bucket_filter(kind: &str, key: &[String]) -> Option<(&'static str, Filter<BucketCondition>)> {
    let (start, owner) = key.split_last()?;
    let (kind, mut all) = match (kind, owner) {
        (DomainUsageBucketNode::KIND, [name]) => {
            let own = TextMatch::Like { place: PatternPlace::Whole, pattern: name.clone(), ignore_case: false };
            (DomainUsageBucketNode::KIND, vec![BucketCondition::Domain(own)])
        }
        (ProjectUsageBucketNode::KIND, [project]) => {
            (ProjectUsageBucketNode::KIND, vec![BucketCondition::Project(vec![project.parse().ok()?])])
        }
        (UserUsageBucketNode::KIND, [user, project]) => {
            let user = BucketCondition::User(vec![user.parse().ok()?]);
            (UserUsageBucketNode::KIND, vec![user, BucketCondition::Project(vec![project.parse().ok()?])])
        }
        _ => return None,
    };
    let day = DayMatch { day: start.parse().ok()?, compare: CompareOperator::Equal };
    all.push(BucketCondition::PeriodStart(day));
    Some((kind, Filter::All(all.into_iter().map(Filter::Is).collect())))
}
