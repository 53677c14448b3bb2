//! The weights of the `score` order of queues (DIVISION §5).

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::decimal::Amount;
use crate::fault::Fault;
use crate::flat::{Part, too_large};
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

impl Part for ScoreOptions {
    fn fault(&self) -> Option<Fault> {
        let ScoreWeights { priority, drf, proportion } = self.score_weights;
        let figures = [("priority", priority), ("drf", drf), ("proportion", proportion)];
        figures.into_iter().find_map(|(key, value)| too_large(&format!("score_weights/{key}"), value, MAX_WEIGHT))
    }
}
