//! A map in shards is a map, and its copies go their own ways.

use std::collections::BTreeMap;

use fairshared::domain::shards::Shards;
use proptest::prelude::*;

use super::support::cases;

fn sorted(shards: &Shards<u32, u32>) -> BTreeMap<u32, u32> {
    shards.iter().map(|(key, value)| (*key, *value)).collect()
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn it_holds_what_a_map_holds(
        first in proptest::collection::vec((0u32..3_000, any::<u32>()), 0..3_000),
        steps in proptest::collection::vec((0u32..3_000, 0u32..4), 0..500)
    ) {
        let mut plain: BTreeMap<u32, u32> = first.iter().copied().collect();
        let mut shards: Shards<u32, u32> = first.into_iter().collect();
        let (before, copy) = (plain.clone(), shards.clone());
        for (key, step) in steps {
            match step {
                0 => prop_assert_eq!(shards.remove(&key), plain.remove(&key)),
                1 => {
                    shards.insert(key, 7);
                    plain.insert(key, 7);
                }
                2 => *shards.get_or_insert_with(&key, || (key, 0)) ^= 1,
                _ => prop_assert_eq!(shards.get_mut(&key).map(|v| *v), plain.get(&key).copied()),
            }
            if step == 2 {
                *plain.entry(key).or_default() ^= 1;
            }
            prop_assert_eq!(shards.get(&key), plain.get(&key));
            prop_assert_eq!((shards.len(), shards.is_empty()), (plain.len(), plain.is_empty()));
        }
        prop_assert_eq!(&sorted(&shards), &plain);
        prop_assert_eq!(&sorted(&copy), &before);
        prop_assert_eq!(shards == copy, plain == before);
    }
}
