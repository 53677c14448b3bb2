//! `fairshared connect kueue`.

use std::sync::Arc;

use super::command::{SchedulerSettings, print_resources, print_table};
use super::run_conversion::check_slots;
use super::run_lines::write_run;
use crate::cli::failure::CommandFailure;
use crate::config::Config;
use crate::connectors::api_server::ApiServer;
use crate::connectors::common_settings::CommonSettings;
use crate::connectors::fault::RoundFault;
use crate::connectors::kueue::KueueConnector;
use crate::connectors::kueue::settings::{KueueSettings, TABLE, commented_example};
use crate::connectors::kueue::setup::{KueueFacts, KueueReport, check_cluster};
use crate::connectors::round::RoundSettings;
use crate::service::{Clock, SystemClock};

impl SchedulerSettings for KueueSettings {
    type Connector = KueueConnector;
    type Facts = KueueFacts;

    fn commented_example() -> String {
        commented_example()
    }

    fn read(config: &Config) -> Result<Self, CommandFailure> {
        let settings = Self::read(config.connector_tables.get(TABLE))?;
        check_slots(&settings.resources)
            .map_err(|reason| CommandFailure::Unusable(format!("[kueue] resources: {reason}")))?;
        Ok(settings)
    }

    fn common(&self) -> &CommonSettings {
        &self.common
    }

    fn common_mut(&mut self) -> &mut CommonSettings {
        &mut self.common
    }

    async fn start(&self) -> Result<(KueueConnector, RoundSettings), RoundFault> {
        let round = self.common.rounds_of(self.cluster_name(), self.nodes, self.setup);
        Ok((KueueConnector::start(self.clone(), write_run, Arc::new(SystemClock)).await?, round))
    }

    async fn check(&self, server: Option<&ApiServer>, _user: &str, _is_lock_free: bool) -> KueueReport {
        check_cluster(self, server, || SystemClock.now()).await
    }

    fn print_mapping(facts: &KueueFacts) -> Result<(), CommandFailure> {
        print_table(&["queue", "cluster_queue", "domain", "ordered", "weight"], &facts.mapping.queues)?;
        print_resources(&facts.mapping.resources)
    }
}
