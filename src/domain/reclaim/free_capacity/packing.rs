//! Room for members of several kinds at once (§6.6): they are put on agents one by one, and other agents are tried where
//! that fails. Members of one kind need no search, counting is exact for them.

use super::{Class, Rooms};
use crate::domain::reclaim::budget::{Budget, Exhausted};

/// Agents for all members, as (member, agent); the kind of most members comes last and is counted.
pub fn pack(
    rooms: &Rooms,
    classes: &[Class],
    among: &[usize],
    budget: &mut Budget,
) -> Result<Option<Vec<(usize, usize)>>, Exhausted> {
    let mut rooms = rooms.clone();
    let mut order: Vec<&Class> = classes.iter().collect();
    order.sort_by_key(|class| class.members.len());
    budget.pay(among.len().saturating_mul(classes.len()))?;
    let Some((last, first)) = order.split_last().filter(|_| classes.iter().all(|class| rooms.holds(class, among)))
    else {
        return Ok(None);
    };
    let members: Vec<(&Class, usize)> =
        first.iter().flat_map(|class| class.members.iter().map(|member| (*class, *member))).collect();
    let (mut places, mut next): (Vec<usize>, usize) = (Vec::with_capacity(members.len()), 0);
    loop {
        budget.pay(among.len())?;
        let member = members.get(places.len());
        if member.is_none()
            && let Some(counted) = rooms.reserve(last, among)
        {
            let chosen = members.iter().zip(&places).map(|((_, member), place)| (*member, among[*place]));
            return Ok(Some(chosen.chain(counted).collect()));
        }
        let has_room = |class: &Class, place: &usize| rooms.count(among[*place], class, 1) > 0;
        let found = member.and_then(|(class, _)| (next..among.len()).find(|place| has_room(class, place)));
        if let Some(place) = found {
            let (class, _) = members[places.len()];
            rooms.change(among[place], &class.request, -1);
            places.push(place);
            // Of equal members the next one goes no further up, so that none are merely swapped.
            let alike = members.get(places.len()).is_some_and(|(other, _)| std::ptr::eq(*other, class));
            next = if alike { place } else { 0 };
        } else {
            let Some(place) = places.pop() else { return Ok(None) };
            let (class, _) = members[places.len()];
            rooms.change(among[place], &class.request, 1);
            next = place + 1;
        }
    }
}
