//! Connectors: processes that stand beside a real scheduler, report what runs there, ask for the order, and give the order to
//! the scheduler. `docs/CONNECTORS.md` describes the modules and the path of the data.
//!
//! The frame is in the files of this folder: the state on disk, the lock, the spool of reports, the round and its outcome. It
//! knows no scheduler. A scheduler is one folder with an implementation of [`scheduler::SchedulerConnector`].
//!
//! A round sends its requests to a [`server::FairShareServer`]; [`api_server::ApiServer`] is the one over HTTP. The frame reads no accounting:
//! the command passes that in as a function, so that the importers are not needed here.
//!
//! Invariants:
//! - A connector that has died, or whose server is away, changes nothing: the last values stay at the scheduler.
//! - What will be written is on disk before it is written, so that a process that is killed leaves nothing unknown behind.
//! - A half answer of a program changes nothing.

pub mod accounted_owner;
pub mod accounting_window;
pub mod agent_memory;
pub mod api_server;
pub mod common_settings;
pub mod connector_monitor;
pub mod eligible;
pub mod fault;
pub mod group_weights;
pub mod htcondor;
pub mod instance_lock;
pub mod kueue;
pub mod order_values;
pub mod outcome;
pub mod owner_places;
pub mod programs;
pub mod report_spool;
pub mod round;
pub mod scheduler;
pub mod scheduler_run;
pub mod server;
pub mod server_checks;
pub mod setting_values;
pub mod setup_check;
pub mod slot_amounts;
pub mod slurm;
pub mod state_file;
pub mod write_turns;
