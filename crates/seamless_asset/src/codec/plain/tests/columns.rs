//! Columns of plain rows: written, read, gathered, forged.

use bevy_ecs::entity::{EntityMapper, MapEntities};
use proptest::{array, collection::vec, prelude::*, test_runner::TestRunner};

use super::*;
use crate::codec::{description_of, plain::column::gather};

const PATH: &str = "game::Thing";

/// What a game has today.
#[derive(Component, Reflect, Clone, Debug, PartialEq)]
#[reflect(Component)]
#[type_path = "game"]
struct Thing {
    weight: f32,
    slots: [u16; 4],
    place: Vec3,
}

/// The same, declared immutable.
mod finished {
    use super::*;

    #[derive(Component, Reflect, Clone, Debug, PartialEq)]
    #[reflect(Component, @Immutable)]
    #[type_path = "game"]
    pub struct Thing {
        pub weight: f32,
        pub slots: [u16; 4],
        pub place: Vec3,
    }
}

fn float() -> impl Strategy<Value = f32> {
    // No NaN: values are compared.
    any::<f32>()
}

prop_compose! {
    fn part()(number in any::<i32>(), at in array::uniform2(float())) -> Part {
        Part(number, Vec2::from_array(at))
    }
}

prop_compose! {
    fn tail()(
        a in any::<u16>(),
        b in any::<u16>(),
        c in array::uniform3(array::uniform2(float())),
        rest in any::<[u8; TAIL]>(),
    ) -> Tail {
        Tail { a, b, c, rest }
    }
}

prop_compose! {
    fn everything()(
        wide in any::<(u128, i128)>(),
        long in any::<[u64; 2]>(),
        numbers in any::<(i64, f64, u32, i8)>(),
        turn in array::uniform4(float()),
        column in array::uniform4(float()),
        place in array::uniform3(float()),
        cell in any::<[i32; 2]>(),
        parts in array::uniform2(part()),
        half in any::<[i16; 3]>(),
        bytes in any::<[u8; 5]>(),
        last in tail(),
    ) -> Everything {
        Everything {
            wide,
            long,
            signed: numbers.0,
            double: numbers.1,
            turn: Quat::from_array(turn),
            column: Vec4::from_array(column),
            place: Vec3::from_array(place),
            cell: IVec2::from_array(cell),
            parts,
            word: numbers.2,
            half,
            bytes,
            small: numbers.3,
            last,
        }
    }
}

/// The codec that a type has by itself, and one by field.
fn codecs<T: Reflect + GetTypeRegistration>(registry: &TypeRegistry) -> (Arc<dyn ComponentCodec>, ReflectCodec) {
    let by_itself = CodecRegistry::default().component(TypeId::of::<T>(), registry).unwrap();
    let registration = registry.get(TypeId::of::<T>()).unwrap();
    (by_itself, ReflectCodec::by_field(registration, Role::ALL).unwrap())
}

/// Both roads make the same of the same values.
#[test]
fn plain_columns_equal_those_by_field() {
    let registry = registry::<Everything>();
    let (plain, by_field) = codecs::<Everything>(&registry);
    assert_eq!(plain.schema(&registry).encoding, Encoding::Plain as u8);
    assert_eq!(by_field.schema(&registry).encoding, Encoding::Reflect as u8);
    TestRunner::default()
        .run(&vec(everything(), 0..20), |values| {
            let data = encode(&*plain, &registry, &values).unwrap();
            prop_assert_eq!(data.len(), size_of::<Everything>() * values.len());
            let copied: Vec<Everything> = spawned(decode(&*plain, &registry, &data, values.len()).unwrap());
            let data = encode(&by_field, &registry, &values).unwrap();
            let read: Vec<Everything> = spawned(decode(&by_field, &registry, &data, values.len()).unwrap());
            prop_assert_eq!(&copied, &values);
            prop_assert_eq!(&read, &values);
            Ok(())
        })
        .unwrap();
}

/// The layout that another compiler would have made: the leaves of `layout`, in the memory order of `order`.
fn shuffled(layout: &PlainLayout, order: &[usize]) -> PlainLayout {
    let mut leaves = layout.leaves().to_vec();
    let mut offset = 0;
    for at in order {
        leaves[*at].offset = offset;
        offset += leaves[*at].size();
    }
    PlainLayout::new(layout.size(), 1, leaves).unwrap()
}

