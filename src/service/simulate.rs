//! Divisions and plans over the data of a request. Nothing stored is read or changed.

use super::input::error::{Error, Fault, Result};
use super::input::json::read;
use crate::domain::division::{self, Report};
use crate::domain::reclaim::{self, Plan};
use crate::domain::time::Timestamp;

impl From<Vec<Fault>> for Error {
    fn from(faults: Vec<Fault>) -> Self {
        Self::Invalid(faults)
    }
}

/// The division that a JSON document describes.
pub fn division(document: &[u8]) -> Result<Report> {
    let simulation: division::Simulation = read(document)?;
    Ok(simulation.run()?)
}

/// The reclaim plan for a JSON document. `now` is used if the document names no moment.
pub fn reclaim(document: &[u8], now: Timestamp) -> Result<Plan> {
    let simulation: reclaim::Simulation = read(document)?;
    Ok(simulation.run(now)?)
}
