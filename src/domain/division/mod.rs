//! What every queue deserves now: the queue tree and the algorithms that divide a group's capacity over it.
//! Section numbers (`§2`) cite the division semantics in `docs/DIVISION.md`.

mod algorithms;
pub mod exact;
pub mod fraction;
pub mod options;
pub mod queue;
pub mod report;
pub mod trace;
pub mod tree;

pub use algorithms::{Algorithm, Ratios, Shares, Weighs, algorithm, algorithm_names};
pub use fraction::Fraction;
pub use options::Options;
pub use queue::{Bound, OverQuotaBy, OverQuotaWeight, QueueMode, QueueSpec};
pub use report::lint::lint;
pub use report::state::{Position, State};
pub use report::{Report, Simulation};
pub use trace::Trace;
pub use tree::faults::TreeFault;
pub use tree::grid::Grid;
pub use tree::warning::Warning;
pub use tree::{Queue, Tree};
