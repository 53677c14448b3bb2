//! The queues in mutations. They are read like those in REST bodies, with the same faults.

use async_graphql::InputObject;
use serde_json::{Map, Value};

use super::types::QueueValue;
use crate::domain::decimal::Amount;
use crate::domain::queues::{Bound, OverQuotaBy, OverQuotaWeight, QueueConfig, QueueMode, queue_keys};
use crate::domain::slots::{SlotAmounts, SlotMap};
use crate::domain::time::Timestamp;
use crate::service::input::json;
use crate::service::{Error, Fault, Result};

macro_rules! input {
    ($($(#[$schema:meta])* $key:ident: $type:ty = $default:expr, $config:tt $simulation:tt $output:tt [$($said:tt)?];)*) => {
        /// A queue. Keys that are left out, or null, have their defaults.
        #[derive(InputObject)]
        #[graphql(rename_fields = "snake_case")]
        pub struct QueueInput {
            name: String,
            $($(#[doc = $said])? $key: Option<<$type as QueueValue>::Input>,)*
        }

        impl QueueInput {
            fn into_json(self) -> Map<String, Value> {
                let given = [
                    ("name", Some(Value::from(self.name))),
                    $((stringify!($key), self.$key.map(<$type as QueueValue>::json)),)*
                ];
                given.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
            }
        }
    };
}
queue_keys!(input);

/// Reads the queues of a mutation. The error lists all faults.
pub fn read_queues(inputs: Vec<QueueInput>) -> Result<Vec<QueueConfig>> {
    let (mut queues, mut faults) = (Vec::new(), Vec::new());
    for (at, input) in inputs.into_iter().enumerate() {
        let text = Value::Object(input.into_json()).to_string();
        match json::read::<QueueConfig>(text.as_bytes()) {
            Ok(queue) => queues.push(queue),
            Err(error) => {
                let Fault { pointer, code, detail } = error.into();
                faults.push(Fault::new(format!("/queues/{at}{pointer}"), code, detail));
            }
        }
    }
    if faults.is_empty() { Ok(queues) } else { Err(Error::Invalid(faults)) }
}
