//! A second engine of cycles, for tests alone: the actions `allocate` and `backfill` in the order `sequencer`, written from the
//! rules of `docs/CYCLE.md` without any of the means by which the real one is fast. It looks at every agent for every member, at
//! every seat for every sum, and at every end for a reservation.

mod bounds;
mod cluster;
mod placement;
mod report;
mod rounds;

pub use cluster::NaiveCluster;
pub use report::naive_answer;