/// Rows of the layout `from` in the layout `to`, number by number.
fn relaid(from: &PlainLayout, to: &PlainLayout, data: &[u8]) -> Vec<u8> {
    let mut out = vec![0; data.len()];
    for (row, new) in data.chunks_exact(from.size()).zip(out.chunks_exact_mut(to.size())) {
        for (leaf, numbers) in from.values(row) {
            let target = to.leaves().iter().find(|other| other.path == leaf.path).unwrap();
            for (index, number) in numbers.into_iter().enumerate() {
                let mut bytes = [0; 16];
                let size = number.write_le(&mut bytes);
                let start = target.offset + index * size;
                new[start..start + size].copy_from_slice(&bytes[..size]);
            }
        }
    }
    out
}

#[test]
fn rows_of_another_memory_order_are_gathered() {
    let registry = registry::<Everything>();
    let codecs = CodecRegistry::default();
    let codec = codecs.component(TypeId::of::<Everything>(), &registry).unwrap();
    let own = plain::<Everything>().unwrap().layout().clone();
    let orders = Just((0..own.leaves().len()).collect::<Vec<_>>()).prop_shuffle();
    TestRunner::default()
        .run(&(orders, vec(everything(), 0..8)), |(order, values)| {
            let other = shuffled(&own, &order);
            let data = relaid(&own, &other, &encode(&*codec, &registry, &values).unwrap());
            let description = format!("{other}\n{}", tree::<Everything>());
            let stored = schema(codec.type_path(), Encoding::Plain, 1, &description);
            let reader = codecs.component_reader(&stored, &registry).unwrap();
            let read: Vec<Everything> = spawned(decode(&*reader, &registry, &data, values.len()).unwrap());
            prop_assert_eq!(read, values);
            Ok(())
        })
        .unwrap();
}

/// What a machine of the other byte order would do.
#[test]
fn bytes_of_numbers_change_their_order() {
    let layout = PlainLayout::parse("size 16 align 4; a u32@0; b u16x2@4; c u64@8").unwrap();
    let Some(Plan::Gather(moves)) = layout.plan(&layout, true) else {
        panic!("it is no copy");
    };
    let row = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];
    let expected = [4, 3, 2, 1, 6, 5, 8, 7, 16, 15, 14, 13, 12, 11, 10, 9];
    assert_eq!(gather(&row, 16, &moves), expected);
    assert_eq!(layout.plan(&layout, false), Some(Plan::Copy));
    let bytes = PlainLayout::parse("size 2 align 1; a u8x2@0").unwrap();
    assert_eq!(bytes.plan(&bytes, true), Some(Plan::Copy));
}

fn thing() -> Thing {
    Thing {
        weight: 1.5,
        slots: [1, 2, 3, 4],
        place: Vec3::new(-1.0, 0.0, 1.0),
    }
}

/// The codec that reads rows of the layout `layout` of the type that has it today.
fn reader<T: GetTypeRegistration>(layout: &str) -> Result<Arc<dyn ComponentCodec>, DecodeError> {
    reader_of::<T>(layout, &tree::<T>())
}

fn tree<T: GetTypeRegistration>() -> String {
    description_of(T::get_type_registration().type_info(), &registry::<T>())
}

/// The codec that reads rows of the layout `layout` of a type that consists of `tree`.
fn reader_of<T: GetTypeRegistration>(layout: &str, tree: &str) -> Result<Arc<dyn ComponentCodec>, DecodeError> {
    let (immutable, layout) = match layout.strip_prefix("immutable ") {
        Some(layout) => (true, layout),
        None => (false, layout),
    };
    let stored = Schema {
        immutable,
        ..schema(PATH, Encoding::Plain, 1, &format!("{layout}\n{tree}"))
    };
    CodecRegistry::default().component_reader(&stored, &registry::<T>())
}

/// The tree with the first two fields in the other order.
fn reordered<T: GetTypeRegistration>() -> String {
    let tree = tree::<T>();
    let mut lines: Vec<&str> = tree.lines().collect();
    lines.swap(1, 2);
    lines.join("\n") + "\n"
}

const SAME: &str = "size 24 align 4; weight f32@0; slots u16x4@4; place.x f32@12; place.y f32@16; place.z f32@20";
/// Declared in another order.
const REORDERED: &str = "size 24 align 4; slots u16x4@4; weight f32@0; place.x f32@12; place.y f32@16; place.z f32@20";
const OTHERS: [&str; 4] = [
    "size 24 align 4; mass f32@0; slots u16x4@4; place.x f32@12; place.y f32@16; place.z f32@20",
    "size 24 align 4; weight u32@0; slots u16x4@4; place.x f32@12; place.y f32@16; place.z f32@20",
    "size 24 align 4; weight f32@0; slots u16x2@4; more u32@8; place.x f32@12; place.y f32@16; place.z f32@20",
    "size 20 align 4; weight f32@0; slots u16x2@4; place.x f32@8; place.y f32@12; place.z f32@16",
];

