//! The weights of the `score` order of queues (DIVISION §5).

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::decimal::Amount;
use crate::flat::FlatPart;
use crate::option_facts::{OptionFacts, OptionValues};
use crate::queues::MAX_WEIGHT;

/// Plug-in weights of the `score` order (DIVISION §5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ScoreWeights {
    pub priority: Amount,
    pub drf: Amount,
    pub proportion: Amount,
}

impl ScoreWeights {
    /// The weights in the order of [`figures`](super::report::order::figures).
    pub fn as_f64(&self) -> [f64; 3] {
        [self.priority.to_f64(), self.drf.to_f64(), self.proportion.to_f64()]
    }
}

impl Default for ScoreWeights {
    fn default() -> Self {
        Self { priority: Amount::whole(1), drf: Amount::whole(1), proportion: Amount::whole(1) }
    }
}

/// The option of the order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ScoreOptions {
    pub score_weights: ScoreWeights,
}

impl ScoreWeights {
    fn facts() -> Vec<OptionFacts> {
        let weight =
            |key, title, said| OptionFacts::new(key, title, OptionValues::Decimal { maximum: MAX_WEIGHT }, said);
        vec![
            weight("priority", "Priority", "How much the priority of a queue counts."),
            weight("drf", "Dominant share", "How much a small dominant share of a queue counts."),
            weight("proportion", "Proportion", "How much it counts that a queue has little of what it deserves."),
        ]
    }
}

impl FlatPart for ScoreOptions {
    fn facts() -> Vec<OptionFacts> {
        let said = "How much each figure of a queue counts in the order by score.";
        vec![OptionFacts::new("score_weights", "Weights of the score", OptionValues::Object(ScoreWeights::facts), said)]
    }
}
