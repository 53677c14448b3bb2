//! Weights and the results of writing them, as GraphQL shows them.

use async_graphql::{Context, ID, Object, Result, SimpleObject};

use super::InputWarning;
use crate::domain::decimal::f64_text;
use crate::domain::ids::Owner;
use crate::domain::weight::Weight;
use crate::engine::group::snapshots::entitlements::Entitlement;
use crate::graphql::global_id;
use crate::graphql::orders::FairShareWeightTargetType;
use crate::graphql::query::service;
use crate::graphql::scalars::Uuid;
use crate::service::VisibleGroup;
use crate::service::weights::WeightRow;

/// A weight of a domain, a project, or a user in a project.
#[derive(Clone)]
pub struct FairShareWeightNode {
    pub group: VisibleGroup,
    pub target: Owner,
    pub weight: Weight,
}

impl FairShareWeightNode {
    pub const KIND: &str = "FairShareWeightNode";

    /// The weight in force: a row whose weight was unset shows the group's default.
    pub fn new(group: &VisibleGroup, row: WeightRow) -> Self {
        let weight = row.weight.unwrap_or(group.options.default_weight);
        Self { group: group.clone(), target: row.target, weight }
    }

    pub fn target_type(&self) -> FairShareWeightTargetType {
        match &self.target {
            Owner::Domain(_) => FairShareWeightTargetType::Domain,
            Owner::Project(_) => FairShareWeightTargetType::Project,
            Owner::User(_) => FairShareWeightTargetType::User,
        }
    }

    pub fn target_id(&self) -> String {
        match &self.target {
            Owner::Domain(name) => name.to_string(),
            Owner::Project(id) => id.to_string(),
            Owner::User(member) => member.user.to_string(),
        }
    }

    fn entitlement(&self) -> Entitlement {
        self.group.entitlement(&self.target)
    }

    pub fn project_id(&self) -> Option<uuid::Uuid> {
        match &self.target {
            Owner::User(member) => Some(member.project.0),
            _ => None,
        }
    }
}

/// Rows as nodes of `group`.
pub fn weight_rows(group: &VisibleGroup, rows: Vec<WeightRow>) -> Vec<FairShareWeightNode> {
    rows.into_iter().map(|row| FairShareWeightNode::new(group, row)).collect()
}

#[Object(rename_fields = "snake_case")]
impl FairShareWeightNode {
    pub async fn id(&self) -> ID {
        let key = match &self.target {
            Owner::Domain(name) => vec!["domain".to_owned(), name.to_string()],
            Owner::Project(id) => vec!["project".to_owned(), id.to_string()],
            Owner::User(m) => vec!["user".to_owned(), m.user.to_string(), m.project.to_string()],
        };
        let mut parts = vec![&*self.group.name];
        parts.extend(key.iter().map(String::as_str));
        global_id::encode(Self::KIND, &parts)
    }

    async fn resource_group(&self) -> &str {
        &self.group.name
    }

    #[graphql(name = "target_type")]
    async fn kind(&self) -> FairShareWeightTargetType {
        self.target_type()
    }

    /// The domain's name, or the id of the project or user.
    #[graphql(name = "target_id")]
    async fn target(&self) -> String {
        self.target_id()
    }

    /// The project that a user's weight counts in.
    #[graphql(name = "project_id")]
    async fn project(&self) -> Option<Uuid> {
        self.project_id().map(Uuid)
    }

    /// The name to show beside the target's id, if there is one.
    async fn target_name(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        let people = service(ctx)?.people();
        let name = match &self.target {
            Owner::Domain(_) => None,
            Owner::Project(id) => people.project_name(*id),
            Owner::User(member) => people.user_name(member.user),
        };
        Ok(name.map(|name| name.to_string()))
    }

    /// The name to show beside the project's id, if there is one.
    async fn project_name(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        let Owner::User(member) = &self.target else { return Ok(None) };
        Ok(service(ctx)?.people().project_name(member.project).map(|name| name.to_string()))
    }

    #[graphql(name = "weight")]
    async fn in_force(&self) -> String {
        self.weight.to_string()
    }

    /// The share that the weight stands for: a part of the whole group from 0 to 1, by weight among all siblings of
    /// each tier.
    async fn nominal_share(&self) -> String {
        f64_text(self.entitlement().nominal.of_group)
    }

    /// A part of what the parent has.
    async fn nominal_share_of_parent(&self) -> String {
        f64_text(self.entitlement().nominal.of_parent)
    }

    /// A part of the whole group, by weight among those siblings that are active.
    async fn entitled_share(&self) -> String {
        f64_text(self.entitlement().entitled.of_group)
    }

    /// A part of what the parent has, among those siblings.
    async fn entitled_share_of_parent(&self) -> String {
        f64_text(self.entitlement().entitled.of_parent)
    }
}

/// The result of a write of weights.
#[derive(SimpleObject)]
#[graphql(rename_fields = "snake_case")]
pub struct UpsertFairShareWeightsResult {
    /// Weights that are set now, new, changed or confirmed.
    pub upserted_count: u64,
    /// Weights that were set before and are not any more.
    pub deleted_count: u64,
    /// The weights that this write set or unset.
    pub affected_weights: Vec<FairShareWeightNode>,
    /// Likely mistakes; never a refusal.
    pub warnings: Vec<InputWarning>,
}
