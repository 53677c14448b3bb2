//! Connectors of other schedulers, and shadow reports, as GraphQL shows them.

use async_graphql::{ComplexObject, Context, Object, Result, SimpleObject};

use crate::api::connector_round::ConnectorStatus;
use crate::api::sequence::{OwnerPlaces, SequenceAgreement};
use crate::graphql::guard;
use crate::graphql::scalars::{Date, DateTime, JsonString};
use crate::service::connectors::shadow_report::{ComparedDay, LatestComparison, OwnerDay, ShadowReport};
use crate::service::sequence::agreement::ComparedPlace;

/// A connector with its last round.
pub struct ConnectorNode(pub ConnectorStatus);

/// A process that starts the jobs of another scheduler in the order of a resource group, with its last round.
#[Object(name = "Connector", rename_fields = "snake_case")]
impl ConnectorNode {
    /// The cluster whose scheduler it reads.
    async fn cluster(&self) -> &str {
        &self.0.cluster
    }

    /// `slurm`, `htcondor` or `kueue`.
    async fn kind(&self) -> &str {
        self.0.kind.as_str()
    }

    /// The version of the connector.
    async fn version(&self) -> &str {
        &self.0.version
    }

    /// The mode says what it gives to the scheduler: `shadow`: nothing; `factor`: each owner's rank; `order`: the exact order of the first
    /// workloads; `weights`: each queue's weight.
    async fn mode(&self) -> &str {
        self.0.mode.as_str()
    }

    async fn resource_group(&self) -> &str {
        &self.0.resource_group
    }

    /// When the server got the report of the last round.
    async fn last_round_at(&self) -> DateTime {
        DateTime(self.0.last_round_at)
    }

    /// The last round, as `GET /connectors` shows it.
    async fn last(&self) -> JsonString {
        JsonString::of(&self.0.last)
    }
}

/// The agreement of a sequence with the order that is in force elsewhere. Places are those among the workloads of both orders.
#[derive(SimpleObject)]
#[graphql(name = "SequenceAgreement", rename_fields = "snake_case")]
pub struct SequenceAgreementNode {
    /// How many workloads both orders have; with a limit, of those among the first workloads of either order.
    compared: usize,
    /// How many of the compared workloads have the same place in both.
    same_place: usize,
    /// Kendall's tau of the compared workloads: 1 for equal orders, -1 for an order and its reverse; null for fewer than two.
    kendall_tau: Option<f64>,
    /// The owners whose workloads are further ahead in this order, at most 20, the one with the most places first.
    gain: Vec<OwnerPlacesNode>,
    /// The owners whose workloads are further back in this order, likewise.
    lose: Vec<OwnerPlacesNode>,
}

/// The places that all workloads of one owner gain or lose together.
#[derive(SimpleObject)]
#[graphql(name = "OwnerPlaces", rename_fields = "snake_case")]
pub struct OwnerPlacesNode {
    /// The user's name, or the UUID where there is none.
    user_name: String,
    /// The project's name, or the UUID where there is none.
    project_name: String,
    /// The sum over the owner's workloads, above 0.
    places: u64,
}

impl From<SequenceAgreement> for SequenceAgreementNode {
    fn from(agreement: SequenceAgreement) -> Self {
        let SequenceAgreement { compared, same_place, kendall_tau, gain, lose } = agreement;
        let owner =
            |OwnerPlaces { user_name, project_name, places }| OwnerPlacesNode { user_name, project_name, places };
        let (gain, lose) = (gain.into_iter().map(owner).collect(), lose.into_iter().map(owner).collect());
        Self { compared, same_place, kendall_tau, gain, lose }
    }
}

/// The agreement of a group's order with that of another scheduler, now and by day.
#[derive(SimpleObject)]
#[graphql(name = "ShadowReport", rename_fields = "snake_case", complex)]
pub struct ShadowReportNode {
    /// The cluster of the last comparison.
    cluster: String,
    /// The mode of its connector.
    mode: String,
    latest: LatestComparisonNode,
    /// The number of owners that `owners` lacks, because it has at most 50,000 rows. Those with the most places in the range stay.
    owners_left_out: u64,
    #[graphql(skip)]
    days: Vec<ComparedDayNode>,
    #[graphql(skip)]
    owners: Vec<OwnerDayNode>,
}