#[test]
fn other_leaves_are_a_changed_schema() {
    assert!(reader::<Thing>(SAME).is_ok());
    for description in OTHERS {
        let error = reader::<Thing>(description).err().expect(description);
        let DecodeError::SchemaChanged { type_path, was, is } = error else {
            panic!("{error}");
        };
        assert_eq!(type_path, PATH);
        assert!(was.ends_with(description) && is.contains("weight f32@"), "{was} {is}");
    }
    let old = Schema {
        version: 2,
        ..schema(PATH, Encoding::Plain, 1, SAME)
    };
    let error = CodecRegistry::default()
        .component_reader(&old, &registry::<Thing>())
        .err();
    assert!(matches!(error, Some(DecodeError::NewerVersion { was: 2, is: 1, .. })));
}

/// The same numbers under the same names, in another type or in another order of declaration.
#[test]
fn other_types_inside_are_a_changed_schema() {
    let tree = tree::<Thing>();
    let meant = tree.replace("glam::Vec3", "game::Place");
    assert_ne!(meant, tree);
    for (layout, tree) in [(SAME, meant), (REORDERED, reordered::<Thing>()), (SAME, String::new())] {
        let error = reader_of::<Thing>(layout, &tree).err();
        assert!(matches!(error, Some(DecodeError::SchemaChanged { .. })), "{tree}");
        let error = reader_of::<Thing>(&format!("immutable {layout}"), &tree).err();
        assert!(matches!(error, Some(DecodeError::ImmutableChanged { .. })), "{tree}");
    }
}

#[test]
fn columns_by_field_of_a_plain_type_are_still_read() {
    let registry = registry::<Thing>();
    let (_, by_field) = codecs::<Thing>(&registry);
    let data = encode(&by_field, &registry, &[thing()]).unwrap();
    let stored = by_field.schema(&registry);
    let reader = CodecRegistry::default().component_reader(&stored, &registry).unwrap();
    let read: Vec<Thing> = spawned(decode(&*reader, &registry, &data, 1).unwrap());
    assert_eq!(read, [thing()]);
}

#[test]
fn an_immutable_type_is_refused_when_it_changed() {
    let own = registry::<finished::Thing>();
    let codec = CodecRegistry::default()
        .component(TypeId::of::<finished::Thing>(), &own)
        .unwrap();
    let is = codec.schema(&own);
    assert!(is.immutable && PlainLayout::of(&is).is_ok());
    assert!(reader::<finished::Thing>(&format!("immutable {SAME}")).is_ok());
    // The promise may be made later, and taken back: packages in the old layout stay as they are.
    assert!(reader::<finished::Thing>(SAME).is_ok());
    assert!(reader::<Thing>(&format!("immutable {SAME}")).is_ok());
    let refused = |error: Option<DecodeError>, what: &str| {
        let error = error.expect(what);
        let text = error.to_string();
        assert!(
            matches!(&error, DecodeError::ImmutableChanged { type_path, .. } if type_path == PATH),
            "{text}"
        );
        assert!(text.contains("declared immutable"), "{text}");
    };
    let tree = reordered::<finished::Thing>();
    refused(
        reader_of::<finished::Thing>(&format!("immutable {REORDERED}"), &tree).err(),
        REORDERED,
    );
    for other in OTHERS {
        refused(reader::<finished::Thing>(&format!("immutable {other}")).err(), other);
        refused(reader::<finished::Thing>(other).err(), other);
        refused(reader::<Thing>(&format!("immutable {other}")).err(), other);
    }
}

/// One that is cooked by field.
#[derive(Component, Reflect, Clone, Debug, PartialEq)]
#[reflect(Component, @Immutable)]
struct Labelled(String, bool);

#[test]
fn the_promise_is_stored_whatever_the_encoding() {
    let registry = registry::<Labelled>();
    let codecs = CodecRegistry::default();
    let codec = codecs.component(TypeId::of::<Labelled>(), &registry).unwrap();
    let is = codec.schema(&registry);
    assert_eq!(is.encoding, Encoding::Reflect as u8);
    assert!(is.immutable);
    let hash = schema(&is.type_path, Encoding::Reflect, 1, &is.description).hash;
    assert_eq!(is.hash, hash, "the promise is no part of the layout");
    let changed = Schema { hash: !hash, ..is };
    let error = codecs.component_reader(&changed, &registry).err();
    assert!(matches!(error, Some(DecodeError::ImmutableChanged { .. })));
    let info = registry.get_type_info(TypeId::of::<Labelled>()).unwrap();
    assert!(crate::codec::resource_schema(info, &registry).immutable);
}

