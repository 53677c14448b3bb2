//! `same_domain`: keeps the members of a gang on as few agents, or values of a label, as possible.

use super::{FULL_SCORE, MemberOnAgent, NodeScore, SAME_DOMAIN};
use crate::cycle::predicates::NeighbourCounts;
use crate::cycle::room::AgentOccupancy;
use crate::cycle::shapes::WorkloadShape;
use crate::division::exact::mul_div;
use crate::reclaim::free_capacity::count_fits;

/// The part of the gang that can be in the domain of the agent. It depends on the other agents of the domain, so
/// [`DomainQuestion`] computes it.
pub(super) struct SameDomainScore;

impl NodeScore for SameDomainScore {
    fn name(&self) -> &'static str {
        SAME_DOMAIN
    }

    fn score(&self, _: &MemberOnAgent) -> u128 {
        0
    }
}

/// The members of a start that still need agents.
pub struct DomainQuestion<'q> {
    pub shape: &'q WorkloadShape,
    pub workload: usize,
    /// Runs of equal members: (kind, number), in task order.
    pub waiting: Vec<(usize, usize)>,
}

impl DomainQuestion<'_> {
    /// The scores of all domains, in units of 10^-12. `domains` has the agents of each domain by id.
    pub fn scores(&self, room: &AgentOccupancy, domains: &[Vec<usize>]) -> Vec<u128> {
        let all = self.shape.gang.max(1) as u128;
        let score = |agents: &Vec<usize>| {
            let there: usize = agents.iter().map(|agent| room.members_on(self.workload, *agent)).sum();
            let part = (there + self.room_for(room, agents)) as u128;
            mul_div(part.min(all), FULL_SCORE, all).0
        };
        domains.iter().map(score).collect()
    }

    /// How many of the waiting members the agents have room for, each on the first agent that has.
    fn room_for(&self, room: &AgentOccupancy, agents: &[usize]) -> usize {
        let mut taken = vec![Vec::new(); agents.len()];
        let mut seated = vec![0usize; agents.len()];
        let mut fit = 0;
        for (kind, number) in &self.waiting {
            let mut left = *number;
            for (at, agent) in agents.iter().copied().enumerate() {
                if left == 0 {
                    break;
                }
                if room.refuses(*kind, agent) {
                    continue;
                }
                let own = room.members_on(self.workload, agent) + seated[at];
                let most = self.shape.max_per_agent.map_or(left, |most| left.min(most.saturating_sub(own)));
                let request = room.request(*kind);
                let gone =
                    |column: usize| taken[at].iter().filter(|(c, _)| *c == column).map(|(_, u)| *u).sum::<i128>();
                let here = count_fits(|column| room.free(agent, column) - gone(column), request, most);
                let here_units = i128::try_from(here).unwrap_or(i128::MAX);
                let taking = |(column, units): &(usize, u128)| {
                    (*column, i128::try_from(*units).unwrap_or(i128::MAX).saturating_mul(here_units))
                };
                let more: Vec<(usize, i128)> = request.iter().map(taking).collect();
                taken[at].extend(more);
                seated[at] += here;
                left -= here;
                fit += here;
            }
        }
        fit
    }
}
