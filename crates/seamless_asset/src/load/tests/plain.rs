//! Levels with plain columns, from the file to the world.

use bevy_ecs::component::Component;
use bevy_math::{Mat4, Vec4};
use bevy_reflect::{GetTypeRegistration, TypePath};
use seamless_package::Schema;

use super::*;
use crate::codec::{ComponentCodec, CookByField, Immutable, PlainLayout, ReflectCodec};

/// Read by one copy.
#[derive(Component, Reflect, Clone, Debug, PartialEq)]
#[reflect(Component)]
struct Fast {
    id: u128,
    speed: f64,
    frame: [Mat4; 2],
    slots: [u16; 4],
}

/// The same numbers, read field by field.
#[derive(Component, Reflect, Clone, Debug, PartialEq)]
#[reflect(Component, @CookByField)]
struct Slow {
    id: u128,
    speed: f64,
    frame: [Mat4; 2],
    slots: [u16; 4],
}

/// Finished, for good.
#[derive(Component, Reflect, Clone, Debug, PartialEq)]
#[reflect(Component, @Immutable)]
struct Tint(f32, f32);

fn numbers(row: u32) -> (u128, f64, [Mat4; 2], [u16; 4]) {
    let column = |index: u32| Vec4::splat((row * 8 + index) as f32 / 3.0);
    let frame = [0, 4].map(|from| Mat4::from_cols(column(from), column(from + 1), column(from + 2), column(from + 3)));
    (
        u128::from(row) << 90,
        f64::from(row) / 3.0,
        frame,
        [1, 2, 3, row as u16],
    )
}

fn fast(row: u32) -> Fast {
    let (id, speed, frame, slots) = numbers(row);
    Fast {
        id,
        speed,
        frame,
        slots,
    }
}

fn slow(row: u32) -> Slow {
    let (id, speed, frame, slots) = numbers(row);
    Slow {
        id,
        speed,
        frame,
        slots,
    }
}

fn plain_app(dir: &Dir) -> App {
    let mut app = app(dir);
    app.register_type::<Fast>()
        .register_type::<Slow>()
        .register_type::<Tint>();
    app
}

/// A column as a codec writes it: its schema and its data.
fn column<C: Component + Reflect>(app: &App, count: u32, make: fn(u32) -> C) -> (Schema, Vec<u8>) {
    let registry = app.world().resource::<AppTypeRegistry>().read();
    let codec = app.world().resource::<Codecs>().read();
    let codec = codec.component(core::any::TypeId::of::<C>(), &registry).unwrap();
    let values: Vec<C> = (0..count).map(make).collect();
    let values: Vec<&dyn Reflect> = values.iter().map(|value| value as &dyn Reflect).collect();
    let rows = EntityRows::default();
    let mut data = Vec::new();
    codec
        .encode(&values, &mut EncodeContext::new(&registry, &rows), &mut data)
        .unwrap();
    (codec.schema(&registry), data)
}

/// A level of `count` entities with these columns.
fn level(name: &str, count: u32, columns: &[(Schema, Vec<u8>)]) -> Vec<u8> {
    let mut writer = old_package(name);
    let columns: Vec<_> = columns
        .iter()
        .map(|(schema, data)| (writer.class(schema).unwrap().index() as u32, Role::ALL, data.as_slice()))
        .collect();
    let ids = (0..count).map(|row| ObjectId::new(name, &row.to_string())).collect();
    let mut level = LevelBuilder::new(ids, (0..count).collect());
    level.group(count, columns.into_iter());
    level.export(&mut writer, vec![], Codec::None).unwrap();
    writer.finish().unwrap()
}

fn is_live(app: &mut App, package: &str) {
    let id = load(app, package, &[]);
    run_until(app, |world| state(world, id) == Some(LoadState::Live));
}

/// The memory of another compiler: what it wrote is gathered.
fn relaid((mut schema, data): (Schema, Vec<u8>)) -> (Schema, Vec<u8>) {
    let own = PlainLayout::of(&schema).unwrap();
    let mut leaves = own.leaves().to_vec();
    let mut offset = own.size();
    for leaf in &mut leaves {
        offset -= leaf.size();
        leaf.offset = offset;
    }
    let mut out = vec![0; data.len()];
    for (from, to) in data.chunks_exact(own.size()).zip(out.chunks_exact_mut(own.size())) {
        for (old, new) in own.leaves().iter().zip(&leaves) {
            to[new.offset..new.offset + new.size()].copy_from_slice(&from[old.offset..old.offset + old.size()]);
        }
    }
    let layout = PlainLayout::new(own.size(), own.align(), leaves).unwrap();
    let (_, tree) = schema.description.split_once('\n').unwrap();
    let description = format!("{layout}\n{tree}");
    schema = crate::codec::schema(&schema.type_path, Encoding::Plain, 1, &description);
    (schema, out)
}

