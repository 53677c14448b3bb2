//! The full report of a division: the answer of the live endpoint, of the stateless one and of the command line.

pub mod explanation;
pub mod lint;
pub mod order;
pub mod state;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::algorithms::{
    DivisionAlgorithm, DivisionOptions, DivisionResult, MinShareRatios, algorithm, algorithm_names,
};
use super::fraction::Fraction;
use super::trace::DivisionTrace;
use super::tree::QueueTree;
use super::tree::grid::QueueSlotGrid;
use super::tree::warning::DivisionWarning;
use crate::decimal::Amount;
use crate::fault::Fault;
use crate::flat::FlatPart;
use crate::queues::{MAX_QUEUES, QueueSpec};
use crate::reading::at_most;
use crate::slots::{SlotAmounts, SlotMap};
use explanation::ShownStep;
use lint::lint;
use order::{QueueScore, by_saturation, by_score, queue_scores};
use state::{QueueAllocation, QueueState};

/// A division that needs no server.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "algorithm": "quota_over_quota", "capacity": {"gpu": 36}, "explain": true, "queues": [
        {"name": "p1", "quota": {"gpu": 10}, "over_quota_weight": 2, "request": {"gpu": 36}},
        {"name": "p2", "quota": {"gpu": 6}, "over_quota_weight": 3, "request": {"gpu": 36}},
        {"name": "p3", "over_quota_weight": 1, "request": {"gpu": 36}}
    ]
}))]
pub struct DivisionSimulation {
    #[schema(schema_with = crate::schemas::algorithm)]
    pub algorithm: String,
    #[serde(default)]
    pub options: DivisionOptions,
    pub capacity: SlotAmounts,
    #[serde(deserialize_with = "at_most::<MAX_QUEUES, _, _>")]
    #[schema(max_items = 100_000)]
    pub queues: Vec<QueueSpec>,
    /// True if the answer explains the amounts of every queue.
    #[serde(default)]
    pub explain: bool,
}

impl DivisionSimulation {
    /// Runs the division. Every fault of the input names its place.
    pub fn run(self) -> Result<DivisionReport, Vec<Fault>> {
        let algorithm = check(&self.algorithm, &self.options);
        let tree = QueueTree::build(&self.queues, &self.capacity);
        match (algorithm, tree) {
            (Ok(algorithm), Ok(tree)) => Ok(DivisionReport::of(&tree, algorithm, &self.options, self.explain)),
            (algorithm, tree) => Err([algorithm.err().unwrap_or_default(), tree.err().unwrap_or_default()].concat()),
        }
    }
}

/// The algorithm of that name. Also checks that the options are in their ranges.
pub fn check(name: &str, options: &DivisionOptions) -> Result<&'static dyn DivisionAlgorithm, Vec<Fault>> {
    let mut faults = Vec::new();
    let algorithm = algorithm(name);
    if algorithm.is_none() {
        let known = algorithm_names().collect::<Vec<_>>().join(", ");
        faults.push(Fault::about("/algorithm", "unknown_algorithm", format!("is not one of {known}")));
    }
    faults.extend(options.fault().map(|fault| fault.below("/options")));
    algorithm.filter(|_| faults.is_empty()).ok_or(faults)
}

