//! The capacities of days, as REST shows and reads them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::slots::SlotAmounts;
use crate::domain::time::Day;
use crate::service::{Error, Fault, RequestFaults};

/// The largest number of days in one request.
pub const MAX_DAYS: usize = 5_000;

/// The capacity of a group on one day, as the mean over the day.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"date": "2026-01-12", "capacity": {"cpu": "640", "cuda.device": "80"}}))]
pub struct CapacityDay {
    #[schema(value_type = String, format = Date)]
    pub date: Day,
    /// Decimals, or quantities of Kubernetes such as `64Gi`.
    #[schema(value_type = BTreeMap<String, String>)]
    pub capacity: SlotAmounts,
}

impl From<(Day, SlotAmounts)> for CapacityDay {
    fn from((date, capacity): (Day, SlotAmounts)) -> Self {
        Self { date, capacity }
    }
}

/// The result of a write.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({"changed": 28}))]
pub struct CapacitiesGiven {
    /// Days that have another capacity than before.
    pub changed: u64,
}

/// The capacities by day. The error lists the first faults.
pub fn days(body: Vec<CapacityDay>, today: Day) -> Result<BTreeMap<Day, SlotAmounts>, Error> {
    let (mut days, mut faults) = (BTreeMap::new(), RequestFaults::default());
    for (at, CapacityDay { date, capacity }) in body.into_iter().enumerate() {
        let pointer = format!("/{at}/date");
        if date >= today {
            faults.push(Fault::about(
                pointer,
                "out_of_range",
                "is not in the past: today counts what the agents offer",
            ));
        } else if days.insert(date, capacity.filtered(|amount| !amount.is_zero())).is_some() {
            faults.push(Fault::about(pointer, "duplicate_date", "is given twice"));
        }
    }
    faults.or(days)
}
