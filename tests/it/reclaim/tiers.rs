//! The victims that tiers of plug-ins allow, in plain integers (DIVISION, appendix C).

use fairshared::domain::reclaim::PolicyName;

use super::world::{Unit, World};

impl World<'_> {
    pub fn has_tiers(&self) -> bool {
        self.case.options.plan.policy == PolicyName::Plugins
    }

    /// The pending workload's queue has all it deserves, so it reclaims nothing.
    pub fn is_overused(&self) -> bool {
        let has_proportion = self.case.options.plan.tiers.iter().flatten().any(|name| name == "proportion");
        has_proportion && self.pending_figures().all(|(held, deserved)| deserved <= held)
    }

    /// True if all plug-ins of the first tier with an answer agree.
    pub fn tiers_allow(&self, gone: &[Unit], unit: &Unit) -> bool {
        for tier in &self.case.options.plan.tiers {
            let answers: Vec<bool> = tier.iter().filter_map(|name| self.answer(name, gone, unit)).collect();
            if !answers.is_empty() {
                return answers.iter().all(|agrees| *agrees);
            }
        }
        false
    }

    fn answer(&self, plugin: &str, gone: &[Unit], unit: &Unit) -> Option<bool> {
        let workload = unit.workload;
        match plugin {
            "conformance" => Some(!self.case.running[workload].critical),
            "gang" => {
                let lost: usize = gone.iter().filter(|u| u.workload == workload).map(|u| u.members.len()).sum();
                let left = self.case.running[workload].members.len() - lost;
                Some(left > self.core(workload) || self.core(workload) == 1)
            }
            "proportion" => Some(self.keeps_what_it_deserves(gone, unit)),
            _ => None,
        }
    }
}
