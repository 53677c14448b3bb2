//! A kernel as it was last reported.

use sea_orm::entity::prelude::*;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "kernels")]
pub struct Model {
    /// The key of its group times 2^40, plus its number in the group.
    #[sea_orm(primary_key, auto_increment = false)]
    pub kernel_key: i64,
    pub group_key: i32,
    pub kernel_id: Uuid,
    pub session_id: Uuid,
    pub user_uuid: Uuid,
    pub project_id: Uuid,
    pub domain_name: String,
    #[sea_orm(column_type = "Text")]
    pub occupied_slots: String,
    pub status: String,
    pub started_at: Option<i64>,
    pub terminated_at: Option<i64>,
    /// Microseconds since 1970 (UTC) at which a suspension began (`-`) or ended (`+`), by time; `None`: the kernel never was
    /// suspended.
    #[sea_orm(column_type = "Text", nullable)]
    pub status_changes: Option<String>,
    pub end_inferred: bool,
    /// The expected run time; `None`: not reported.
    pub expected_seconds: Option<i32>,
    /// Empty: none.
    pub charge_class: String,
    /// Microseconds since 1970 (UTC); `None`: not known.
    pub submitted_at: Option<i64>,
    /// Microseconds since 1970 (UTC) of the first report; `None`: not known.
    pub reported_at: Option<i64>,
    /// Labels, tolerations and affinity as JSON; `None`: the kernel has none.
    #[sea_orm(column_type = "Text", nullable)]
    pub placement_rules: Option<String>,
    /// The agent of a kernel that runs on one alone.
    pub agent_id: Option<String>,
    /// The agents of a kernel that runs on several: a JSON array; `None`: it does not.
    #[sea_orm(column_type = "Text", nullable)]
    pub agent_ids: Option<String>,
    pub queue: Option<String>,
    pub priority: i32,
    pub preemptible: bool,
    pub critical: bool,
    pub gang_id: Option<String>,
    pub gang_min: Option<i32>,
}

impl ActiveModelBehavior for ActiveModel {}
