//! The nodes of one resource group: the free amounts of each, the nodes that are down, and the node that is reserved
//! for the first job.

use super::groups::GroupPlan;
use super::jobs::DemoJob;
use super::people::KernelNeed;

pub(super) struct DemoNodes {
    whole: KernelNeed,
    free: Vec<KernelNeed>,
    down: Vec<bool>,
    /// The reserved node, and the number of the job that it is reserved for.
    kept: Option<(usize, usize)>,
}

impl DemoNodes {
    pub fn new(plan: &GroupPlan) -> Self {
        Self { whole: plan.node, free: vec![plan.node; plan.nodes], down: vec![false; plan.nodes], kept: None }
    }

    /// Notes that a node goes down, or comes back empty.
    pub fn switch(&mut self, node: usize, down: bool) {
        self.down[node] = down;
        self.free[node] = self.whole;
        self.kept = self.kept.filter(|(kept, _)| *kept != node);
    }

    /// The number of nodes that are up.
    pub fn up(&self) -> usize {
        self.down.iter().filter(|down| !**down).count()
    }

    pub fn give_back(&mut self, node: usize, need: KernelNeed) {
        self.free[node] = self.free[node].plus(need);
    }

    /// A node for each member, without taking them; `None` if the members do not fit.
    pub fn find(&self, job: &DemoJob) -> Option<Vec<usize>> {
        let mut free = self.free.clone();
        (0..job.members)
            .map(|_| {
                let node = (0..free.len()).find(|node| self.is_open_to(*node, job) && free[*node].holds(job.need))?;
                free[node] = free[node].minus(job.need);
                Some(node)
            })
            .collect()
    }

    /// Takes a node for each member and returns them, or takes none.
    pub fn place(&mut self, job: &DemoJob) -> Option<Vec<usize>> {
        let nodes = self.find(job)?;
        for node in &nodes {
            self.free[*node] = self.free[*node].minus(job.need);
        }
        self.kept = self.kept.filter(|(_, number)| *number != job.number);
        Some(nodes)
    }

    /// True if a node would be reserved for the job. None is reserved for jobs that need more than half a node. This is
    /// the one thing that this scheduler does wrong.
    pub fn would_keep(&self, job: &DemoJob) -> bool {
        2 * job.need.gpu <= self.whole.gpu && 2 * job.need.cpu <= self.whole.cpu
    }

    /// Reserves the emptiest node for a job, so that smaller jobs do not use up each gap before it.
    pub fn keep_for(&mut self, job: &DemoJob) {
        if self.kept.is_none() {
            let up = (0..self.free.len()).filter(|node| !self.down[*node]);
            let emptiest = up.max_by_key(|node| (self.free[*node].gpu, self.free[*node].cpu));
            self.kept = emptiest.map(|node| (node, job.number));
        }
    }

    /// Removes the reservation if its job is no longer waiting.
    pub fn keep_for_waiting(&mut self, is_waiting: impl Fn(usize) -> bool) {
        self.kept = self.kept.filter(|(_, number)| is_waiting(*number));
    }

    fn is_open_to(&self, node: usize, job: &DemoJob) -> bool {
        let kept_for_other = self.kept.is_some_and(|(kept, number)| kept == node && number != job.number);
        !self.down[node] && !kept_for_other
    }
}
