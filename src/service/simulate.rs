//! Divisions and plans over what the request brings along; nothing that is stored is read or changed.

use super::input::error::{Error, Fault, Result};
use super::input::json::read;
use crate::domain::division::{self, Report, TreeFault};
use crate::domain::reclaim::{self, Plan};
use crate::domain::time::Timestamp;

impl From<TreeFault> for Fault {
    fn from(TreeFault { pointer, code, detail }: TreeFault) -> Self {
        Self { pointer, code, detail }
    }
}

impl From<Vec<TreeFault>> for Error {
    fn from(faults: Vec<TreeFault>) -> Self {
        Self::Invalid(faults.into_iter().map(Fault::from).collect())
    }
}

/// The division that a JSON document describes.
pub fn division(document: &[u8]) -> Result<Report> {
    let simulation: division::Simulation = read(document)?;
    Ok(simulation.run()?)
}

/// The reclaim plan that a JSON document asks for; `now` is used where it names no moment.
pub fn reclaim(document: &[u8], now: Timestamp) -> Result<Plan> {
    let simulation: reclaim::Simulation = read(document)?;
    Ok(simulation.run(now)?)
}
