use proptest::prelude::*;

use super::*;

fn ids(coming: &Order) -> Vec<u64> {
    coming.iter().map(|place| place.id.0).collect()
}

#[test]
fn the_most_urgent_comes_first_and_of_two_the_older() {
    let mut coming = Order::default();
    for (id, rank) in [(1, 1.0), (2, 5.0), (3, 5.0), (4, -2.0)] {
        coming.set(InstanceId(id), Some(rank));
    }
    assert_eq!(ids(&coming), [2, 3, 1, 4]);
    // Who is more urgent by now has one place, and who does not wait has none.
    coming.set(InstanceId(4), Some(9.0));
    coming.set(InstanceId(2), None);
    coming.set(InstanceId(7), None);
    assert_eq!(ids(&coming), [4, 3, 1]);
}

proptest! {
    #[test]
    fn from_one_to_the_next_is_the_way_through_all(changes in prop::collection::vec((0..12_u64, prop::option::of(-3..3_i32)), 0..60)) {
        let (mut coming, mut expected) = (Order::default(), HashMap::<u64, f64>::default());
        for (id, rank) in changes {
            let rank = rank.map(f64::from);
            coming.set(InstanceId(id), rank);
            match rank {
                Some(rank) => drop(expected.insert(id, rank)),
                None => drop(expected.remove(&id)),
            }
        }
        let mut expected: Vec<_> = expected.into_iter().map(|(id, rank)| (rank, id)).collect();
        expected.sort_unstable_by(|a, b| by_rank(*a, *b));
        let (mut found, mut next) = (Vec::new(), coming.first());
        while let Some(place) = next {
            found.push((place.rank, place.id.0));
            next = coming.after(place);
        }
        prop_assert_eq!(found, expected);
    }
}
