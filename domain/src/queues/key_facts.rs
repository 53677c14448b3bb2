//! The facts about the keys of a queue, made from the list of keys.

use super::config::{MAX_RUNTIME_SECONDS, QueueConfig, queue_keys};
use super::values::{Bound, MAX_WEIGHT, OverQuotaBy, OverQuotaWeight, QueueMode};
use crate::decimal::Amount;
use crate::option_facts::OptionValues;
use crate::slots::{SlotAmounts, SlotMap};
use crate::time::Timestamp;

/// A key of a queue besides its name.
#[derive(Clone, Copy, Debug)]
pub struct QueueKeyFacts {
    pub key: &'static str,
    pub values: OptionValues,
}

/// A type of keys of queues. Types with another range for one key have a type of their own.
trait QueueKeyType {
    const VALUES: OptionValues;
}

macro_rules! values {
    ($($type:ty: $values:expr;)*) => {
        $(impl QueueKeyType for $type { const VALUES: OptionValues = $values; })*
    };
}
values! {
    i32: OptionValues::Whole { minimum: i32::MIN as i64, maximum: i32::MAX as i64 };
    Amount: OptionValues::Decimal { maximum: MAX_WEIGHT };
    bool: OptionValues::Flag;
    Option<String>: OptionValues::Text;
    Option<Timestamp>: OptionValues::Time;
    Option<u64>: OptionValues::Whole { minimum: 0, maximum: MAX_RUNTIME_SECONDS.cast_signed() };
    QueueMode: OptionValues::Choice(QueueMode::choices);
    OverQuotaBy: OptionValues::Choice(OverQuotaBy::choices);
    SlotAmounts: OptionValues::Amounts;
    SlotMap<Bound>: OptionValues::Amounts;
    OverQuotaWeight: OptionValues::Amounts;
}

macro_rules! facts {
    ($($(#[$schema:meta])* $key:ident: $type:ty = $default:expr, $said:tt $simulation:tt $output:tt $input:tt;)*) => {
        /// The facts about all keys.
        pub fn queue_key_facts() -> Vec<QueueKeyFacts> {
            vec![$(QueueKeyFacts { key: stringify!($key), values: <$type as QueueKeyType>::VALUES }),*]
        }
    };
}
queue_keys!(facts);

impl QueueKeyFacts {
    /// The default of the key, as JSON.
    pub fn default_value(&self) -> serde_json::Value {
        let defaults = serde_json::to_value(QueueConfig::default()).unwrap_or_default();
        defaults.get(self.key).cloned().unwrap_or_default()
    }
}
