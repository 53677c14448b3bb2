//! The division computes what every queue of a resource group deserves at this moment. It follows `docs/DIVISION.md`,
//! which is cited as `DIVISION §2`.
//!
//! Queues form a tree (`tree`), with the capacity of the group above the roots. An algorithm (`algorithms`) goes
//! through the tree level by level from the roots down and divides the amount that a queue got among its children, slot
//! by slot or as one ratio for all slots. The result is a fair share for each queue and slot; `report` adds states,
//! ratios, the order of the queues and, if wanted, an explanation from the steps in `trace`.
//!
//! The division evicts nothing (that is the proposal of `reclaim`) and knows no history of usage except the normalised
//! usage that its input contains.
//!
//! Invariants:
//! - Everything here is a pure function without clock, I/O and randomness. The same input gives the same shares, the
//!   same order and the same explanation.
//! - The order of the input does not matter: where the rules leave a choice, the older queue comes first, then the
//!   name.
//! - Amounts are integers in units of 10^-12. Only `drf` and `rounding: kai` compute in floats. Rounding remainders are
//!   given to queues, so that sums hold exactly.
//! - No function recurses over the tree, because a chain of queues can be as long as the list of queues.

pub mod algorithms;
mod check;
pub mod exact;
pub mod fraction;
mod live;
pub mod report;
pub mod score_weights;
pub mod trace;
pub mod tree;

pub use algorithms::{
    DivisionAlgorithm, DivisionOptions, DivisionResult, LeafLevel, MinShareLeaves, MinShareRatios, MinShareRule,
    WeightSource, WorkloadDemand, algorithm, algorithm_choices, algorithm_names, algorithm_options,
};
pub use check::check;
pub use fraction::Fraction;
pub use live::{ObservedQueues, live_tree};
pub use report::lint::lint;
pub use report::state::{QueueAllocation, QueueState, saturation_ratios};
pub use report::{DivisionReport, DivisionSimulation};
pub use trace::DivisionTrace;
pub use tree::grid::QueueSlotGrid;
pub use tree::warning::DivisionWarning;
pub use tree::{QueueTree, TreeQueue};
