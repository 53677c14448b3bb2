//! The answer of an explanation. Numbers are decimal texts. Computed ones have the shortest form that parses to the
//! same number, so that a reader can repeat the calculation to the last digit.

use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::domain::decimal::Usage;
use crate::domain::sequencer::OrderDecision;
use crate::domain::slots::{SlotAmounts, SlotUsages};
use crate::domain::time::{Day, Timestamp};
use crate::domain::weight::{EffectiveWeight, Weight};
use crate::service::share_parts::ShareParts;
use crate::service::workloads::answer::WaitingState;

/// The domain, project or user that an explanation or a part of it is about.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub struct EntityRef {
    /// Only of users.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_uuid: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub user_name: Option<Arc<str>>,
    /// Not of domains.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_id: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub project_name: Option<Arc<str>>,
    #[schema(value_type = String)]
    pub domain_name: Arc<str>,
}

/// Why a domain, a project or a user stands where it stands, and what would change that.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "resource_group": "gpu-cluster", "tier": "user", "user_uuid": "4e0acbd2-a978-552c-8bf6-c4cd86b91373",
    "user_name": "amelia", "project_id": "7f0f99a5-9516-5e15-9f6c-1abd5eb5b9ed", "project_name": "vision",
    "domain_name": "research", "summary": "28th of 30. 18 % of what counts is yesterday's 232 hours of cuda.device.",
    "in_group": true, "rank": 28, "place": 28, "of": 30, "equals": 0, "order": "flat",
    "formula": {
        "normalized_usage": "0.018390487232548235", "effective_weight": "2", "exponent": "0.009195243616",
        "fair_share_factor": "0.993646611481", "text": "2 ^ -(0.018390487232548235 / 2) = 0.993646611481"
    },
    "weights": [
        {
            "tier": "domain", "weight": "2", "source": "set", "set_by": "demo", "set_at": "2026-01-12T20:00:00Z",
            "reason": "research comes first, courses and theses second", "nominal_share": "0.444444444444",
            "nominal_share_of_parent": "0.444444444444", "entitled_share": "0.444444444444",
            "entitled_share_of_parent": "0.444444444444"
        }
    ],
    "rules": {
        "calculated_at": "2026-01-13T05:54:40Z", "today": "2026-01-13", "decay": "flat", "half_life_days": 7,
        "lookback_days": 28, "decay_unit_days": 1,
        "resource_weights": {"cpu": "0.25", "cuda.device": "1", "mem": "0.1"}
    },
    "buckets": [
        {
            "period_start": "2026-01-13", "period_end": "2026-01-13",
            "resource_usage": {"cpu": "2042888.979456", "cuda.device": "340481.496576", "mem": "17548282712244671.741952"},
            "capacity_snapshot": {"cpu": "767.998722877322", "cuda.device": "95.999840359665", "mem": "6597058796255.729410314221"},
            "age_days": 0, "decay_weight": "1", "normalized_usage": "0.03838900715232563",
            "contribution": "0.0013710359697259153", "part": "0.074551367367"
        }
    ],
    "unrecorded": {
        "resource_usage": {"cpu": "1288.73232", "cuda.device": "214.78872", "mem": "11070126335396.41344"},
        "normalized_usage": "0.0000008649018051577307"
    },
    "committed": {
        "resource_usage": {"cpu": "7680215.504736", "cuda.device": "1280035.917456", "mem": "65972548838146506.227712"},
        "normalized_usage": "0.005154392538278668"
    },
    "above": {
        "decided_by": "user",
        "who": {
            "user_uuid": "72c986c3-4c8a-5fba-b56e-d1a3f5fa9244", "user_name": "niko",
            "project_id": "17c3ccca-1535-516d-a997-af6f8d27b88f", "project_name": "theses",
            "domain_name": "education"
        },
        "place": 27,
        "theirs": {"normalized_usage": "0.004159399088130916", "effective_weight": "0.5", "exponent": "0.008318798176"},
        "yours": {"normalized_usage": "0.018390487232548235", "effective_weight": "2", "exponent": "0.009195243616"},
        "because": "the user has used less for their weight: 0.004159399088130916 / 0.5 is less than 0.018390487232548235 / 2."
    },
    "below": {
        "decided_by": "user",
        "who": {
            "user_uuid": "69de7be2-49f1-5417-b6d6-7c186c467c37", "user_name": "pavel",
            "project_id": "f61393e4-0340-5edf-8727-664391eaa539", "project_name": "robotics",
            "domain_name": "research"
        },
        "place": 29,
        "theirs": {"normalized_usage": "0.018601344269884683", "effective_weight": "2", "exponent": "0.009300672135"},
        "yours": {"normalized_usage": "0.018390487232548235", "effective_weight": "2", "exponent": "0.009195243616"},
        "because": "the user has used more for their weight: 0.018601344269884683 / 2 is more than 0.018390487232548235 / 2."
    },
    "if_nothing_is_run": {
        "from": "2026-01-13T05:54:53Z",
        "next_run": {
            "date": "2026-01-13", "place": 28, "normalized_usage": "0.018391352134353393",
            "fair_share_factor": "0.993646313633", "decayed": []
        },
        "dates": [
            {
                "date": "2026-01-23", "place": 29, "normalized_usage": "0.006620062705920115",
                "fair_share_factor": "0.997708291084",
                "decayed": [{"period_start": "2026-01-09", "decay_weight": "0.25"}]
            }
        ],
        "until": "2026-01-23"
    },
    "weights_for_places": [{"wanted": 1, "place": 1, "weight": "741.9147"}],
    "costs": {
        "place": 29, "normalized_usage": "0.00021085703845176267",
        "any_of": {"cpu": "2115505.379", "cuda.device": "66109.544", "mem": "45430132084614664"}
    }
}))]
pub struct Explanation {
    pub resource_group: String,
    /// `domain`, `project` or `user`.
    pub tier: &'static str,
    #[serde(flatten)]
    pub whom: EntityRef,
    /// The most important of it in plain words.
    pub summary: String,
    /// True if the ranking lists it.
    pub in_group: bool,
    /// As in the fair-share status: users and domains rank in the group, projects in their domain, each by its own exponent.
    pub rank: Option<u32>,
    /// The place in the order in which workloads start, `order` considered; equals share a place. `null` outside of the group.
    pub place: Option<u32>,
    /// How many are compared.
    pub of: usize,
    /// How many others have the same place.
    pub equals: u32,
    /// `flat` or `tiered`: what the place follows from.
    pub order: &'static str,
    pub formula: FactorFormula,
    /// The figures of `sshare -l`, from the domain down; only under the schedulers `slurm_fair_tree` and `slurm_classic`. Then
    /// `if_nothing_is_run` and `weights_for_places` are empty, and `costs` is `null`. Keys of users see only their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub tree_levels: Option<Vec<TreeLevel>>,
    /// The weights that divide the usage, from the domain down.
    pub weights: Vec<WeightPart>,
    pub rules: CountingRules,
    /// Every bucket that counts, ascending.
    pub buckets: Vec<BucketPart>,
    pub unrecorded: UnrecordedUsage,
    pub committed: UnrecordedUsage,
    pub above: Option<RankNeighbour>,
    pub below: Option<RankNeighbour>,
    pub if_nothing_is_run: RankOutlook,
    /// The weights that lead to other places, if all else stays as it is.
    pub weights_for_places: Vec<WeightForPlace>,
    /// The least usage of today that costs the place; `null`: no usage does. A user's project and domain use it too, and with
    /// `order: tiered` they are compared first.
    pub costs: Option<PlaceCost>,
    /// The workload that was asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub workload: Option<WaitingWorkload>,
}

