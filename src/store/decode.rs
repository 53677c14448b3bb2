//! Decodes stored text into domain values.

use std::sync::Arc;

use hashbrown::HashSet;
use serde::Deserialize;

use super::{Result, StoreError};
use crate::domain::factor::DecayedHistory;
use crate::domain::hierarchy::Share;
use crate::domain::maps::FastMap;
use crate::domain::slots::SlotMap;
use crate::domain::usage_dimensions::UsageDimensions;
use crate::domain::weight::Weight;

/// Parses slot maps. Rows mostly repeat a few texts, so each distinct text is parsed once.
pub struct SlotDecoder<V> {
    seen: FastMap<String, Arc<SlotMap<V>>>,
}

/// The most distinct texts that are remembered at a time.
const MAX_REMEMBERED_TEXTS: usize = 10_000;

impl<V: for<'de> Deserialize<'de> + Copy> SlotDecoder<V> {
    pub fn new() -> Self {
        Self { seen: FastMap::default() }
    }

    pub fn decode(&mut self, text: &str) -> Result<Arc<SlotMap<V>>> {
        if let Some(known) = self.seen.get(text) {
            return Ok(Arc::clone(known));
        }
        let map = Arc::new(slots(text)?);
        if self.seen.len() >= MAX_REMEMBERED_TEXTS {
            self.seen.clear();
        }
        self.seen.insert(text.to_owned(), Arc::clone(&map));
        Ok(map)
    }
}

/// Decodes the dimensions of usage. Rows repeat a few names, so each is stored once.
#[derive(Default)]
pub struct DimensionsDecoder {
    names: HashSet<Arc<str>>,
}

impl DimensionsDecoder {
    pub fn decode(&mut self, domain: &str, charge_class: &str) -> UsageDimensions {
        UsageDimensions { domain: self.name(domain), charge_class: self.name(charge_class) }
    }

    fn name(&mut self, name: &str) -> Arc<str> {
        Arc::clone(self.names.get_or_insert_with(name, |name| Arc::from(name)))
    }
}

pub fn slots<V: for<'de> Deserialize<'de> + Copy>(text: &str) -> Result<SlotMap<V>> {
    SlotMap::from_json(text).map_err(|e| StoreError::Damaged(format!("slot map {text}: {e}")))
}

/// Decodes a share from its stored columns.
pub fn share(weight: Option<i64>, decayed: &str, normalized_usage: f64, factor: f64) -> Result<Share> {
    let history =
        DecayedHistory { normalized_usage, total_decayed_usage: slots(decayed)?, ..DecayedHistory::default() };
    Ok(Share::new(weight.and_then(Weight::from_ten_thousandths), history).with_factor(factor))
}

pub fn json<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|e| StoreError::Damaged(e.to_string()))
}
