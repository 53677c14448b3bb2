//! Where the members of a workload go: every agent is looked at again for every member.

use super::cluster::{
    Amounts, LabelMap, NEVER, NaiveAgent, NaiveCluster, NearTerm, OccupiedSeat, SLOTS, WaitingMember, WaitingWorkload,
};

pub const PREDICATES: [&str; 6] = ["schedulable", "labels", "taints", "max_per_agent", "affinity", "anti_affinity"];

/// How many agents each predicate refuses.
pub type RefusedAgents = [usize; PREDICATES.len()];

/// The reason why too few members have got an agent.
pub struct UnplacedMembers {
    pub fit: usize,
    /// The first member that has got none, by its place in task order.
    pub skipped: usize,
    /// The refusals of this member, if every agent is refused.
    pub refused: Option<RefusedAgents>,
}

/// Members with their agents, by their places in task order.
pub type SeatedMembers = Vec<(usize, usize)>;

/// A condition on all members that hold room.
pub type SeatCheck<'c> = dyn Fn(&[OccupiedSeat]) -> bool + 'c;

/// Members that need agents.
#[derive(Clone, Copy)]
pub struct WantedPlaces<'w> {
    pub workload: &'w WaitingWorkload,
    /// By their places in task order.
    pub members: &'w [usize],
    pub number: usize,
    /// True if a second try goes by size where members differ.
    pub tries_sizes: bool,
    /// True on empty agents that may be cordoned.
    pub lasting: bool,
    /// True of the seats with which enough room is left for others.
    pub leaves: Option<&'w SeatCheck<'w>>,
}

impl NaiveCluster {
    pub fn free(&self, seats: &[OccupiedSeat], agent: usize) -> Amounts {
        let mut free = self.nodes[agent].total;
        for seat in seats.iter().filter(|seat| seat.agent == agent) {
            for (free, held) in free.iter_mut().zip(seat.slots) {
                *free -= held;
            }
        }
        free
    }

    fn has_room(&self, seats: &[OccupiedSeat], asked: Amounts, agent: usize) -> bool {
        self.free(seats, agent).iter().zip(asked).all(|(free, asked)| asked == 0 || asked <= *free)
    }

    /// The first predicate that refuses the agent, by its place in the list. What is `lasting` does not ask if it is cordoned.
    pub fn refusing(
        &self,
        seats: &[OccupiedSeat],
        workload: &WaitingWorkload,
        member: &WaitingMember,
        agent: usize,
        lasting: bool,
    ) -> Option<usize> {
        let node = &self.nodes[agent];
        let carries = |key: &str, value: &String| node.labels.get(key) == Some(value);
        let has_labels = member.labels.iter().all(|(key, value)| carries(key, value))
            && workload.agents.iter().all(|(key, values)| values.iter().any(|value| carries(key, value)));
        let own = seats.iter().filter(|seat| seat.agent == agent && seat.workload == workload.id).count();
        let admits = [
            lasting || node.schedulable,
            has_labels,
            workload.tolerates || !node.taints.iter().any(|effect| effect != "PreferNoSchedule"),
            workload.max_per_agent.is_none_or(|most| own < most),
            self.is_near(seats, workload, node),
            self.is_apart(seats, workload, node),
        ];
        admits.iter().position(|admits| !admits)
    }

    fn is_near(&self, seats: &[OccupiedSeat], workload: &WaitingWorkload, node: &NaiveAgent) -> bool {
        workload.with.iter().all(|term| {
            let Some(domain) = node.labels.get(&term.topology_key) else { return false };
            let matching: Vec<&OccupiedSeat> = seats.iter().filter(|seat| term.matches(&seat.labels)).collect();
            let is_there = |seat: &&OccupiedSeat| self.domain(seat, &term.topology_key) == Some(domain);
            matching.iter().any(is_there) || (matching.is_empty() && term.matches(&workload.labels))
        })
    }

    fn is_apart(&self, seats: &[OccupiedSeat], workload: &WaitingWorkload, node: &NaiveAgent) -> bool {
        let shares_domain = |seat: &OccupiedSeat, key: &String| {
            node.labels.get(key).is_some_and(|domain| self.domain(seat, key) == Some(domain))
        };
        let is_met = |labels: &LabelMap, term: &NearTerm, seat: &OccupiedSeat| {
            term.matches(labels) && shares_domain(seat, &term.topology_key)
        };
        !seats.iter().any(|seat| {
            workload.against.iter().any(|term| is_met(&seat.labels, term, seat))
                || seat.against.iter().any(|term| is_met(&workload.labels, term, seat))
        })
    }

    fn domain(&self, seat: &OccupiedSeat, key: &str) -> Option<&String> {
        self.nodes[seat.agent].labels.get(key)
    }

    /// The score of the agent with the default weights, in units of 10^-12.
    fn score(&self, seats: &[OccupiedSeat], workload: &WaitingWorkload, asked: Amounts, agent: usize) -> u128 {
        let node = &self.nodes[agent];
        let is_tainted = !workload.tolerates && node.taints.iter().any(|effect| effect == "PreferNoSchedule");
        let free = self.free(seats, agent);
        let of_asked: Vec<usize> = (0..SLOTS.len()).filter(|slot| asked[*slot] > 0).collect();
        // The mean of used / total, over a common denominator.
        let total = |slot: &usize| node.total[*slot].unsigned_abs();
        let common: u64 = of_asked.iter().map(total).product();
        let used =
            |slot: &usize| (node.total[*slot] - free[*slot] + asked[*slot]).unsigned_abs() * (common / total(slot));
        let sum: u64 = of_asked.iter().map(used).sum();
        let mean = if of_asked.is_empty() {
            0
        } else {
            u128::from(sum) * 10u128.pow(12) / (u128::from(common) * of_asked.len() as u128)
        };
        mean + if is_tainted { 0 } else { 2 * 10u128.pow(12) }
    }