/// The factor, filled in.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct FactorFormula {
    /// The sum over the buckets, in their order, of `decay_weight x normalized_usage`, divided by `lookback_days`.
    pub normalized_usage: String,
    /// The product of the weights.
    #[schema(value_type = String)]
    pub effective_weight: EffectiveWeight,
    /// `normalized_usage / effective_weight` rounded to 12 places: smaller comes first. Of users under `slurm_fair_tree`: how far
    /// the rank is below the best one.
    pub exponent: String,
    /// `2 ^ -(normalized_usage / effective_weight)` rounded to 12 places; under the schedulers of Slurm as `text` says.
    pub fair_share_factor: String,
    /// All of it in one line.
    pub text: String,
}

/// An account or a user of Slurm's tree, with the figures of `sshare -l`.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "tier": "project", "name": "climate", "raw_shares": "2", "normalized_shares": "0.666666666667", "raw_usage": "3600",
    "normalized_usage": "0.6", "effective_usage": "0.75", "fair_share": "0.458502020218", "level_fair_share": "0.888888888889"
}))]
pub struct TreeLevel {
    /// `domain`, `project` or `user`. A project that has the name of its domain is no level of its own.
    pub tier: &'static str,
    pub name: String,
    /// `RawShares`: the weight.
    #[schema(value_type = String)]
    pub raw_shares: Weight,
    /// `NormShares`.
    pub normalized_shares: String,
    /// `RawUsage`: decayed slot-seconds of the slot that is counted.
    #[schema(value_type = String)]
    pub raw_usage: Usage,
    /// `NormUsage`.
    pub normalized_usage: String,
    /// `EffectvUsage`.
    pub effective_usage: String,
    /// `FairShare`; of accounts under `slurm_fair_tree` `2 ^ -(effective_usage / normalized_shares)`, where `sshare` shows nothing.
    pub fair_share: String,
    /// `LevelFS` of the fair tree: `normalized_shares / effective_usage`; `null`: infinite, as nothing was used.
    pub level_fair_share: Option<String>,
}