// Each list is charged with its own fields. Charged with those of the whole report, its rows would cost several times as much.
#[ComplexObject(rename_fields = "snake_case")]
impl ShadowReportNode {
    /// The days of the range that have rounds, by date.
    async fn days(&self, ctx: &Context<'_>) -> Result<&[ComparedDayNode]> {
        guard::spend_rows(ctx, self.days.len())?;
        Ok(&self.days)
    }

    /// The owners who gained or lost places, by date; those who gained most come first.
    async fn owners(&self, ctx: &Context<'_>) -> Result<&[OwnerDayNode]> {
        guard::spend_rows(ctx, self.owners.len())?;
        Ok(&self.owners)
    }
}

/// The last comparison.
#[derive(SimpleObject)]
#[graphql(name = "LatestComparison", rename_fields = "snake_case", complex)]
struct LatestComparisonNode {
    taken_at: DateTime,
    /// How many workloads were compared.
    compared: usize,
    /// How many of them have the same place in both orders.
    same_place: usize,
    /// 1 for equal orders, -1 for an order and its reverse; null for fewer than two workloads.
    kendall_tau: Option<f64>,
    #[graphql(skip)]
    ours: Vec<ComparedPlaceNode>,
}

#[ComplexObject(rename_fields = "snake_case")]
impl LatestComparisonNode {
    /// The first workloads of the group's order, at most 200.
    async fn ours(&self, ctx: &Context<'_>) -> Result<&[ComparedPlaceNode]> {
        guard::spend_rows(ctx, self.ours.len())?;
        Ok(&self.ours)
    }
}

/// A workload with its places in both orders, from 1, among the workloads that both have.
#[derive(SimpleObject)]
#[graphql(name = "ComparedPlace", rename_fields = "snake_case")]
struct ComparedPlaceNode {
    workload_id: String,
    user_name: String,
    project_name: String,
    /// In the group's order.
    place: u32,
    /// In the order of the other scheduler.
    current_place: u32,
}

/// The rounds of one day.
#[derive(SimpleObject)]
#[graphql(name = "ComparedDay", rename_fields = "snake_case")]
struct ComparedDayNode {
    date: Date,
    /// How many rounds have compared the orders.
    rounds: u64,
    /// The sum over the rounds.
    compared: u64,
    /// The sum over the rounds.
    same_place: u64,
    /// The mean over the rounds that have one; null: none has.
    kendall_tau: Option<f64>,
}

/// The places that an owner gained on one day.
#[derive(SimpleObject)]
#[graphql(name = "OwnerDay", rename_fields = "snake_case")]
struct OwnerDayNode {
    user_name: String,
    project_name: String,
    date: Date,
    /// The sum over all rounds and workloads; below 0 for a loss.
    places_gained: i64,
}

impl From<ShadowReport> for ShadowReportNode {
    fn from(report: ShadowReport) -> Self {
        let ShadowReport { cluster, mode, latest, days, owners, owners_left_out } = report;
        let LatestComparison { taken_at, compared, same_place, kendall_tau, ours } = latest;
        let ours = ours.into_iter().map(ComparedPlaceNode::from).collect();
        Self {
            cluster,
            mode: mode.as_str().to_owned(),
            latest: LatestComparisonNode { taken_at: DateTime(taken_at), compared, same_place, kendall_tau, ours },
            owners_left_out,
            days: days.into_iter().map(ComparedDayNode::from).collect(),
            owners: owners.into_iter().map(OwnerDayNode::from).collect(),
        }
    }
}

impl From<ComparedPlace> for ComparedPlaceNode {
    fn from(row: ComparedPlace) -> Self {
        let ComparedPlace { workload_id, user_name, project_name, place, current_place } = row;
        Self { workload_id, user_name, project_name, place, current_place }
    }
}

impl From<ComparedDay> for ComparedDayNode {
    fn from(row: ComparedDay) -> Self {
        let ComparedDay { date, rounds, compared, same_place, kendall_tau } = row;
        Self { date: Date(date), rounds, compared, same_place, kendall_tau }
    }
}

impl From<OwnerDay> for OwnerDayNode {
    fn from(row: OwnerDay) -> Self {
        let OwnerDay { user_name, project_name, date, places_gained } = row;
        Self { user_name, project_name, date: Date(date), places_gained }
    }
}