    /// The agents with room that pass, the best first.
    fn candidates(
        &self,
        seats: &[OccupiedSeat],
        workload: &WaitingWorkload,
        member: &WaitingMember,
        lasting: bool,
    ) -> Vec<usize> {
        let mut agents: Vec<usize> = (0..self.nodes.len())
            .filter(|agent| self.has_room(seats, member.slots, *agent))
            .filter(|agent| self.refusing(seats, workload, member, *agent, lasting).is_none())
            .collect();
        agents.sort_by_key(|agent| (u128::MAX - self.score(seats, workload, member.slots, *agent), *agent));
        agents
    }

    /// True if a member could run on an empty agent.
    pub fn could_run(&self, workload: &WaitingWorkload, member: &WaitingMember) -> bool {
        (0..self.nodes.len())
            .any(|agent| self.has_room(&[], member.slots, agent) && !self.is_refused_for_ever(workload, member, agent))
    }

    pub fn has_agent(&self, workload: &WaitingWorkload, member: &WaitingMember) -> bool {
        (0..self.nodes.len()).any(|agent| !self.is_refused_for_ever(workload, member, agent))
    }

    fn is_refused_for_ever(&self, workload: &WaitingWorkload, member: &WaitingMember, agent: usize) -> bool {
        // Labels and taints; the other predicates look at what runs.
        matches!(self.refusing(&[], workload, member, agent, true), Some(1 | 2))
    }

    /// Puts the wanted number of members on agents.
    pub fn place(&self, seats: &[OccupiedSeat], wanted: WantedPlaces) -> Result<SeatedMembers, UnplacedMembers> {
        let WantedPlaces { workload, members, lasting, .. } = wanted;
        let mut failed = match self.attempt(seats, wanted, None) {
            Ok(placed) => return Ok(placed),
            Err(failed) => failed,
        };
        let mut note = |other: UnplacedMembers| {
            if other.fit > failed.fit {
                failed = other;
            }
        };
        let differs = |member: &WaitingMember| !member.is_like(&workload.members[0]);
        if wanted.tries_sizes && workload.members.iter().any(differs) {
            let members = &self.by_size(workload, members);
            match self.attempt(seats, WantedPlaces { members, ..wanted }, None) {
                Ok(placed) => return Ok(placed),
                Err(other) => note(other),
            }
        }
        if let (false, Some(first)) = (workload.with.is_empty(), members.first()) {
            for agent in self.candidates(seats, workload, &workload.members[*first], lasting) {
                match self.attempt(seats, wanted, Some(agent)) {
                    Ok(placed) => return Ok(placed),
                    Err(other) => note(other),
                }
            }
        }
        Err(failed)
    }

    /// The largest first if the minimum is all that wait, else the smallest.
    fn by_size(&self, workload: &WaitingWorkload, members: &[usize]) -> Vec<usize> {
        let mut order = members.to_vec();
        let share = |place: &usize| {
            let slots = workload.members[*place].slots;
            // Both shares over the product of the capacities.
            (slots[0] * self.capacity[1]).max(slots[1] * self.capacity[0])
        };
        if workload.minimum() >= workload.members.len() {
            order.sort_by_key(|place| -share(place));
        } else {
            order.sort_by_key(share);
        }
        order
    }

    /// One try, in which the first member may have to go to a certain agent.
    fn attempt(
        &self,
        seats: &[OccupiedSeat],
        wanted: WantedPlaces,
        mut first: Option<usize>,
    ) -> Result<SeatedMembers, UnplacedMembers> {
        let WantedPlaces { workload, members, number, lasting, leaves, .. } = wanted;
        let mut seats = seats.to_vec();
        let mut placed = Vec::new();
        let mut skipped = None;
        for place in members.iter().copied() {
            if placed.len() == number {
                break;
            }
            let member = &workload.members[place];
            let mut agents = self.candidates(&seats, workload, member, lasting);
            if let Some(only) = first.take() {
                agents.retain(|agent| *agent == only);
            }
            let suits = |agent: &usize| {
                let with = [&seats[..], &[seat_of(workload, member, *agent, NEVER)]].concat();
                leaves.is_none_or(|leaves| leaves(&with))
            };
            match agents.into_iter().find(suits) {
                Some(agent) => {
                    seats.push(seat_of(workload, member, agent, NEVER));
                    placed.push((place, agent));
                }
                None if skipped.is_none() => skipped = Some((place, self.refusals(&seats, workload, member, lasting))),
                None => {}
            }
        }
        if placed.len() == number {
            return Ok(placed);
        }
        let (skipped, refused) = skipped.unwrap_or_default();
        Err(UnplacedMembers { fit: placed.len(), skipped, refused })
    }

    /// How many agents each predicate refuses; nothing if one passes.
    pub fn refusals(
        &self,
        seats: &[OccupiedSeat],
        workload: &WaitingWorkload,
        member: &WaitingMember,
        lasting: bool,
    ) -> Option<RefusedAgents> {
        let mut refused = RefusedAgents::default();
        for agent in 0..self.nodes.len() {
            refused[self.refusing(seats, workload, member, agent, lasting)?] += 1;
        }
        Some(refused)
    }
}

/// The seat of a member that starts.
pub fn seat_of(workload: &WaitingWorkload, member: &WaitingMember, agent: usize, end: i64) -> OccupiedSeat {
    OccupiedSeat {
        workload: workload.id.clone(),
        queue: workload.queue.clone(),
        preemptible: workload.preemptible,
        slots: member.slots,
        agent,
        end,
        labels: workload.labels.clone(),
        against: workload.against.clone(),
    }
}
