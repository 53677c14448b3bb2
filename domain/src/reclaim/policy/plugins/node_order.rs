//! `node_order` chooses an agent among those with room.

use super::ReclaimPlugin;
use crate::division::Fraction;

/// Packs on the fullest agent that has room, or spreads to the emptiest.
pub(super) struct NodeOrderPlugin;

impl ReclaimPlugin for NodeOrderPlugin {
    fn name(&self) -> &'static str {
        "node_order"
    }

    fn summary(&self) -> &'static str {
        "It chooses an agent among those with room."
    }

    fn chooses_agents(&self) -> bool {
        true
    }

    fn node_order(&self, free: Fraction, spread: bool) -> Fraction {
        if spread { free } else { free.complement() }
    }
}