/// The division of a whole cluster among its queues. Decimals are texts.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "queues": [
        {
            "name": "p1", "fair_share": {"gpu": "16.666666666667"}, "state": "in_quota",
            "slot_states": {"gpu": "in_quota"}, "saturation_ratio": {"gpu": "0"}, "dominant_share": "0",
            "score": {"total": "3", "priority": "1", "drf": "1", "proportion": "1"}
        },
        {
            "name": "p2", "fair_share": {"gpu": "16"}, "state": "in_quota", "slot_states": {"gpu": "in_quota"},
            "saturation_ratio": {"gpu": "0"}, "dominant_share": "0",
            "score": {"total": "3", "priority": "1", "drf": "1", "proportion": "1"}
        },
        {
            "name": "p3", "fair_share": {"gpu": "3.333333333333"}, "state": "in_quota",
            "slot_states": {"gpu": "in_quota"}, "saturation_ratio": {"gpu": "0"}, "dominant_share": "0",
            "score": {"total": "3", "priority": "1", "drf": "1", "proportion": "1"}
        }
    ],
    "order": ["p3", "p2", "p1"], "score_order": ["p1", "p2", "p3"], "remaining": {"gpu": "0"}, "warnings": [],
    "trace": [
        {
            "queue": "p1",
            "sentence": "gets 16.666666666667 of 36 gpu: 10 quota + 2/6 of the 20 unused + 0.000000000001 last digit",
            "steps": [
                {"slot": "gpu", "rule": "quota", "gift": "10"},
                {
                    "slot": "gpu", "rule": "over_quota", "round": 1, "priority": 0, "divided": "20", "weight": "2",
                    "weight_sum": "6", "offer": "6.666666666666", "gift": "6.666666666666"
                },
                {"slot": "gpu", "rule": "last_digit", "gift": "0.000000000001"}
            ]
        },
        {
            "queue": "p2", "sentence": "gets 16 of 36 gpu: 6 quota + 3/6 of the 20 unused",
            "steps": [
                {"slot": "gpu", "rule": "quota", "gift": "6"},
                {
                    "slot": "gpu", "rule": "over_quota", "round": 1, "priority": 0, "divided": "20", "weight": "3",
                    "weight_sum": "6", "offer": "10", "gift": "10"
                }
            ]
        },
        {
            "queue": "p3", "sentence": "gets 3.333333333333 of 36 gpu: 1/6 of the 20 unused",
            "steps": [
                {
                    "slot": "gpu", "rule": "over_quota", "round": 1, "priority": 0, "divided": "20", "weight": "1",
                    "weight_sum": "6", "offer": "3.333333333333", "gift": "3.333333333333"
                }
            ]
        }
    ]
}))]
pub struct DivisionReport {
    pub queues: Vec<QueueReport>,
    /// Siblings in the queue order of DIVISION §5, depth first.
    pub order: Vec<String>,
    pub score_order: Vec<String>,
    pub remaining: SlotAmounts,
    pub warnings: Vec<DivisionWarning>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Vec<QueueTrace>>,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct QueueReport {
    pub name: String,
    pub fair_share: SlotAmounts,
    pub state: QueueState,
    #[schema(value_type = std::collections::BTreeMap<String, QueueState>)]
    pub slot_states: SlotMap<QueueState>,
    /// Allocated / fair share.
    #[schema(value_type = std::collections::BTreeMap<String, Fraction>)]
    pub saturation_ratio: SlotMap<Fraction>,
    pub dominant_share: Fraction,
    pub score: QueueScore,
    #[serde(flatten)]
    #[schema(value_type = RatioReport)]
    pub ratios: Option<RatioReport>,
}

/// The further figures of `min_share`.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct RatioReport {
    #[schema(required = false)]
    pub usage_ratio: Amount,
    #[schema(required = false)]
    pub demand_ratio: Amount,
    #[schema(required = false)]
    pub fair_share_ratio: Amount,
    #[schema(required = false)]
    pub guaranteed_ratio: Amount,
}

impl From<MinShareRatios> for RatioReport {
    fn from(ratios: MinShareRatios) -> Self {
        Self {
            usage_ratio: ratios.usage,
            demand_ratio: ratios.demand,
            fair_share_ratio: ratios.fair_share,
            guaranteed_ratio: ratios.guaranteed,
        }
    }
}

/// Why a queue gets what it gets.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct QueueTrace {
    pub queue: String,
    pub sentence: String,
    pub steps: Vec<ShownStep>,
}

impl DivisionReport {
    pub fn of(tree: &QueueTree, algorithm: &dyn DivisionAlgorithm, options: &DivisionOptions, explain: bool) -> Self {
        let mut trace = if explain { DivisionTrace::on() } else { DivisionTrace::off() };
        let shares = algorithm.divide(tree, options, &mut trace);
        Self::describe(tree, &shares, (algorithm, options), trace)
    }

    /// Builds the report of shares that are already computed.
    pub fn describe(
        tree: &QueueTree,
        shares: &DivisionResult,
        (algorithm, options): (&dyn DivisionAlgorithm, &DivisionOptions),
        trace: DivisionTrace,
    ) -> Self {
        let DivisionResult { fair_share, remaining, ratios, warnings } = shares;
        let scores = queue_scores(tree, fair_share, &options.score.score_weights);
        let names = |order: Vec<usize>| order.into_iter().map(|q| tree.name(q).to_owned()).collect();
        let ratios = |queue: usize| ratios.as_ref().map(|ratios| ratios[queue].into());
        Self {
            queues: (0..tree.len()).map(|q| queue_report(tree, q, fair_share, scores[q], ratios(q))).collect(),
            order: names(by_saturation(tree, fair_share)),
            score_order: names(by_score(tree, &scores)),
            remaining: tree.amounts(remaining),
            warnings: [lint(tree, algorithm, options), warnings.clone()].concat(),
            trace: trace.explain(tree, |queue, column| fair_share[(queue, column)]).map(|explained| {
                let shown = explained.into_iter().map(|e| QueueTrace {
                    queue: e.queue,
                    sentence: e.sentence,
                    steps: e.steps.iter().map(|s| ShownStep::of(s, tree)).collect(),
                });
                shown.collect()
            }),
        }
    }
}

fn queue_report(
    tree: &QueueTree,
    queue: usize,
    fair_share: &QueueSlotGrid<Amount>,
    score: QueueScore,
    ratios: Option<RatioReport>,
) -> QueueReport {
    let allocated = tree.allocated.row(queue);
    let position = QueueAllocation { tree, queue, allocated, fair_share: fair_share.row(queue) };
    let columns = || tree.slots.iter().copied().enumerate();
    QueueReport {
        name: tree.name(queue).to_owned(),
        fair_share: tree.amounts(fair_share.row(queue)),
        state: position.worst_state(),
        slot_states: columns().map(|(column, slot)| (slot, position.state(column))).collect(),
        saturation_ratio: columns().map(|(column, slot)| (slot, position.saturation(column))).collect(),
        dominant_share: position.dominant_share(|column| allocated[column]),
        score,
        ratios,
    }
}
