//! Divisions, plans and cycles over the data of a request. Nothing stored is read or changed.

use serde::de::DeserializeOwned;

use super::input::json::read;
use super::{Caller, Service};
use crate::domain::cycle::{CycleAnswer, CycleSimulation};
use crate::domain::division::{self, DivisionReport};
use crate::domain::reclaim::{self, ReclaimPlan};
use crate::domain::time::Timestamp;
use crate::engine::error::{Error, Fault, Result};

impl From<Vec<Fault>> for Error {
    fn from(faults: Vec<Fault>) -> Self {
        Self::Invalid(faults)
    }
}

/// A member of a cycle counts in the memory of a simulation as this number of bytes of a request.
pub const BYTES_OF_MEMBER: usize = 8;
/// A queue counts as this number of bytes, besides those that name it: one of a dozen bytes has a row in the answer.
const BYTES_OF_QUEUE: usize = 40;

/// The request of a simulation.
pub trait StatelessSimulation: DeserializeOwned {
    type Answer;

    /// The size, in bytes of a request, of the data that the simulation makes of few words.
    fn expanded_bytes(&self) -> usize;

    /// Computes the answer. `now` is used if the request names no moment.
    fn answer(self, now: Timestamp) -> std::result::Result<Self::Answer, Vec<Fault>>;
}

impl StatelessSimulation for division::DivisionSimulation {
    type Answer = DivisionReport;

    fn expanded_bytes(&self) -> usize {
        self.queues.len() * BYTES_OF_QUEUE
    }

    fn answer(self, _: Timestamp) -> std::result::Result<DivisionReport, Vec<Fault>> {
        self.run()
    }
}

impl StatelessSimulation for reclaim::ReclaimSimulation {
    type Answer = ReclaimPlan;

    fn expanded_bytes(&self) -> usize {
        self.queues.len() * BYTES_OF_QUEUE
    }

    fn answer(self, now: Timestamp) -> std::result::Result<ReclaimPlan, Vec<Fault>> {
        self.run(now)
    }
}

impl StatelessSimulation for CycleSimulation {
    type Answer = CycleAnswer;

    /// A member costs memory even where one line of the request stands for many.
    fn expanded_bytes(&self) -> usize {
        self.queues.len() * BYTES_OF_QUEUE + self.members() * BYTES_OF_MEMBER
    }

    fn answer(self, now: Timestamp) -> std::result::Result<CycleAnswer, Vec<Fault>> {
        self.run(now)
    }
}

/// The answer of the simulation that a JSON document describes.
pub fn simulate<S: StatelessSimulation>(document: &[u8], now: Timestamp) -> Result<S::Answer> {
    let simulation: S = read(document)?;
    Ok(simulation.answer(now)?)
}

impl Service {
    /// Simulates for a caller, with a compute permit and with memory that is reserved until `show` has made of the answer what
    /// the client gets.
    pub async fn simulate<S: StatelessSimulation, D: AsRef<[u8]>, T: Send>(
        &self,
        caller: &Caller,
        document: impl FnOnce() -> D + Send,
        show: impl FnOnce(&S::Answer) -> Result<T> + Send,
    ) -> Result<T> {
        let now = self.clock().now();
        let work = || {
            let answer = |simulation: S| show(&simulation.answer(now)?);
            self.with_reserved(caller, document().as_ref(), S::expanded_bytes, answer)
        };
        self.permits.run(caller.client(), work).await
    }

    /// Reads a document and works with it, in memory that is reserved meanwhile: for the document, and for the data that it
    /// stands for.
    pub(in crate::service) fn with_reserved<R: DeserializeOwned, T>(
        &self,
        caller: &Caller,
        document: &[u8],
        expanded_bytes: impl FnOnce(&R) -> usize,
        work: impl FnOnce(R) -> Result<T>,
    ) -> Result<T> {
        let role = caller.principal.role;
        let _memory = self.memory().reserve_for_simulation(role, document.len())?;
        let request: R = read(document)?;
        let _expanded = self.memory().reserve_for_simulation(role, expanded_bytes(&request))?;
        work(request)
    }
}
