//! The options of a division and of the plans that use it, as one object in the stateless requests.

use super::plan_options::PlanOptions;
use super::policy::plugins::unknown_names;
use crate::division::{self, DivisionAlgorithm, report};
use crate::fault::Fault;
use crate::flat::{FlatPart, flat_object};

flat_object! {
    pub struct ReclaimOptions as "ReclaimOptions" {
        pub division: division::DivisionOptions,
        pub plan: PlanOptions,
    }
}

impl ReclaimOptions {
    /// The algorithm of that name. Also checks that every option is in its range and that every plug-in exists.
    pub fn check(&self, algorithm: &str) -> Result<&'static dyn DivisionAlgorithm, Vec<Fault>> {
        let mut faults: Vec<Fault> = self.plan.fault().map(|fault| fault.below("/options")).into_iter().collect();
        faults.extend(unknown_names(&self.plan.tiers));
        match report::check(algorithm, &self.division) {
            Ok(algorithm) if faults.is_empty() => Ok(algorithm),
            Ok(_) => Err(faults),
            Err(others) => Err([others, faults].concat()),
        }
    }
}