/// By which options the buckets count.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct CountingRules {
    /// `null`: not calculated yet.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub calculated_at: Option<Timestamp>,
    #[schema(value_type = String, format = Date)]
    pub today: Day,
    /// `flat`: half for each whole half-life; `continuous`: by the exact age.
    pub decay: &'static str,
    pub half_life_days: u32,
    pub lookback_days: u32,
    pub decay_unit_days: u32,
    /// Empty: every slot with capacity counts 1.
    #[schema(value_type = BTreeMap<String, String>)]
    pub resource_weights: SlotAmounts,
}

/// One of the weights that are multiplied.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct WeightPart {
    /// `domain`, `project` or `user`.
    pub tier: &'static str,
    #[schema(value_type = String)]
    pub weight: Weight,
    /// `default` or `set`.
    pub source: &'static str,
    /// The author of the setting, as the audit log names them; `null` for a default, or if the audit log does not say.
    pub set_by: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub set_at: Option<Timestamp>,
    /// The reason that was given.
    pub reason: Option<String>,
    #[serde(flatten)]
    pub shares: ShareParts,
}

/// One bucket, and what it counts for.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct BucketPart {
    #[schema(value_type = String, format = Date)]
    pub period_start: Day,
    #[schema(value_type = String, format = Date)]
    pub period_end: Day,
    /// Slot-seconds.
    #[schema(value_type = BTreeMap<String, String>)]
    pub resource_usage: SlotUsages,
    #[schema(value_type = BTreeMap<String, String>)]
    pub capacity_snapshot: SlotAmounts,
    pub age_days: u32,
    pub decay_weight: String,
    /// The mean over the slots of `usage / (capacity x 86400)`, weighed with `resource_weights`.
    pub normalized_usage: String,
    /// `decay_weight x normalized_usage / lookback_days`.
    pub contribution: String,
    /// The contribution as a part of all, 0 to 1; under the schedulers of Slurm by the slot that they count.
    pub part: String,
}

/// Usage that no run has recorded yet, or that is still to come. The factor does not contain it; progressive sequences do.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct UnrecordedUsage {
    /// Slot-seconds.
    #[schema(value_type = BTreeMap<String, String>)]
    pub resource_usage: SlotUsages,
    /// As a part of the window's capacity.
    pub normalized_usage: String,
}

