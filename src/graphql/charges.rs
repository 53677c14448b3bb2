//! The charges of fields whose work depends on the group or on the days of a request. They were measured beside a scan of
//! users, which costs a row for each user.

use async_graphql::Context;

use super::guard::{REPORT_ROWS, charge_rows};
use super::query::{caller, service};
use crate::service::Result;

/// The cost of the simulation of a group, in rows for each of its users, and for each of its kernels that have not ended.
const SIMULATION_ROWS_PER_USER: usize = 12;
const SIMULATION_ROWS_PER_KERNEL: usize = 4;
/// One day in this number has usage of a user, on an average.
const DAYS_PER_RECORDED_DAY: usize = 4;

/// Charges a computation over the kernels of a group that have not ended, which takes `rows_per_kernel` rows for each of them.
pub async fn charge_kernels(ctx: &Context<'_>, group: &str, rows_per_kernel: usize) -> Result<()> {
    let kernels = service(ctx)?.count_live_kernels(caller(ctx)?, group).await?;
    charge_rows(ctx, kernels.saturating_mul(rows_per_kernel).max(REPORT_ROWS))
}

/// Charges the simulation of a group.
pub async fn charge_simulation(ctx: &Context<'_>, group: &str) -> Result<()> {
    let users = service(ctx)?.group(caller(ctx)?, group)?.count_users();
    let kernels = service(ctx)?.count_live_kernels(caller(ctx)?, group).await?;
    let rows = users * SIMULATION_ROWS_PER_USER + kernels * SIMULATION_ROWS_PER_KERNEL;
    charge_rows(ctx, rows.max(REPORT_ROWS))
}

/// Charges a field that reads what `users` users have used in `days` days, `least` rows at least.
pub fn charge_days(ctx: &Context<'_>, least: usize, users: usize, days: usize) -> Result<()> {
    charge_rows(ctx, (users.saturating_mul(days) / DAYS_PER_RECORDED_DAY).max(least))
}