#[test]
fn forged_columns_are_errors() {
    let registry = registry::<Thing>();
    let codecs = CodecRegistry::default();
    let codec = codecs.component(TypeId::of::<Thing>(), &registry).unwrap();
    let data = encode(&*codec, &registry, &[thing(), thing()]).unwrap();
    let swapped = shuffled(&PlainLayout::parse(SAME).unwrap(), &[4, 3, 2, 1, 0]).to_string();
    let gathering = reader::<Thing>(&swapped).unwrap();
    for codec in [&codec, &gathering] {
        assert!(decode(&**codec, &registry, &data, 2).is_ok());
        for (length, rows) in [
            (48, 1),
            (48, 3),
            (47, 2),
            (0, 1),
            (24, 0),
            (48, usize::MAX),
            (0, usize::MAX / 8),
        ] {
            let error = decode(&**codec, &registry, &data[..length], rows)
                .err()
                .expect("it is forged");
            let DecodeError::ColumnSize {
                rows: named,
                row,
                bytes,
            } = error
            else {
                panic!("{error}");
            };
            assert_eq!((named, row, bytes), (rows, 24, length));
        }
        assert!(decode(&**codec, &registry, &[], 0).unwrap().is_empty());
    }
    let error = reader::<Thing>("size 24 align 4; weight f32@0").err();
    let Some(DecodeError::Layout { type_path, error }) = error else {
        panic!("its layout has a hole");
    };
    assert_eq!((type_path.as_str(), error), (PATH, LayoutError::Hole(4)));
}

/// Any bytes at all are rows, and any description is read or refused.
#[test]
fn any_bytes_are_rows() {
    let registry = registry::<Everything>();
    let codecs = CodecRegistry::default();
    let codec = codecs.component(TypeId::of::<Everything>(), &registry).unwrap();
    let rows = vec(any::<u8>(), 3 * size_of::<Everything>());
    TestRunner::default()
        .run(&rows, |data| {
            let read: Vec<Everything> = spawned(decode(&*codec, &registry, &data, 3).unwrap());
            prop_assert_eq!(encode(&*codec, &registry, &read).unwrap(), data);
            Ok(())
        })
        .unwrap();
}

#[derive(Component, Reflect, Clone, Debug, PartialEq)]
#[component(map_entities)]
#[reflect(Component)]
struct Target {
    /// 1: `bits` is an entity.
    kind: u64,
    bits: u64,
}

impl MapEntities for Target {
    fn map_entities<M: EntityMapper>(&mut self, mapper: &mut M) {
        if self.kind == 1 {
            self.bits = mapper.get_mapped(Entity::from_bits(self.bits)).to_bits();
        }
    }
}

/// No sample of it maps anything: only the value does that is to be cooked.
#[test]
fn a_plain_component_that_maps_entities_is_not_cooked() {
    let registry = registry::<Target>();
    let (plain, by_field) = codecs::<Target>(&registry);
    let entity = Entity::from_raw_u32(7).unwrap();
    let target = |kind| Target {
        kind,
        bits: entity.to_bits(),
    };
    assert!(encode(&*plain, &registry, &[target(0)]).is_ok());
    let error = encode(&*plain, &registry, &[target(0), target(1)]).unwrap_err();
    assert!(
        matches!(&error, EncodeError::MapsEntities(path) if path.ends_with("Target")),
        "{error}"
    );
    assert!(error.to_string().contains("CookByField"), "{error}");
    // The mend: by hand, or by the attribute, whose types are not plain.
    let rows: EntityRows = [(entity, 3)].into_iter().collect();
    let mut data = Vec::new();
    by_field
        .encode(&[&target(1)], &mut EncodeContext::new(&registry, &rows), &mut data)
        .unwrap();
    let entities: Vec<Entity> = (100..104).filter_map(Entity::from_raw_u32).collect();
    let context = DecodeContext {
        registry: &registry,
        entities: &entities,
        handles: &[],
        mesh_attributes: &[],
        object: None,
    };
    let read: Vec<Target> = spawned(by_field.decode(&data, 1, &context).unwrap());
    assert_eq!(read[0].bits, entities[3].to_bits());
    let mut codecs = CodecRegistry::default();
    codecs.add_component(by_field);
    let codec = codecs.component(TypeId::of::<Target>(), &registry).unwrap();
    assert_eq!(codec.schema(&registry).encoding, Encoding::Reflect as u8);
}

/// A value of another type is refused.
#[test]
fn a_codec_writes_its_own_type_only() {
    let registry = registry::<Thing>();
    let codec = CodecRegistry::default()
        .component(TypeId::of::<Thing>(), &registry)
        .unwrap();
    let error = encode(&*codec, &registry, &[7_u32]).unwrap_err();
    assert!(error.to_string().contains(PATH), "{error}");
}
