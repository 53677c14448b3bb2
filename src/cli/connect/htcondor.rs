//! `fairshared connect htcondor`.

use super::api_server::ApiServer;
use super::command::{SchedulerSettings, print_table};
use super::run_conversion::check_slots;
use crate::cli::failure::CommandFailure;
use crate::cli::import::job::{ImportedJob, key_of_run};
use crate::cli::import::row;
use crate::config::Config;
use crate::connectors::common_settings::CommonSettings;
use crate::connectors::fault::RoundFault;
use crate::connectors::htcondor::HtCondorConnector;
use crate::connectors::htcondor::pool::read_pool;
use crate::connectors::htcondor::runs::CondorRun;
use crate::connectors::htcondor::settings::{HtCondorSettings, TABLE, commented_example};
use crate::connectors::htcondor::setup::{HtCondorFacts, HtCondorReport, check_pool};
use crate::connectors::round::RoundSettings;
use crate::domain::names::check_name;
use crate::domain::slots::{SlotAmounts, SlotName};
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
        Ok((HtCondorConnector::new(self.clone(), pool, write_run), round))
    }

    async fn check(&self, server: Option<&ApiServer>, user: &str, _is_lock_free: bool) -> HtCondorReport {
        check_pool(self, server, user, || SystemClock.now()).await
    }

    fn print_mapping(facts: &HtCondorFacts) -> Result<(), CommandFailure> {
        print_table(&["project", "domain", "users"], &facts.mapping.groups)?;
        let rows = facts
            .mapping
            .resources
            .iter()
            .map(|(resource, slot)| serde_json::json!({"resource": resource, "slot": slot}));
        print_table(&["resource", "slot"], rows)
    }
}

/// Adds a run to the lines of a report. Its kernel has the id that an import would give to a job of this key.
fn write_run(run: &CondorRun, resource_group: &str, lines: &mut Vec<u8>) -> Result<(), String> {
    let mut slots = SlotAmounts::default();
    for (slot, amount) in &run.slots {
        slots.set(SlotName::offered(slot).map_err(|error| error.to_string())?, *amount);
    }
    let job = ImportedJob {
        job_key: key_of_run(&run.job, run.started_at),
        session_key: run.job.clone(),
        user: run.owner.user.clone(),
        project: run.owner.project.clone(),
        domain: run.owner.domain.clone(),
        resource_group: resource_group.to_owned(),
        started_at: Some(run.started_at),
        terminated_at: run.ended_at,
        slots,
        agent: run.machine.clone().filter(|machine| check_name(machine).is_ok()),
        priority: run.priority,
        ..ImportedJob::default()
    };
    row::write(&job, job.kernel_id(), lines).map_err(|error| error.to_string())
}