#[test]
fn plain_columns_load_as_those_by_field() {
    for (other_compiler, is_announced) in [(false, false), (false, true), (true, false), (true, true)] {
        let dir = Dir::default();
        let mut app = plain_app(&dir);
        if is_announced {
            app.add_spawn_row::<(Fast, Slow, ChildOf)>();
        }
        let mut plain = column(&app, 100, fast);
        assert_eq!(plain.0.encoding, Encoding::Plain as u8);
        if other_compiler {
            plain = relaid(plain);
        }
        let by_field = column(&app, 100, slow);
        assert_eq!(by_field.0.encoding, Encoding::Reflect as u8);
        put(&dir, "a.pkg", level("a.pkg", 100, &[plain, by_field]));
        is_live(&mut app, "a.pkg");
        let world = app.world_mut();
        let mut found: Vec<_> = world.query::<(&Fast, &Slow)>().iter(world).collect();
        found.sort_by_key(|(fast, _)| fast.id);
        assert_eq!(found.len(), 100);
        for (row, (is_fast, is_slow)) in found.into_iter().enumerate() {
            assert_eq!((is_fast, is_slow), (&fast(row as u32), &slow(row as u32)));
            assert_eq!(core::ptr::from_ref(is_fast).addr() % align_of::<Fast>(), 0);
        }
    }
}

/// The error of a level with this column.
fn refused(app: &mut App, dir: &Dir, count: u32, column: (Schema, Vec<u8>)) -> DecodeError {
    put(dir, "bad.pkg", level("bad.pkg", count, &[column]));
    let id = load(app, "bad.pkg", &[]);
    run_until(app, |world| state(world, id) == Some(LoadState::Failed));
    let error = error_of(app, id);
    app.world_mut().resource_mut::<Streamer>().unload(id);
    run_until(app, |world| state(world, id).is_none());
    match error {
        LoadErrorKind::Decode(error) => error,
        other => panic!("{other}"),
    }
}

/// The schema with another description, and with a hash that fits.
fn described(stored: &Schema, description: &str) -> Schema {
    schema(&stored.type_path, Encoding::Plain, 1, description)
}

/// Another layout: refused at once, or because it does not become a value of today.
fn is_refused_for_its_layout(error: &DecodeError) -> bool {
    #[cfg(feature = "migrations")]
    return matches!(error, DecodeError::Migrate(_));
    #[cfg(not(feature = "migrations"))]
    return matches!(error, DecodeError::SchemaChanged { .. });
}

#[test]
fn what_is_wrong_with_a_plain_column_is_told() {
    let dir = Dir::default();
    let mut app = plain_app(&dir);
    let spawned = app.world().entities().count_spawned();
    let (stored, data) = column(&app, 4, fast);
    let layout = stored.description.clone();
    let error = refused(&mut app, &dir, 5, (stored.clone(), data.clone()));
    assert!(matches!(error, DecodeError::ColumnSize { rows: 5, .. }), "{error}");
    let renamed = described(&stored, &layout.replace("speed", "haste"));
    let error = refused(&mut app, &dir, 4, (renamed, data.clone()));
    assert!(is_refused_for_its_layout(&error), "{error}");
    let forged = described(&stored, "size 65536 align 16; id u8x99999999999@0");
    let error = refused(&mut app, &dir, 4, (forged, data.clone()));
    assert!(matches!(error, DecodeError::Layout { .. }), "{error}");
    // One that cannot be plain here.
    let text = Schema {
        type_path: Likes::type_path().to_owned(),
        ..stored.clone()
    };
    let error = refused(&mut app, &dir, 4, (text, data.clone()));
    assert!(is_refused_for_its_layout(&error), "{error}");
    let opted_out = Schema {
        type_path: Slow::type_path().to_owned(),
        ..stored
    };
    let error = refused(&mut app, &dir, 4, (opted_out, data));
    assert!(is_refused_for_its_layout(&error), "{error}");
    assert_eq!(app.world().entities().count_spawned(), spawned);
}

#[test]
fn an_immutable_type_that_changed_fails_its_level() {
    let dir = Dir::default();
    let mut app = plain_app(&dir);
    let (stored, data) = column(&app, 4, |row| Tint(row as f32, 0.5));
    put(&dir, "a.pkg", level("a.pkg", 4, &[(stored.clone(), data.clone())]));
    is_live(&mut app, "a.pkg");
    let renamed = Schema {
        description: stored.description.replace("; 1 f32", "; gray f32"),
        ..stored.clone()
    };
    let error = refused(&mut app, &dir, 4, (renamed, data));
    let text = error.to_string();
    assert!(
        matches!(&error, DecodeError::ImmutableChanged { type_path, .. } if *type_path == stored.type_path),
        "{text}"
    );
    assert!(
        text.contains(Tint::type_path()) && text.contains("declared immutable"),
        "{text}"
    );
}

/// What a game does for a type of somebody else's.
#[test]
fn a_codec_by_field_takes_the_place_of_the_plain_one() {
    let dir = Dir::default();
    let mut app = plain_app(&dir);
    let codec = ReflectCodec::by_field(&Fast::get_type_registration(), Role::ALL).unwrap();
    assert_eq!(codec.type_path(), Fast::type_path());
    app.add_component_codec(codec);
    let by_field = column(&app, 3, fast);
    assert_eq!(by_field.0.encoding, Encoding::Reflect as u8);
    put(&dir, "a.pkg", level("a.pkg", 3, &[by_field]));
    is_live(&mut app, "a.pkg");
    let world = app.world_mut();
    let mut found: Vec<Fast> = world.query::<&Fast>().iter(world).cloned().collect();
    found.sort_by_key(|fast| fast.id);
    assert_eq!(found, [fast(0), fast(1), fast(2)]);
}
