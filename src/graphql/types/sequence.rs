//! A sequence as GraphQL shows it: each workload with its place and the reason for it.

use async_graphql::SimpleObject;

use super::{InputWarning, SequenceAgreementNode, StartForecastNode, WorkloadWaiting, input_warnings};
use crate::domain::decimal::f64_text;
use crate::domain::ids::UserId;
use crate::domain::slots::SlotAmounts;
use crate::graphql::scalars::{DateTime, JsonString, Uuid};
use crate::service::sequence::SequencedWorkloads;
use crate::service::workloads::answer::WaitingState;

/// Workloads in the order in which they would start now.
#[derive(SimpleObject)]
#[graphql(rename_fields = "snake_case")]
pub struct Sequence {
    /// The group's scheduler.
    sequencer: String,
    /// `plain` or `progressive`.
    mode: String,
    /// A sentence about the rule that the order follows.
    message: String,
    /// When the factors were calculated; null before the first run.
    calculated_at: Option<DateTime>,
    /// How many workloads are in order, shown or not.
    count: usize,
    pub items: Vec<SequenceItem>,
    /// The agreement with the `current_order` of `input`; null if it has none.
    agreement: Option<SequenceAgreementNode>,
    /// Likely mistakes in the workloads of `input`, to which pointers lead; the order does not depend on it.
    warnings: Vec<InputWarning>,
}

/// A workload in its place.
#[derive(SimpleObject)]
#[graphql(rename_fields = "snake_case")]
pub struct SequenceItem {
    workload_id: String,
    user_uuid: Uuid,
    user_name: Option<String>,
    project_id: Uuid,
    project_name: Option<String>,
    /// From 1.
    position: u64,
    /// The amounts that the waiting members of a reported workload ask for; null for workloads of `input`.
    requested_slots: Option<JsonString>,
    /// "1" for a user and project that the group does not know yet.
    fair_share_factor: String,
    /// The owner's rank; null for an owner that the group does not know yet.
    rank: Option<u32>,
    /// The usage that the workload counts for from its place on, as a part of the look-back window's capacity; in a
    /// progressive
    /// order by `fairshare`.
    charge: Option<String>,
    /// The user's factor once the workload counts; in a progressive order by `fairshare`.
    factor_after: Option<String>,
    /// How many workloads are before it.
    ahead: u64,
    /// The number of owners of those workloads.
    owners_ahead: u64,
    /// The reason why it does not come before the one right before it.
    decided_by: String,
    /// The same in plain words.
    because: String,
    /// Why it can never start as it is, whatever its position; null: nothing keeps it.
    waiting: Option<WorkloadWaiting>,
    /// The time at which it starts, as the newest forecast of the group says; null unless `forecast` of `input` is true, or if none was
    /// made of it.
    forecast: Option<StartForecastNode>,
    /// Which part of the whole group its owner is entitled to; null for an owner that the group does not know yet.
    entitled_share: Option<String>,
    /// Which part of what the owner's project has, likewise.
    entitled_share_of_parent: Option<String>,
}

impl Sequence {
    /// The first of them, or of those of one user; `requested` is what kernels among the workloads ask for.
    pub fn new(
        sequenced: &SequencedWorkloads<'_>,
        requested: &[SlotAmounts],
        only: Option<UserId>,
        first: u32,
    ) -> Self {
        let (group, rows) = (&sequenced.group, sequenced.rows());
        let latest_first = group.scheduler.latest_first();
        let never = |impediment: &_| WorkloadWaiting::of(&WaitingState::of(impediment, sequenced.at));
        let item = |((at, explained), position): ((&u32, &_), u64)| {
            let explained: &crate::service::sequence::ExplainedWorkload = explained;
            let workload = &sequenced.workloads[*at as usize];
            let row = rows.user(workload.owner);
            let project = rows.project(workload.owner.project);
            let entitled = sequenced.entitled(workload.owner);
            let charged = sequenced.charged.get(usize::try_from(position - 1).unwrap_or(usize::MAX));
            SequenceItem {
                workload_id: workload.id.to_string(),
                user_uuid: Uuid(workload.owner.user.0),
                user_name: row.and_then(|row| row.user_name.as_deref()).map(str::to_owned),
                project_id: Uuid(workload.owner.project.0),
                project_name: project.and_then(|row| row.project_name.as_deref()).map(str::to_owned),
                position,
                requested_slots: requested.get(*at as usize).map(JsonString::of),
                fair_share_factor: f64_text(row.map_or(1.0, |row| row.share.fair_share_factor)),
                rank: row.map(|row| rows.users.rank(row.share.exponent)),
                charge: charged.map(|charged| f64_text(charged.charge)),
                factor_after: charged.map(|charged| f64_text(charged.factor_after)),
                ahead: position - 1,
                owners_ahead: explained.owners_ahead,
                decided_by: explained.decision.as_str().to_owned(),
                because: explained.decision.reason_text(latest_first).to_owned(),
                waiting: sequenced.impediments.get(*at as usize).and_then(Option::as_ref).map(never),
                forecast: sequenced.forecasts.as_ref().and_then(|made| made.view(&workload.id)).map(Into::into),
                entitled_share: entitled.map(|part| f64_text(part.of_group)),
                entitled_share_of_parent: entitled.map(|part| f64_text(part.of_parent)),
            }
        };
        let places = sequenced.order.iter().zip(&sequenced.explained).zip(1..);
        let is_shown = |((at, _), _): &((&u32, &_), u64)| {
            only.is_none_or(|user| sequenced.workloads[**at as usize].owner.user == user)
        };
        Self {
            sequencer: group.scheduler.name().to_owned(),
            mode: sequenced.mode.as_str().to_owned(),
            message: group.scheduler.success_message().to_owned(),
            calculated_at: group.calculated_at().map(DateTime),
            count: sequenced.order.len(),
            items: places.filter(is_shown).take(first as usize).map(item).collect(),
            agreement: sequenced.agreement().map(SequenceAgreementNode::from),
            warnings: input_warnings(sequenced.warnings.clone()),
        }
    }
}
