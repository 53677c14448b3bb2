//! `proportion` (DIVISION §4, appendix C): repeated weighted filling over the queues that are not met yet.

mod volcano;

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{DivisionAlgorithm, DivisionResult, remaining_capacity};
use crate::choices::choices;
use crate::decimal::Amount;
use crate::division::exact::{apportion, cmp_products};
use crate::division::trace::{DivisionStep, DivisionTrace};
use crate::division::tree::QueueTree;
use crate::division::tree::grid::QueueSlotGrid;
use crate::division::tree::warning::DivisionWarning;
use crate::flat::FlatPart;
use crate::option_facts::{OptionFacts, OptionValues};

choices! {
    #[derive(Default)]
    pub enum ProportionVariant {
        #[default]
        KubeBatch = "kube_batch", "As kube-batch divides.";
        Volcano = "volcano", "As Volcano divides, which keeps guarantees.";
    }
}

/// The options of this algorithm.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    pub proportion_variant: ProportionVariant,
}

impl FlatPart for Options {
    fn facts() -> Vec<OptionFacts> {
        let values = OptionValues::Choice(ProportionVariant::choices);
        vec![OptionFacts::new("proportion_variant", "Variant", values, "Whose proportion it is.")]
    }
}

pub(super) struct ProportionDivision;

impl DivisionAlgorithm for ProportionDivision {
    fn name(&self) -> &'static str {
        "proportion"
    }

    fn summary(&self) -> &'static str {
        "In proportion to weights, up to what is asked for."
    }

    fn divide(&self, tree: &QueueTree, options: &super::DivisionOptions, trace: &mut DivisionTrace) -> DivisionResult {
        let mut deserved = QueueSlotGrid::new(tree.len(), tree.slots.len(), Amount::ZERO);
        let mut warnings = Vec::new();
        for level in tree.levels() {
            let total: Vec<u128> = match level {
                Some(queue) => deserved.row(queue).iter().map(|a| a.units()).collect(),
                None => tree.capacity.iter().map(|a| a.units()).collect(),
            };
            let children = tree.children(level);
            match options.proportion.proportion_variant {
                ProportionVariant::KubeBatch => LevelFilling::new(tree, children, total).divide(&mut deserved, trace),
                ProportionVariant::Volcano => {
                    if !volcano::divide(tree, children, &total, &mut deserved, trace) {
                        let detail =
                            "the rounds were ended before they came to rest; what is left is below a part of it";
                        warnings.push(DivisionWarning::new("rounds_ended", level.map(|q| tree.name(q)), None, detail));
                    }
                }
            }
        }
        DivisionResult { remaining: remaining_capacity(tree, &deserved), fair_share: deserved, ratios: None, warnings }
    }

    fn keeps_guarantees(&self, options: &super::DivisionOptions) -> bool {
        options.proportion.proportion_variant == ProportionVariant::Volcano
    }
}

/// The rounds of kube-batch over one level. The deserved amount of an unmet queue is its weight times a level that all
/// unmet queues share: (total - requests of the met queues) / weights of the unmet queues, slot by slot. So the cost of
/// a round depends only on the number of queues that it meets.
struct LevelFilling<'a> {
    tree: &'a QueueTree,
    children: &'a [usize],
    /// The amount that the met queues leave, by slot.
    left: Vec<u128>,
    /// The sum of the weights of the unmet queues.
    weights: u128,
    /// The columns that take part: the slots that a queue asks for or of which there is something to divide.
    columns: Vec<usize>,
}

impl<'a> LevelFilling<'a> {
    fn new(tree: &'a QueueTree, children: &'a [usize], total: Vec<u128>) -> Self {
        let wanted =
            |column: &usize| total[*column] > 0 || children.iter().any(|q| !tree.requestable(*q, *column).is_zero());
        let columns = (0..tree.slots.len()).filter(wanted).collect();
        let weights = children.iter().fold(0u128, |sum, q| sum.saturating_add(tree.queues[*q].weight.units()));
        Self { tree, children, left: total, weights, columns }
    }

