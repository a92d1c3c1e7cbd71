use bevy_asset::{Asset, uuid::Uuid};
use bevy_image::Image;
use bevy_pbr::StandardMaterial;

use super::*;

fn id<A: Asset>(number: u128) -> UntypedAssetId {
    let id: AssetId<A> = AssetId::Uuid {
        uuid: Uuid::from_u128(number),
    };
    id.untyped()
}

#[test]
fn an_entity_waits_once_for_what_was_told_last() {
    let (mut seats, materials) = (Seats::default(), Materials::default());
    let [first, second] = [1, 2].map(|index| Entity::from_raw_u32(index).expect("it is one"));
    let [one, two] = [1, 2].map(id::<StandardMaterial>);
    let kind = TypeId::of::<StandardMaterial>();
    seats.tell_has(first, one, &materials);
    seats.tell_has(second, one, &materials);
    seats.tell_has(first, two, &materials);
    seats.tell_lost(first, TypeId::of::<Image>(), &materials);
    seats.tell_again(first);
    seats.tell_lost(second, kind, &materials);
    assert_eq!(seats.next_told(), Some((first, Told::Has(two))));
    assert_eq!(seats.next_told(), Some((second, Told::Lost)));
    seats.tell_lost(first, kind, &materials);
    assert!(!seats.is_waiting(), "it is not known to have one");
}

#[test]
fn a_material_that_is_known_is_nothing_new() {
    let (mut seats, mut materials, mut watch) = (Seats::default(), Materials::default(), Watch::default());
    let entity = Entity::from_raw_u32(1).expect("it is one");
    let [one, two] = [1, 2].map(id::<StandardMaterial>);
    seats.assign(entity, one, &mut materials, &mut watch);
    seats.tell_has(entity, one, &materials);
    assert!(!seats.is_waiting());
    seats.tell_has(entity, two, &materials);
    seats.tell_has(entity, one, &materials);
    assert_eq!(
        seats.next_told(),
        Some((entity, Told::Has(one))),
        "it was to have another"
    );
    seats.leave(entity, &mut materials, &mut watch);
    seats.tell_has(entity, one, &materials);
    assert!(seats.is_waiting());
}

/// Bevy gives the index of who is gone to the next that comes, before anybody was told.
#[test]
fn who_comes_in_the_place_of_another_has_its_own_seat() {
    let (mut seats, mut materials, mut watch) = (Seats::default(), Materials::default(), Watch::default());
    let first = Entity::from_raw_u32(1).expect("it is one");
    let second = Entity::from_index_and_generation(first.index(), first.generation().after_versions(1));
    let [one, two] = [1, 2].map(id::<StandardMaterial>);
    seats.assign(first, one, &mut materials, &mut watch);
    assert!(!seats.has(second));
    seats.assign(second, two, &mut materials, &mut watch);
    let number = materials.number(two);
    assert_eq!((seats.has(first), seats.material(second)), (false, Some(number)));
    // Now it is told that the first is gone.
    seats.leave(first, &mut materials, &mut watch);
    assert_eq!(seats.material(second), Some(number));
    seats.leave(second, &mut materials, &mut watch);
    assert!(!seats.has(second));
    assert!(seats.seats.iter().all(Option::is_none), "nobody is left");
}
