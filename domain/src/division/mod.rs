//! What every queue deserves now: the queue tree and the algorithms that divide a group's capacity over it.
//! Section marks (`DIVISION §2`) cite the semantics in `docs/DIVISION.md`.

pub mod algorithms;
mod check;
pub mod exact;
pub mod fraction;
mod live;
pub mod report;
pub mod score_weights;
pub mod trace;
pub mod tree;

pub use algorithms::{Algorithm, Options, Ratios, Shares, Weighs, algorithm, algorithm_names};
pub use check::check;
pub use fraction::Fraction;
pub use live::{Observed, live_tree};
pub use report::lint::lint;
pub use report::state::{Position, State};
pub use report::{Report, Simulation};
pub use trace::Trace;
pub use tree::grid::Grid;
pub use tree::warning::Warning;
pub use tree::{Queue, Tree};
