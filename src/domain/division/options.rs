//! Options of a division (§2-§5). The JSON keys are those of the stateless shapes.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::queue::{MAX_WEIGHT, OverQuotaBy};
use crate::domain::decimal::Amount;
use crate::domain::slots::SlotName;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rounding {
    #[default]
    Exact,
    Whole,
    Kai,
}

/// How a minimum share and a weight combine under `min_share` (§3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = MinShareRule)]
pub enum Rule {
    #[default]
    Floor,
    OnTop,
}

/// What usage is compared with (§2.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum HistoryBase {
    #[default]
    Cluster,
    Siblings,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProportionVariant {
    #[default]
    KubeBatch,
    Volcano,
}

/// Plug-in weights of the `score` order (§5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ScoreWeights {
    pub priority: Amount,
    pub drf: Amount,
    pub proportion: Amount,
}

impl ScoreWeights {
    /// In the order of [`figures`](super::report::order::figures).
    pub fn as_f64(&self) -> [f64; 3] {
        [self.priority.to_f64(), self.drf.to_f64(), self.proportion.to_f64()]
    }
}

impl Default for ScoreWeights {
    fn default() -> Self {
        Self { priority: Amount::whole(1), drf: Amount::whole(1), proportion: Amount::whole(1) }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(as = DivisionOptions)]
pub struct Options {
    pub rounding: Rounding,
    /// The slots that `rounding: whole` rounds; absent: all.
    pub whole_slots: Option<Vec<String>>,
    pub rule: Rule,
    pub history_gain: Amount,
    pub history_base: HistoryBase,
    /// For the roots; a queue says it for its children.
    pub over_quota_by: OverQuotaBy,
    pub proportion_variant: ProportionVariant,
    pub score_weights: ScoreWeights,
}

impl Options {
    /// The first option out of its range, as (key, reason).
    pub fn fault(&self) -> Option<(&'static str, String)> {
        let score = &self.score_weights;
        let figures = [
            ("history_gain", self.history_gain),
            ("score_weights/priority", score.priority),
            ("score_weights/drf", score.drf),
            ("score_weights/proportion", score.proportion),
        ];
        let too_large = figures.into_iter().find(|(_, value)| *value > MAX_WEIGHT);
        too_large.map(|(key, _)| (key, format!("`{key}` must be at most {MAX_WEIGHT}")))
    }

    /// Whether a slot is divided in whole devices.
    pub fn is_whole(&self, slot: SlotName) -> bool {
        self.rounding == Rounding::Whole
            && self.whole_slots.as_ref().is_none_or(|slots| slots.iter().any(|s| s == slot.as_str()))
    }
}
