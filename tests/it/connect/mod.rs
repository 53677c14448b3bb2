//! Connectors: the readers with texts of the real programs, the values, the settings, and a real Slurm.

mod api_server;
mod command;
mod connected_rig;
mod monitor;
mod orders;
mod plans;
mod queues;
mod rounds;
mod settings;
mod slurm;
mod slurm_rig;
mod slurm_shares;
mod slurm_tree;
mod texts;
pub mod trees;
mod watched_connector;

/// Texts that Slurm 22.05.8 printed.
pub mod recorded {
    pub const SQUEUE: &str = include_str!("recorded/squeue.txt");
    pub const SPRIO: &str = include_str!("recorded/sprio.txt");
    pub const SACCT: &str = include_str!("recorded/sacct.txt");
    pub const CONFIG: &str = include_str!("recorded/config.txt");
    pub const PARTITIONS: &str = include_str!("recorded/partitions.txt");
    pub const NODES: &str = include_str!("recorded/nodes.txt");
    pub const TREE: &str = include_str!("recorded/tree.txt");
    pub const DUMP: &str = include_str!("recorded/dump.txt");
    pub const SSHARE: &str = include_str!("recorded/sshare.txt");
    pub const ASSOCIATIONS: &str = include_str!("recorded/associations.txt");
    pub const SDIAG: &str = include_str!("recorded/sdiag.txt");
}
