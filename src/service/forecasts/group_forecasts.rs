//! The forecasts of a group at one time, as they are kept in memory and in the database.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::quality::ForecastQuality;
use crate::domain::forecast::{StartForecast, StartPercentiles, UnknownStart};
use crate::domain::time::Timestamp;
use crate::service::{Error, Result};

/// See the module.
#[derive(Debug)]
pub struct GroupForecasts {
    pub as_of: Timestamp,
    /// The number of possible futures that were drawn.
    pub draws: u32,
    pub quality: ForecastQuality,
    /// By workload.
    pub starts: BTreeMap<Arc<str>, StartForecast>,
}

/// The stored form.
#[derive(Serialize, Deserialize)]
struct ForecastDocument {
    draws: u32,
    quality: ForecastQuality,
    starts: BTreeMap<Arc<str>, StoredStart>,
}

/// The percentiles in microseconds since 1970, or the reason why nothing is known.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StoredStart {
    Known([i64; 3]),
    Unknown(String),
}

impl GroupForecasts {
    pub fn to_document(&self) -> Result<String> {
        let stored = |start: &StartForecast| match start {
            StartForecast::Known(StartPercentiles { p10, p50, p90 }) => {
                StoredStart::Known([p10, p50, p90].map(|at| at.micros()))
            }
            StartForecast::Unknown(reason) => StoredStart::Unknown(reason.as_str().to_owned()),
        };
        let starts = self.starts.iter().map(|(id, start)| (Arc::clone(id), stored(start))).collect();
        let document = ForecastDocument { draws: self.draws, quality: self.quality, starts };
        serde_json::to_string(&document).map_err(|error| Error::failed("the forecasts were not written", error))
    }

    pub fn of_document(as_of: Timestamp, text: &str) -> Result<Self> {
        let document: ForecastDocument =
            serde_json::from_str(text).map_err(|error| Error::failed("the stored forecasts were not read", error))?;
        let start = |stored| match stored {
            StoredStart::Known(micros) => {
                let [p10, p50, p90] = micros.map(Timestamp::from_micros);
                Some(StartForecast::Known(StartPercentiles { p10, p50, p90 }))
            }
            StoredStart::Unknown(name) => {
                let reason = UnknownStart::ALL.into_iter().find(|reason| reason.as_str() == name);
                reason.map(StartForecast::Unknown)
            }
        };
        let starts = document.starts.into_iter().filter_map(|(id, stored)| Some((id, start(stored)?)));
        Ok(Self { as_of, draws: document.draws, quality: document.quality, starts: starts.collect() })
    }
}
