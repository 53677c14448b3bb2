//! The snapshot as the source of usage accounts (FAIR_SHARE §10).

use std::sync::Arc;

use super::snapshot_data::GroupSnapshotData;
use crate::domain::hierarchy::Share;
use crate::domain::ids::{Member, ProjectId};
use crate::domain::options::FairShareOptions;
use crate::domain::outstanding::OutstandingKernels;
use crate::domain::run_times::{CacheGeneration, RunTimes};
use crate::domain::sequencer::progressive::GroupUsage;
use crate::domain::slots::SlotAmounts;

impl GroupUsage for GroupSnapshotData {
    fn options(&self) -> &FairShareOptions {
        &self.profile().options
    }

    fn today(&self) -> &SlotAmounts {
        &self.today
    }

    fn outstanding(&self) -> &OutstandingKernels {
        &self.outstanding
    }

    fn run_times(&self) -> RunTimes {
        self.run_times
    }

    fn cache_generation(&self) -> &CacheGeneration {
        &self.expectations
    }

    fn user(&self, member: Member) -> Option<&Share> {
        self.rows.user(member).map(|row| &row.share)
    }

    fn project(&self, project: ProjectId) -> Option<(&Arc<str>, &Share)> {
        self.rows.project(project).map(|row| (&row.domain_name, &row.share))
    }

    fn domain(&self, name: &str) -> Option<&Share> {
        self.rows.domain(name).map(|row| &row.share)
    }
}
