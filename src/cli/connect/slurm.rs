//! `fairshared connect slurm`.

use std::sync::Arc;

use super::command::{SchedulerSettings, print_table};
use super::run_conversion::{check_slots, convert_runs};
use crate::cli::failure::CommandFailure;
use crate::config::Config;
use crate::connectors::api_server::ApiServer;
use crate::connectors::common_settings::CommonSettings;
use crate::connectors::fault::RoundFault;
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

    fn common(&self) -> &CommonSettings {
        &self.common
    }

    fn common_mut(&mut self) -> &mut CommonSettings {
        &mut self.common
    }

    /// A reset concerns the jobs of all partitions, so that a partition of the settings that is gone does not stop it.
    fn for_reset(self) -> Self {
        Self { partitions: Vec::new(), ..self }
    }

    async fn start(&self) -> Result<(SlurmConnector, RoundSettings), RoundFault> {
        let slurm = read_config(self).await?;
        let round = self.common.rounds_of(&slurm.cluster, self.nodes, self.tree);
        Ok((SlurmConnector::new(self.clone(), slurm, convert_runs, Arc::new(SystemClock)), round))
    }

    async fn check(&self, server: Option<&ApiServer>, user: &str, is_lock_free: bool) -> SlurmReport {
        check_setup(self, server, user, is_lock_free, || SystemClock.now()).await
    }

    fn print_mapping(facts: &SlurmFacts) -> Result<(), CommandFailure> {
        print_table(&["account", "domain", "project", "weight"], &facts.mapping.accounts)?;
        print_table(&["partition", "tier", "ordered"], &facts.mapping.partitions)
    }
}
