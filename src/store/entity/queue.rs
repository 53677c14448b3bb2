//! A queue by its group and name; the columns of its keys are in `store/queues.rs`.

use sea_orm::entity::prelude::*;

/// The key of a queue. The columns of its settings follow from the list of keys, see `store/queues.rs`.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "queues")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub resource_group: String,
    #[sea_orm(primary_key, auto_increment = false)]
    pub name: String,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
