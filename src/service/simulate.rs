//! Divisions, plans and cycles over the data of a request. Nothing stored is read or changed.

use super::input::error::{Error, Fault, Result};
use super::input::json::read;
use crate::domain::cycle::{CycleAnswer, CycleSimulation};
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

/// A member of a cycle counts in the memory of a simulation as this number of bytes of a request.
pub const BYTES_OF_MEMBER: usize = 8;

/// The cycle that a JSON document describes.
pub fn read_cycle(document: &[u8]) -> Result<CycleSimulation> {
    Ok(read(document)?)
}

/// Runs a cycle. `now` is used if its request names no moment.
pub fn cycle(simulation: CycleSimulation, now: Timestamp) -> Result<CycleAnswer> {
    Ok(simulation.run(now)?)
}
