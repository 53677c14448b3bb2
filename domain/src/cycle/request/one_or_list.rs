//! A list that may also be written as its only element.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use utoipa::openapi::schema::{ArrayBuilder, OneOfBuilder, Schema};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use crate::reading::AtMost;

/// A list of at most `MOST` objects, or one object.
#[derive(Clone, Debug)]
pub struct OneOrList<T, const MOST: usize> {
    pub elements: Vec<T>,
    /// True if the request has one object in place of the list, which the pointers of faults have to know.
    is_one: bool,
}

impl<T, const MOST: usize> OneOrList<T, MOST> {
    /// The JSON pointer of an element of the list, which is itself at `pointer`.
    pub fn pointer(&self, pointer: &str, index: usize) -> String {
        if self.is_one { pointer.to_owned() } else { format!("{pointer}/{index}") }
    }
}

impl<T, const MOST: usize> From<Vec<T>> for OneOrList<T, MOST> {
    fn from(elements: Vec<T>) -> Self {
        Self { elements, is_one: false }
    }
}

impl<'de, T: Deserialize<'de>, const MOST: usize> Deserialize<'de> for OneOrList<T, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ElementOrListVisitor(PhantomData))
    }
}

struct ElementOrListVisitor<T, const MOST: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for ElementOrListVisitor<T, MOST> {
    type Value = OneOrList<T, MOST>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, elements: A) -> Result<Self::Value, A::Error> {
        let list = AtMost::<T, MOST>::deserialize(SeqAccessDeserializer::new(elements))?;
        Ok(OneOrList { elements: list.0, is_one: false })
    }

    fn visit_map<A: MapAccess<'de>>(self, element: A) -> Result<Self::Value, A::Error> {
        let element = T::deserialize(MapAccessDeserializer::new(element))?;
        Ok(OneOrList { elements: vec![element], is_one: true })
    }
}

impl<T: ToSchema, const MOST: usize> PartialSchema for OneOrList<T, MOST> {
    fn schema() -> RefOr<Schema> {
        let element = || Ref::from_schema_name(T::name());
        let list = ArrayBuilder::new().items(element()).max_items(Some(MOST));
        OneOfBuilder::new().item(list).item(element()).into()
    }
}

impl<T: ToSchema, const MOST: usize> ToSchema for OneOrList<T, MOST> {
    fn name() -> Cow<'static, str> {
        format!("{}List", T::name()).into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((T::name().into_owned(), T::schema()));
        T::schemas(schemas);
    }
}