    fn weight(&self, at: usize) -> u128 {
        self.tree.queues[self.children[at]].weight.units()
    }

    fn request(&self, at: usize, column: usize) -> u128 {
        self.tree.requestable(self.children[at], column).units()
    }

    fn divide(mut self, deserved: &mut QueueSlotGrid<Amount>, trace: &mut DivisionTrace) {
        let unmet = self.meet(deserved, trace);
        let weights: Vec<u128> = unmet.iter().map(|at| self.weight(*at)).collect();
        for column in 0..self.left.len() {
            let left = self.left[column];
            let children = self.children;
            let parts = apportion(left, &weights, |a, b| self.tree.by_age(children[unmet[a]], children[unmet[b]]));
            for (at, part) in unmet.iter().zip(parts) {
                let (queue, gift) = (children[*at], Amount::from_units(part));
                deserved[(queue, column)] = gift;
                trace.push(|| DivisionStep {
                    queue,
                    column: Some(column),
                    rule: "by_weight",
                    divided: Some(Amount::from_units(left)),
                    weight: Some(Amount::from_units(self.weight(*at))),
                    weight_sum: Some(Amount::from_units(self.weights)),
                    gift: gift.into(),
                    ..DivisionStep::default()
                });
            }
        }
    }

    /// Meets queue after queue, in rounds. Returns the queues that stay unmet.
    fn meet(&mut self, deserved: &mut QueueSlotGrid<Amount>, trace: &mut DivisionTrace) -> Vec<usize> {
        let weighted: Vec<usize> = (0..self.children.len()).filter(|at| self.weight(*at) > 0).collect();
        // The queues of each slot; the queue that is met first on the slot is at the end.
        let mut waiting: Vec<Vec<usize>> = self.columns.iter().map(|c| self.by_need(&weighted, *c)).collect();
        let mut open = vec![self.columns.len(); self.children.len()];
        let mut met = vec![false; self.children.len()];
        for round in 1.. {
            let mut now = Vec::new();
            for (column, waiting) in self.columns.iter().zip(&mut waiting) {
                while let Some(at) = waiting.pop_if(|at| self.is_below(*at, *column)) {
                    open[at] -= 1;
                    if open[at] == 0 {
                        now.push(at);
                    }
                }
            }
            if now.is_empty() {
                break;
            }
            for at in now {
                met[at] = true;
                self.weights -= self.weight(at);
                for column in 0..self.left.len() {
                    let (queue, request) = (self.children[at], self.request(at, column));
                    self.left[column] = self.left[column].saturating_sub(request);
                    let gift = Amount::from_units(request);
                    deserved[(queue, column)] = gift;
                    let is_cut = gift < self.tree.request[(queue, column)];
                    trace.push(|| DivisionStep {
                        queue,
                        column: Some(column),
                        rule: if is_cut { "limit" } else { "request" },
                        round,
                        gift: gift.into(),
                        capped_by: is_cut.then(|| "limit".into()),
                        ..DivisionStep::default()
                    });
                }
            }
        }
        weighted.into_iter().filter(|at| !met[*at]).collect()
    }

    fn by_need(&self, weighted: &[usize], column: usize) -> Vec<usize> {
        let mut order: Vec<(u128, usize)> = weighted.iter().map(|at| (self.request(*at, column), *at)).collect();
        order.sort_by(|(a, at), (b, bt)| cmp_products(*b, self.weight(*at), *a, self.weight(*bt)));
        order.into_iter().map(|(_, at)| at).collect()
    }

    /// True if the request is below what the level gives: `request < weight x left / weights`.
    fn is_below(&self, at: usize, column: usize) -> bool {
        let request = self.request(at, column);
        cmp_products(request, self.weights, self.weight(at), self.left[column]) == Ordering::Less
    }
}
