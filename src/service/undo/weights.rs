//! The undo of changes of weights.

use serde_json::{Value, json};

use super::moves::{ItemMove, item_moves};
use crate::domain::ids::Owner;
use crate::domain::weight::Weight;
use crate::engine::audit::{label, owner_of};
use crate::engine::group::changes::record::ChangeRecord;
use crate::engine::group::changes::weights::{self, WeightUpdate};
use crate::engine::group::transaction::GroupTransaction;
use crate::service::Result;

/// The weights that an entry has changed, by owner.
#[derive(Debug, Default)]
pub struct WeightMoves(Vec<ItemMove<Owner, Option<Weight>>>);

impl WeightMoves {
    pub fn read(before: &Value, after: &Value) -> Option<Self> {
        item_moves(before, after, owner_of).map(Self)
    }

    pub fn targets(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|(owner, ..)| label(owner))
    }

    /// The first owner whose weight is not as it was after the change.
    pub fn differs(&self, session: &GroupTransaction) -> Option<String> {
        let hierarchy = &session.state().hierarchy;
        let weight = |owner: &Owner| hierarchy.share(owner).and_then(|share| share.weight);
        self.0.iter().find(|(owner, _, after)| weight(owner) != *after).map(|(owner, ..)| label(owner))
    }

    pub fn take_back(&self, session: &mut GroupTransaction, record: &mut ChangeRecord) -> Result<()> {
        let inverse = |(target, before, after): &ItemMove<Owner, Option<Weight>>| WeightUpdate {
            target: target.clone(),
            from: *after,
            to: *before,
        };
        let changes: Vec<WeightUpdate> = self.0.iter().map(inverse).collect();
        weights::set_weights(session, &changes)?;
        for WeightUpdate { target, from, to } in &changes {
            record.note("weights", &label(target), json!(from), json!(to));
        }
        Ok(())
    }
}
