//! Columns come apart where their values end, whatever they are of.

use bevy_reflect::{Reflect, TypePath, TypeRegistry, Typed};
use bevy_transform::components::Transform;

use super::*;
use crate::codec::{description_of, schema};

fn reflected<T: Typed + bevy_reflect::GetTypeRegistration>() -> Schema {
    let mut registry = TypeRegistry::default();
    registry.register::<T>();
    let description = description_of(T::type_info(), &registry);
    schema(T::type_path(), Encoding::Reflect, 1, &description)
}

fn split<'a>(stored: &Schema, data: &'a [u8], rows: usize) -> Result<Vec<Vec<Part<'a>>>, DecodeError> {
    let splitter = ColumnSplitter::of(stored)?.expect("it tells where rows end");
    let rows = splitter.split(data, rows, 10)?;
    Ok(rows.iter().map(<[Part]>::to_vec).collect())
}

#[test]
fn fixed_records_and_texts() {
    let place = schema(Transform::type_path(), Encoding::Record, 1, "record");
    let data = [7_u8; 80];
    assert_eq!(
        split(&place, &data, 2).unwrap(),
        [[Part::Bytes(&data[..40])], [Part::Bytes(&data[40..])]]
    );
    let name = schema(Name::type_path(), Encoding::Record, 1, "record");
    let data = b"\x01\0\0\0a\x02\0\0\0bc";
    assert_eq!(
        split(&name, data, 2).unwrap(),
        [[Part::Bytes(&data[..5])], [Part::Bytes(&data[5..])]]
    );
    let plain = schema(
        "game::Ammo",
        Encoding::Plain,
        1,
        "size 2 align 2; ammo u16@0\nstruct game::Ammo\n",
    );
    assert_eq!(split(&plain, &[1, 0, 2, 0], 2).unwrap().len(), 2);
}

#[test]
fn references_and_entities_are_parts_of_their_own() {
    let children = schema("game::Children", Encoding::Relation, 1, "rows");
    let data = [1, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0];
    let expected = [
        vec![Part::Bytes(&data[..4]), Part::Entity(4)],
        vec![Part::Bytes(&data[8..])],
    ];
    assert_eq!(split(&children, &data, 2).unwrap(), expected);
    let handles = schema("game::Shape", Encoding::Handle, 1, "handle of game::Mesh");
    let mut data = vec![3, 0, 0, 0, 0, 0, 0, 0];
    data.extend([9; 16]);
    let expected = [[Part::Reference(2)], [Part::Bytes(&data[4..])]];
    assert_eq!(split(&handles, &data, 2).unwrap(), expected);
}

#[derive(Reflect)]
#[reflect(no_auto_register)]
#[type_path = "game"]
struct Mixed {
    name: String,
    target: Entity,
    far: Option<u32>,
    kind: Kind,
    numbers: Vec<u16>,
}

#[derive(Reflect)]
#[reflect(no_auto_register)]
#[type_path = "game"]
enum Kind {
    Idle,
    Goes(f32),
}

#[test]
fn reflected_values_are_walked_by_their_layout() {
    let mut data = vec![2, b'h', b'i'];
    let bits = postcard::to_allocvec(&Entity::from_raw_u32(3).unwrap().to_bits()).unwrap();
    data.extend(&bits);
    let tail = data.len();
    data.extend([1, 0x80, 1, 1, 0, 0, 0, 0, 2, 5, 6]);
    let end = data.len();
    data.extend([0]);
    data.extend(postcard::to_allocvec(&u64::MAX).unwrap());
    data.extend([0, 0, 0]);
    let expected = [
        vec![Part::Bytes(&data[..3]), Part::Entity(3), Part::Bytes(&data[tail..end])],
        vec![Part::Bytes(&data[end..])],
    ];
    assert_eq!(split(&reflected::<Mixed>(), &data, 2).unwrap(), expected);
}

#[test]
fn what_does_not_add_up_is_an_error() {
    let place = schema(Transform::type_path(), Encoding::Record, 1, "record");
    assert!(matches!(split(&place, &[0; 41], 1), Err(DecodeError::Bytes(_))));
    assert!(matches!(split(&place, &[0; 39], 1), Err(DecodeError::Bytes(_))));
    let kind = reflected::<Kind>();
    let error = split(&kind, &[2], 1).unwrap_err().to_string();
    assert!(error.contains("no variant 2"), "{error}");
    let wide = schema(
        "game::Wide",
        Encoding::Reflect,
        1,
        "array 4000000000 game::Wide\n.item game::Unit\nstruct game::Unit\n",
    );
    let error = split(&wide, &[], 1).unwrap_err().to_string();
    assert!(error.contains("far more parts than bytes"), "{error}");
    let deep = schema("game::Deep", Encoding::Reflect, 1, "struct game::Deep\n.0 game::Deep\n");
    let error = split(&deep, &[], 1).unwrap_err().to_string();
    assert!(error.contains("nested too deep"), "{error}");
    let torn = schema("game::Torn", Encoding::Reflect, 1, ".0 u8\n");
    assert!(matches!(split(&torn, &[], 1), Err(DecodeError::Malformed(_))));
}

#[test]
fn a_record_of_the_game_is_its_own_business() {
    for stored in [
        schema("game::Health", Encoding::Record, 1, "record"),
        schema(Transform::type_path(), Encoding::Record, 2, "record"),
        schema("game::Pixels", Encoding::Asset, 1, "codec"),
    ] {
        assert!(ColumnSplitter::of(&stored).unwrap().is_none(), "{}", stored.type_path);
    }
}
