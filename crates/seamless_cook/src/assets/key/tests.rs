//! What keys are as bytes.

use super::*;
use crate::assets::{from_bytes, to_bytes};

fn path(path: &str) -> AssetName {
    AssetName::Path {
        path: path.into(),
        type_path: "game::Sound".into(),
    }
}

#[test]
fn keys_come_back_from_bytes_each_written_once() {
    let keys = ["a.ogg", "b.ogg", "a.ogg"]
        .map(|name| AssetKey::new(path(name)))
        .to_vec();
    let bytes = to_bytes(&keys).unwrap();
    assert_eq!(from_bytes::<Vec<AssetKey>>(&bytes).unwrap(), keys);
    let count = bytes.windows(5).filter(|bytes| *bytes == b"a.ogg").count();
    assert_eq!(count, 1);
}

#[test]
fn keys_of_one_level_are_not_read_however_deep_they_are_nested() {
    let of_level = |key| {
        AssetKey::new(AssetName::OfLevel {
            level: String::new(),
            key,
        })
    };
    let bytes = to_bytes(&vec![of_level(AssetKey::new(path("a.ogg")))]).unwrap();
    assert!(from_bytes::<Vec<AssetKey>>(&bytes).is_err());
    // One name: in a level without a name, in a level without a name …
    let forged = [&[1][..], &[2, 0].repeat(1_000_000)].concat();
    assert!(from_bytes::<Vec<AssetKey>>(&forged).is_err());
}
