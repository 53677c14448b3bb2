use async_graphql::{Context, Object};

use super::UserFairShare;
use crate::domain::ranking::Placed;
use crate::graphql::guard;
use crate::graphql::scalars::Date;
use crate::service::Result;
use crate::service::group::published::rows::UserShare;
use crate::service::rank_movement::Movers;

/// The users whose rank moved most since the day before.
pub struct RankMovers(Movers);

impl RankMovers {
    pub fn new(ctx: &Context<'_>, movers: Movers) -> Result<Self> {
        guard::spend(ctx, movers.up.len() + movers.down.len())?;
        Ok(Self(movers))
    }

    fn shares(&self, rows: &[Placed<UserShare>]) -> Vec<UserFairShare> {
        rows.iter().map(|row| UserFairShare::new(&self.0.group, row.clone())).collect()
    }
}

#[Object(rename_fields = "snake_case")]
impl RankMovers {
    /// The day whose last ranks are compared with those of now; null before the first calculation.
    async fn since(&self) -> Option<Date> {
        self.0.since.map(Date)
    }

    /// Those who rose, the farthest first; equals by rank and then by id.
    async fn up(&self) -> Vec<UserFairShare> {
        self.shares(&self.0.up)
    }

    /// Those who fell, likewise.
    async fn down(&self) -> Vec<UserFairShare> {
        self.shares(&self.0.down)
    }
}
