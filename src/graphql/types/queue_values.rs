//! The types of the values of queues in GraphQL: those of fields in results, and those of JSON in mutations.

use async_graphql::{Enum, InputType, OutputType};
use serde_json::{Value, json};

use crate::domain::decimal::Amount;
use crate::domain::queues::{self, Bound, OverQuotaWeight};
use crate::domain::slots::{SlotAmounts, SlotMap};
use crate::domain::time::Timestamp;
use crate::graphql::scalars::{DateTime, Decimal, JsonString};

/// How a queue serves its children under `min_share`.
#[derive(Enum, Clone, Copy, Debug, PartialEq, Eq)]
#[graphql(remote = "crate::domain::queues::QueueMode")]
pub enum QueueMode {
    Fair,
    Fifo,
}

/// The figure that over-quota capacity is divided by.
#[derive(Enum, Clone, Copy, Debug, PartialEq, Eq)]
#[graphql(remote = "crate::domain::queues::OverQuotaBy")]
pub enum OverQuotaBy {
    Weight,
    Quota,
}

/// A type of values of a queue.
pub trait QueueValue {
    type Output: OutputType;
    type Input: InputType;
    fn output(&self) -> Self::Output;
    fn json(input: Self::Input) -> Value;
}

macro_rules! queue_values {
    ($($type:ty: $output:ty = $show:expr, $input:ty = $read:expr;)*) => {$(
        impl QueueValue for $type {
            type Output = $output;
            type Input = $input;
            fn output(&self) -> $output {
                let show: fn(&$type) -> $output = $show;
                show(self)
            }
            fn json(input: $input) -> Value {
                let read: fn($input) -> Value = $read;
                read(input)
            }
        }
    )*};
}

queue_values! {
    bool: bool = |flag| *flag, bool = Value::from;
    i32: i32 = |number| *number, i32 = Value::from;
    Option<u64>: Option<u64> = |number| *number, u64 = Value::from;
    Option<String>: Option<String> = Clone::clone, String = Value::from;
    Option<Timestamp>: Option<DateTime> = |time| time.map(DateTime), DateTime = |time| time.0.to_string().into();
    Amount: String = ToString::to_string, Decimal = |decimal| decimal.0.into();
    SlotMap<Bound>: JsonString = JsonString::of, JsonString = |map| map.0;
    SlotAmounts: JsonString = JsonString::of, JsonString = |map| map.0;
    OverQuotaWeight: JsonString = JsonString::of, JsonString = |weight| weight.0;
    queues::QueueMode: QueueMode = |mode| (*mode).into(), QueueMode = |mode| json!(queues::QueueMode::from(mode));
    queues::OverQuotaBy: OverQuotaBy = |by| (*by).into(), OverQuotaBy = |by| json!(queues::OverQuotaBy::from(by));
}
