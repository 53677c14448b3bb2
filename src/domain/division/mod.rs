//! What every queue deserves now: the queue tree and the algorithms that divide a group's capacity over it.
//! Section numbers (`§2`) cite the division semantics in `docs/DIVISION.md`.

pub mod faults;
pub mod grid;
pub mod lint;
pub mod queue;
pub mod tree;

pub use faults::TreeFault;
pub use grid::Grid;
pub use lint::{Warning, lint};
pub use queue::{Bound, OverQuotaBy, OverQuotaWeight, QueueMode, QueueSpec};
pub use tree::{Queue, Tree};
