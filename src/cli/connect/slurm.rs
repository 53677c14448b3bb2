//! `fairshared connect slurm`.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use super::api_server::ApiServer;
use super::command::{SchedulerSettings, print_table};
use super::run_conversion::{check_slots, convert_runs};
use crate::cli::failure::CommandFailure;
use crate::config::Config;
use crate::connectors::fault::RoundFault;
use crate::connectors::outcome::WriteMode;
use crate::connectors::round::RoundSettings;
use crate::connectors::slurm::settings::{SlurmSettings, TABLE, commented_example};
use crate::connectors::slurm::setup::{SlurmFacts, SlurmReport, check_setup};
use crate::connectors::slurm::{SlurmConnector, read_config};
use crate::service::{Clock, SystemClock};

impl SchedulerSettings for SlurmSettings {
    type Connector = SlurmConnector;
    type Facts = SlurmFacts;

    fn commented_example() -> String {
        commented_example()
    }

    fn read(config: &Config) -> Result<Self, CommandFailure> {
        let settings = Self::read(config.connector_tables.get(TABLE))?;
        check_slots(&settings.tres).map_err(|reason| CommandFailure::Unusable(format!("[slurm] tres: {reason}")))?;
        Ok(settings)
    }

    fn mode(&self) -> WriteMode {
        self.mode
    }

    fn set_mode(&mut self, mode: WriteMode) {
        self.mode = mode;
    }

    fn state_dir(&self) -> &Path {
        &self.state_dir
    }

    fn poll(&self) -> Duration {
        self.poll
    }

    fn metrics_listen(&self) -> Option<SocketAddr> {
        self.metrics_listen
    }

    fn spool_max_bytes(&self) -> u64 {
        u64::from(self.spool_max_mb) << 20
    }

    /// A reset concerns the jobs of all partitions, so that a partition of the settings that is gone does not stop it.
    fn for_reset(self) -> Self {
        Self { partitions: Vec::new(), ..self }
    }

    async fn start(&self) -> Result<(SlurmConnector, RoundSettings), RoundFault> {
        let slurm = read_config(self).await?;
        let round = RoundSettings {
            mode: self.mode,
            resource_group: self.group_of(&slurm.cluster),
            cluster: slurm.cluster.clone(),
            head: self.head,
            max_writes: self.max_writes,
            writes_per_second: self.writes_per_second,
            accounting_interval: self.accounting,
            nodes_interval: self.nodes,
            tree_interval: self.tree,
            stale_after: self.stale_after,
            state_dir: self.state_dir.clone(),
            spool_max_bytes: self.spool_max_bytes(),
        };
        Ok((SlurmConnector::new(self.clone(), slurm, convert_runs), round))
    }

    async fn check(&self, server: Option<&ApiServer>, user: &str, is_lock_free: bool) -> SlurmReport {
        check_setup(self, server, user, is_lock_free, || SystemClock.now()).await
    }

    fn print_mapping(facts: &SlurmFacts) -> Result<(), CommandFailure> {
        print_table(&["account", "domain", "project", "weight"], &facts.mapping.accounts)?;
        print_table(&["partition", "tier", "ordered"], &facts.mapping.partitions)
    }
}
