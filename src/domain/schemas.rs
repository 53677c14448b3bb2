//! How values of the domain look in the `OpenAPI` document: decimals and times are texts.

use std::borrow::Cow;

use utoipa::openapi::schema::{Object, ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::openapi::{KnownFormat, RefOr};
use utoipa::{PartialSchema, ToSchema};

use super::decimal::Amount;
use super::division::{Bound, Fraction};
use super::slots::Amounts;
use super::time::Timestamp;

fn text(description: &str) -> Object {
    ObjectBuilder::new().schema_type(Type::String).description(Some(description)).build()
}

impl PartialSchema for Amount {
    fn schema() -> RefOr<Schema> {
        text("An exact decimal, 0 to 10^21 with at most 12 decimals. Accepted as text or number, answered as text.")
            .into()
    }
}

impl ToSchema for Amount {}

impl PartialSchema for Bound {
    fn schema() -> RefOr<Schema> {
        text("An exact decimal, or `unlimited`.").into()
    }
}

impl ToSchema for Bound {}

impl PartialSchema for Fraction {
    fn schema() -> RefOr<Schema> {
        text("A ratio with at most 12 decimals, or `inf`.").into()
    }
}

impl ToSchema for Fraction {
    fn name() -> Cow<'static, str> {
        "Ratio".into()
    }
}

impl PartialSchema for Timestamp {
    fn schema() -> RefOr<Schema> {
        let text = ObjectBuilder::new().schema_type(Type::String);
        text.format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime))).build().into()
    }
}

impl ToSchema for Timestamp {}

impl PartialSchema for Amounts {
    fn schema() -> RefOr<Schema> {
        let map = ObjectBuilder::new().schema_type(Type::Object).description(Some("Amounts by slot."));
        map.additional_properties(Some(Amount::schema())).build().into()
    }
}

impl ToSchema for Amounts {
    fn name() -> Cow<'static, str> {
        "Slots".into()
    }
}