/// The owner right before or after. Keys of users see only the deciding difference.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct RankNeighbour {
    /// The tier whose exponents differ first: `domain`, `project` or `user`.
    pub decided_by: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub who: Option<EntityRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub place: Option<u32>,
    /// The figures of the neighbour in that tier.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub theirs: Option<ComparedSide>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub yours: Option<ComparedSide>,
    /// Why the one comes before the other, in plain words.
    pub because: String,
}

/// The figures of one side of a comparison.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ComparedSide {
    pub normalized_usage: String,
    #[schema(value_type = String)]
    pub effective_weight: EffectiveWeight,
    /// Smaller comes first.
    pub exponent: String,
}

/// How place and factor change if nothing is run from now on: running kernels end now.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct RankOutlook {
    /// From when on nothing is run.
    #[schema(value_type = String, format = DateTime)]
    pub from: Timestamp,
    /// Once the next run has recorded what was used until then; `null` outside of the group, and under the schedulers of Slurm.
    pub next_run: Option<OutlookDate>,
    /// The days on which the place or the factor is another than the day before, at most 10.
    pub dates: Vec<OutlookDate>,
    /// All such days until this one are listed.
    #[schema(value_type = String, format = Date)]
    pub until: Day,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct OutlookDate {
    #[schema(value_type = String, format = Date)]
    pub date: Day,
    pub place: u32,
    pub normalized_usage: String,
    pub fair_share_factor: String,
    /// The buckets whose decay weight changes on this day.
    pub decayed: Vec<DecayedBucket>,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct DecayedBucket {
    #[schema(value_type = String, format = Date)]
    pub period_start: Day,
    /// From this day on; "0": it has left the window.
    pub decay_weight: String,
}

/// The weight that leads to a place, if all else stays as it is.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct WeightForPlace {
    /// The place that the request asks for.
    pub wanted: u32,
    /// The place that the weight leads to, which equals may put before the one that was asked for; `null` without one.
    pub place: Option<u32>,
    /// For a better place the smallest weight that leads there, for a worse one the largest; `null`: no weight does.
    #[schema(value_type = Option<String>)]
    pub weight: Option<Weight>,
}

/// Usage that costs the place.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct PlaceCost {
    /// The place after it; in tiers a little more may pass those whose domain or project equals.
    pub place: u32,
    /// As a part of the window's capacity.
    pub normalized_usage: String,
    /// The least usage that comes to it in each slot alone, in slot-seconds of today: exact decimals, rounded up to a thousandth.
    #[schema(value_type = BTreeMap<String, String>)]
    pub any_of: std::collections::BTreeMap<&'static str, Usage>,
}

/// A workload in the last sequence that named it.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct WaitingWorkload {
    pub workload_id: String,
    #[schema(value_type = String, format = DateTime)]
    pub sequenced_at: Timestamp,
    /// `plain` or `progressive`.
    pub mode: &'static str,
    /// From 1; `null`, like `ahead`, `owners_ahead` and `reason`, if it was reported and can never start.
    pub position: Option<u64>,
    /// How many workloads the sequence has.
    pub of: usize,
    /// How many are before it.
    pub ahead: Option<u64>,
    /// The number of owners of those workloads.
    pub owners_ahead: Option<u64>,
    pub reason: Option<WaitingReason>,
    /// The reason why it waits, as the newest scheduling cycle of the group found it; absent if the workload is not reported, or could
    /// start now.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub waiting: Option<WaitingState>,
}

/// Why a workload does not come before the one right before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct WaitingReason {
    /// The deciding difference: `first`, `domain`, `project`, `user`, `dominant_share`, `queue`, `priority`,
    /// `submitted_at`, `workload_id`
    /// or `given_order`.
    pub decided_by: &'static str,
    pub because: &'static str,
}

impl WaitingReason {
    /// The reason of a decision. With `latest_first`, equal workloads start in reverse order.
    pub fn of(decision: OrderDecision, latest_first: bool) -> Self {
        Self { decided_by: decision.as_str(), because: decision.reason_text(latest_first) }
    }
}
