//! The snapshot as the source of usage accounts (FAIR_SHARE §10).

use std::sync::Arc;

use super::facts::GroupSnapshotData;
use crate::domain::hierarchy::Share;
use crate::domain::ids::{Member, ProjectId};
use crate::domain::options::Options;
use crate::domain::outstanding::Outstanding;
use crate::domain::run_times::{CacheGeneration, RunTimes};
use crate::domain::sequencer::progressive::GroupUsage;
use crate::domain::slots::Amounts;

impl GroupUsage for GroupSnapshotData {
    fn options(&self) -> &Options {
        &self.profile().options
    }

    fn today(&self) -> &Amounts {
        &self.today
    }

    fn outstanding(&self) -> &Outstanding {
        &self.outstanding
    }

    fn run_times(&self) -> RunTimes {
        self.run_times
    }

    fn edition(&self) -> &CacheGeneration {
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
