use bevy_asset::uuid::Uuid;

use super::*;

fn id(number: u128) -> AssetId<Image> {
    AssetId::Uuid {
        uuid: Uuid::from_u128(number),
    }
}

#[test]
fn each_is_asked_about_once_when_it_has_been_there_for_a_while() {
    let mut strangers = Strangers::default();
    let mut due = |new: &[u128], now: f64| {
        new.iter().for_each(|number| strangers.note(id(*number)));
        let mut found = vec![];
        strangers.due(now, |image| found.push(image));
        found
    };
    assert!(due(&[2, 1, 2], 1.0).is_empty());
    assert!(due(&[3], 5.0).is_empty());
    assert!(due(&[], 10.9).is_empty());
    assert_eq!(due(&[], 11.0), [id(1), id(2)]);
    assert!(due(&[1], 12.0).is_empty(), "another has come");
    assert_eq!(due(&[], 99.0), [id(3), id(1)]);
    assert!(due(&[], 999.0).is_empty());
}
