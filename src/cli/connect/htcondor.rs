//! `fairshared connect htcondor`.

use std::sync::Arc;

use super::command::{SchedulerSettings, print_resources, print_table};
use super::run_conversion::check_slots;
use super::run_lines::write_run;
use crate::cli::failure::CommandFailure;
use crate::config::Config;
use crate::connectors::api_server::ApiServer;
use crate::connectors::common_settings::CommonSettings;
use crate::connectors::fault::RoundFault;
use crate::connectors::htcondor::HtCondorConnector;
use crate::connectors::htcondor::pool::read_pool;
use crate::connectors::htcondor::settings::{HtCondorSettings, TABLE, commented_example};
use crate::connectors::htcondor::setup::{HtCondorFacts, HtCondorReport, check_pool};
use crate::connectors::round::RoundSettings;
use crate::service::{Clock, SystemClock};

impl SchedulerSettings for HtCondorSettings {
    type Connector = HtCondorConnector;
    type Facts = HtCondorFacts;

    fn commented_example() -> String {
        commented_example()
    }

    fn read(config: &Config) -> Result<Self, CommandFailure> {
        let settings = Self::read(config.connector_tables.get(TABLE))?;
        check_slots(&settings.resources)
            .map_err(|reason| CommandFailure::Unusable(format!("[htcondor] resources: {reason}")))?;
        Ok(settings)
    }

    fn common(&self) -> &CommonSettings {
        &self.common
    }

    fn common_mut(&mut self) -> &mut CommonSettings {
        &mut self.common
    }

    async fn start(&self) -> Result<(HtCondorConnector, RoundSettings), RoundFault> {
        let pool = read_pool(self).await?;
        let round = self.common.rounds_of(&pool.cluster, self.machines, self.setup);
        Ok((HtCondorConnector::new(self.clone(), pool, write_run, Arc::new(SystemClock)), round))
    }

    async fn check(&self, server: Option<&ApiServer>, user: &str, _is_lock_free: bool) -> HtCondorReport {
        check_pool(self, server, user, || SystemClock.now()).await
    }

    fn print_mapping(facts: &HtCondorFacts) -> Result<(), CommandFailure> {
        print_table(&["project", "domain", "users"], &facts.mapping.groups)?;
        print_resources(&facts.mapping.resources)
    }
}
