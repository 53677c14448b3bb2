//! Connectors: the readers with texts of the real programs, the values, the settings, a real Slurm, a real HTCondor, and Kueue
//! beside a stand-in for its cluster.

mod api_server;
mod command;
mod condor_pool;
mod condor_rig;
mod condor_rounds;
mod condor_settings;
mod condor_stand_ins;
mod condor_texts;
mod connected_rig;
mod kueue_checks;
mod kueue_logins;
mod kueue_objects;
mod kueue_parts;
mod kueue_rig;
mod kueue_rounds;
mod kueue_schemas;
mod kueue_settings;
mod kueue_state;
mod kueue_stub;
mod kueue_watches;
mod kueue_weight_shares;
mod kueue_weights;
mod long_kills;
mod long_queue;
mod long_right;
mod long_weeks;
mod monitor;
mod orders;
mod plans;
mod queues;
mod reported_runs;
mod reset_starts;
mod rounds;
mod server_checks;
mod settings;
mod slurm;
mod slurm_rig;
mod slurm_shares;
mod slurm_tree;
mod texts;
mod texts_24_11;
pub mod trees;
mod unindexed_jobs;
mod watched_connector;

/// The keys of an example of settings without the marks of comments, but those that begin with one of `left_out`.
fn example_keys<'a>(example: &'a str, left_out: &[&str]) -> Vec<&'a str> {
    let keys = example.lines().filter_map(|line| line.strip_prefix("# ")).filter(|line| line.contains(" = "));
    keys.filter(|line| !left_out.iter().any(|name| line.starts_with(name))).collect()
}

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

    /// Texts that Slurm 24.11.5 printed.
    pub mod slurm_24_11 {
        pub const SQUEUE: &str = include_str!("recorded/slurm_24_11/squeue.txt");
        pub const SPRIO: &str = include_str!("recorded/slurm_24_11/sprio.txt");
        pub const SACCT: &str = include_str!("recorded/slurm_24_11/sacct.txt");
        pub const CONFIG: &str = include_str!("recorded/slurm_24_11/config.txt");
        pub const PARTITIONS: &str = include_str!("recorded/slurm_24_11/partitions.txt");
        pub const NODES: &str = include_str!("recorded/slurm_24_11/nodes.txt");
        pub const ASSOCIATIONS: &str = include_str!("recorded/slurm_24_11/associations.txt");
        pub const SDIAG: &str = include_str!("recorded/slurm_24_11/sdiag.txt");
        pub const MESSAGES: &str = include_str!("recorded/slurm_24_11/messages.txt");
    }

    /// Texts that HTCondor 23.9.6 printed.
    pub mod htcondor {
        pub const QUEUE: &str = include_str!("recorded/htcondor/queue.json");
        pub const BESIDE_SCHEDD: &str = include_str!("recorded/htcondor/beside_schedd.json");
        pub const HISTORY: &str = include_str!("recorded/htcondor/history.json");
        pub const EPOCHS: &str = include_str!("recorded/htcondor/epochs.json");
        pub const MACHINES: &str = include_str!("recorded/htcondor/machines.json");
        pub const USERS: &str = include_str!("recorded/htcondor/users.txt");
        pub const NEGOTIATOR: &str = include_str!("recorded/htcondor/negotiator.txt");
        pub const NEGOTIATORS: &str = include_str!("recorded/htcondor/negotiators.json");
        pub const SCHEDDS: &str = include_str!("recorded/htcondor/schedds.json");
        pub const SCHEDD: &str = include_str!("recorded/htcondor/schedd.txt");
        pub const HOST: &str = include_str!("recorded/htcondor/host.txt");
    }
}
