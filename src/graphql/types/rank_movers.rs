//! The users whose rank changed most, since the day before or on a past day.

use async_graphql::{Context, Object, Result as Answer};

use super::UserFairShare;
use crate::domain::ranking::PlacedRow;
use crate::engine::group::snapshots::rows::UserShare;
use crate::graphql::guard;
use crate::graphql::query::service;
use crate::graphql::scalars::{Date, Uuid};
use crate::service::Result;
use crate::service::rank_movement::{DayMovers, RankMove, UserMovers};

/// The users whose rank moved most since the day before.
pub struct RankMovers(UserMovers);

impl RankMovers {
    pub fn new(ctx: &Context<'_>, movers: UserMovers) -> Result<Self> {
        guard::spend_rows(ctx, movers.up.len() + movers.down.len())?;
        Ok(Self(movers))
    }

    fn shares(&self, rows: &[PlacedRow<UserShare>]) -> Vec<UserFairShare> {
        rows.iter().map(|row| UserFairShare::new(&self.0.group, row.clone())).collect()
    }
}

#[Object(rename_fields = "snake_case")]
impl RankMovers {
    /// The day whose last ranks are compared with those of now; null before the first calculation.
    async fn since(&self) -> Option<Date> {
        self.0.since.map(Date)
    }

    /// The users that rose, the farthest first; equals by rank and then by id.
    async fn up(&self) -> Vec<UserFairShare> {
        self.shares(&self.0.up)
    }

    /// The users that fell, likewise.
    async fn down(&self) -> Vec<UserFairShare> {
        self.shares(&self.0.down)
    }
}

/// The users whose rank moved most on a day that is over.
pub struct RankMoversOfDay(DayMovers);

impl RankMoversOfDay {
    pub fn new(ctx: &Context<'_>, movers: DayMovers) -> Result<Self> {
        guard::spend_rows(ctx, movers.up.len() + movers.down.len())?;
        Ok(Self(movers))
    }
}

#[Object(rename_fields = "snake_case")]
impl RankMoversOfDay {
    /// The day before, with whose last ranks those of the day are compared.
    async fn since(&self) -> Date {
        Date(self.0.since)
    }

    /// The users that rose, the farthest first; equals by rank and then by id.
    async fn up(&self) -> Vec<RankMoveNode> {
        self.0.up.iter().copied().map(RankMoveNode).collect()
    }

    /// The users that fell, likewise.
    async fn down(&self) -> Vec<RankMoveNode> {
        self.0.down.iter().copied().map(RankMoveNode).collect()
    }
}

/// How one user moved on a day that is over.
pub struct RankMoveNode(RankMove);

#[Object(name = "RankMove", rename_fields = "snake_case")]
impl RankMoveNode {
    async fn user_uuid(&self) -> Uuid {
        Uuid(self.0.member.user.0)
    }

    /// As the user is called now.
    async fn user_name(&self, ctx: &Context<'_>) -> Answer<Option<String>> {
        Ok(service(ctx)?.people().user_name(self.0.member.user).map(|name| name.to_string()))
    }

    async fn project_id(&self) -> Uuid {
        Uuid(self.0.member.project.0)
    }

    /// As it is called now.
    async fn project_name(&self, ctx: &Context<'_>) -> Answer<Option<String>> {
        Ok(service(ctx)?.people().project_name(self.0.member.project).map(|name| name.to_string()))
    }

    /// At the end of the day.
    async fn rank(&self) -> u32 {
        self.0.rank
    }

    /// At the end of the day before.
    async fn previous_rank(&self) -> u32 {
        self.0.rank_before
    }
}
