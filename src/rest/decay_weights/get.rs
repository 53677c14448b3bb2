//! `GET /resource-groups/{rg}/decay-weights`: how much usage of each age counts, by the options in force.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::explain::exact_text;
use crate::rest::extract::PathParams;
use crate::rest::paths::GroupPath;
use crate::rest::problem::Result;
use crate::service::{Caller, Service};

/// How much usage counts by its age (FAIR_SHARE §6).
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({"decay": "flat", "half_life_days": 2, "lookback_days": 4, "weights": ["1", "1", "0.5", "0.5"]}))]
pub struct DecayWeights {
    pub decay: &'static str,
    pub half_life_days: u32,
    pub lookback_days: u32,
    /// One for each day of the look-back: the first is that of usage of today, the second that of yesterday. Older usage does not
    /// count.
    pub weights: Vec<String>,
}

/// How much usage of each age counts in the group, by the options in force.
#[utoipa::path(
    get, path = "/resource-groups/{rg}/decay-weights", operation_id = "get_decay_weights", tag = "Fair share",
    params(GroupPath), responses((status = 200, body = DecayWeights))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
) -> Result<Json<DecayWeights>> {
    let group = service.group(&caller, &path.rg)?;
    let options = &group.options;
    Ok(Json(DecayWeights {
        decay: options.decay.name(),
        half_life_days: options.half_life_days,
        lookback_days: options.lookback_days,
        weights: options.decay_weights().into_iter().map(exact_text).collect(),
    }))
}
