//! The values that many usage records of a group share: their dimensions and the slots that were held.

use sea_orm::entity::prelude::*;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "slice_kinds")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub group_key: i32,
    #[sea_orm(primary_key, auto_increment = false)]
    pub kind: i32,
    /// The last day with a record of this kind.
    pub used_on: i32,
    pub domain_name: String,
    /// Empty: none.
    pub charge_class: String,
    #[sea_orm(column_type = "Text")]
    pub slots: String,
}

impl ActiveModelBehavior for ActiveModel {}
