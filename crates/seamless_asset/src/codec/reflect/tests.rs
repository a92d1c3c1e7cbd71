//! Rows that are read over earlier ones equal what Bevy's own deserialiser makes of the same bytes.

use bevy_app::{App, TaskPoolPlugin};
use bevy_asset::{Asset, AssetApp, Assets, Handle};
use bevy_ecs::entity::Entity;
use bevy_math::{Quat, Vec3, Vec3A};
use bevy_platform::collections::{HashMap, HashSet};
use bevy_reflect::{FromReflect, GetTypeRegistration, TypePath, std_traits::ReflectDefault};

use super::*;
use crate::codec::EntityRows;

#[derive(Asset, TypePath, Default)]
struct Sound;

#[derive(Reflect, Clone, Debug, PartialEq, Default)]
struct Everything {
    plain: (u8, i64, f32, bool, char, u128),
    name: String,
    place: Vec3,
    wide: Vec3A,
    turn: Quat,
    friend: Option<Entity>,
    state: State,
    numbers: Vec<u32>,
    states: Vec<State>,
    inner: Vec<Inner>,
    pair: [Inner; 2],
    table: HashMap<String, u32>,
    set: HashSet<u32>,
    nothing: Nothing,
    nothings: Vec<Nothing>,
    tree: Tree,
    skipping: Vec<Skipping>,
    sound: Handle<Sound>,
    sounds: Vec<Option<Handle<Sound>>>,
}

#[derive(Reflect, Clone, Debug, PartialEq, Default)]
enum State {
    #[default]
    Idle,
    Goes(Vec3, f32),
    Says {
        what: String,
        how: Option<Inner>,
    },
    One(Inner),
}

#[derive(Reflect, Clone, Debug, PartialEq, Default)]
struct Inner(i32, String);

#[derive(Reflect, Clone, Debug, PartialEq, Default)]
struct Nothing;

#[derive(Reflect, Clone, Debug, PartialEq, Default)]
struct Tree {
    leaves: u16,
    branches: Vec<Tree>,
}

#[derive(Reflect, Clone, Debug, PartialEq, Default)]
#[reflect(Default)]
struct Skipping {
    before: u16,
    #[reflect(skip_serializing)]
    skipped: u32,
    after: String,
}

/// A small generator: the same values in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn text(&mut self) -> String {
        "a longer line of text".chars().take(self.roll(20) as usize).collect()
    }

    fn many<T>(&mut self, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.roll(4)).map(|_| make(self)).collect()
    }

    fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        (self.roll(2) == 0).then(|| make(self))
    }

    fn inner(&mut self) -> Inner {
        Inner(self.roll(1000) as i32 - 500, self.text())
    }

    fn place(&mut self) -> Vec3 {
        Vec3::new(self.roll(100) as f32, -0.5, self.roll(7) as f32)
    }

    fn state(&mut self) -> State {
        match self.roll(4) {
            0 => State::Idle,
            1 => State::Goes(self.place(), self.roll(9) as f32),
            2 => State::Says {
                what: self.text(),
                how: self.maybe(Self::inner),
            },
            _ => State::One(self.inner()),
        }
    }

    fn tree(&mut self, depth: u32) -> Tree {
        Tree {
            leaves: self.roll(900) as u16,
            branches: if depth == 0 {
                Vec::new()
            } else {
                self.many(|dice| dice.tree(depth - 1))
            },
        }
    }

    fn skipping(&mut self) -> Skipping {
        Skipping {
            before: self.roll(9) as u16,
            skipped: 0,
            after: self.text(),
        }
    }

    fn everything(&mut self, sounds: &[Handle<Sound>]) -> Everything {
        let sound = |dice: &mut Self| sounds[dice.roll(sounds.len() as u64) as usize].clone();
        Everything {
            plain: (
                self.roll(256) as u8,
                -3,
                self.roll(5) as f32,
                self.roll(2) == 0,
                'ß',
                u128::from(self.roll(99)),
            ),
            name: self.text(),
            place: self.place(),
            wide: self.place().into(),
            turn: Quat::from_rotation_x(self.roll(6) as f32),
            friend: self.maybe(|dice| Entity::from_raw_u32(dice.roll(50) as u32).expect("a small index")),
            state: self.state(),
            numbers: self.many(|dice| dice.roll(70_000) as u32),
            states: self.many(Self::state),
            inner: self.many(Self::inner),
            pair: [self.inner(), self.inner()],
            table: self
                .many(|dice| (dice.text(), dice.roll(9) as u32))
                .into_iter()
                .collect(),
            set: self.many(|dice| dice.roll(9) as u32).into_iter().collect(),
            nothing: Nothing,
            nothings: self.many(|_| Nothing),
            tree: self.tree(3),
            skipping: self.many(Self::skipping),
            sound: sound(self),
            sounds: self.many(|dice| dice.maybe(sound)),
        }
    }
}

/// What is needed to write and read values.
struct Bed {
    registry: TypeRegistry,
    handles: Vec<Option<UntypedHandle>>,
}

impl Bed {
    fn new<T: GetTypeRegistration>() -> Self {
        let mut registry = TypeRegistry::default();
        registry.register::<T>();
        registry.register::<Handle<Sound>>();
        registry.register_type_data::<Handle<Sound>, ReflectHandle>();
        Self {
            registry,
            handles: Vec::new(),
        }
    }

    /// The bytes of each value.
    fn write<T: Reflect>(&mut self, values: &[T]) -> Vec<Vec<u8>> {
        let rows = EntityRows::default();
        let mut context = EncodeContext::new(&self.registry, &rows);
        let bytes = values
            .iter()
            .map(|value| {
                let mut out = Vec::new();
                encode_reflected(value, &mut context, &mut out).expect("it can be written");
                out
            })
            .collect();
        self.handles = context.into_references().into_iter().map(Some).collect();
        bytes
    }

    fn context(&self) -> DecodeContext<'_> {
        DecodeContext {
            registry: &self.registry,
            entities: &[],
            handles: &self.handles,
            mesh_attributes: &[],
            object: None,
        }
    }

    fn registration<T: 'static>(&self) -> &TypeRegistration {
        self.registry.get(TypeId::of::<T>()).expect("it is registered")
    }

    /// Reads as many values as there are, and says whether that took Bevy's way.
    fn read<T: Reflect>(&self, data: &[u8]) -> Result<(Vec<T>, bool), DecodeError> {
        let context = self.context();
        let mut decoder = RowDecoder::new(self.registration::<T>(), &context);
        let (mut rest, mut values) = (data, Vec::new());
        while !rest.is_empty() {
            let value = decoder.next(&mut rest)?;
            values.push(*value.into_any().downcast::<T>().expect("the type that was asked for"));
        }
        Ok((values, decoder.is_strange))
    }
}

fn everythings(count: usize) -> (Bed, Vec<Everything>, Vec<Vec<u8>>) {
    let mut app = App::new();
    app.add_plugins((TaskPoolPlugin::default(), bevy_asset::AssetPlugin::default()))
        .init_asset::<Sound>();
    let mut assets = app.world_mut().resource_mut::<Assets<Sound>>();
    let sounds: Vec<_> = (0..3).map(|_| assets.add(Sound)).collect();
    let mut dice = Dice(7);
    let values: Vec<_> = (0..count).map(|_| dice.everything(&sounds)).collect();
    let mut bed = Bed::new::<Everything>();
    let bytes = bed.write(&values);
    (bed, values, bytes)
}

fn everything(value: &dyn Reflect) -> &Everything {
    value.as_any().downcast_ref().expect("the type that was asked for")
}

#[test]
fn rows_equal_what_was_written() {
    let (bed, values, bytes) = everythings(300);
    let shape = shape::Shape::of(bed.registration::<Everything>(), &bed.registry);
    let whole = shape
        .nodes
        .iter()
        .filter(|node| matches!(node.kind, shape::Kind::Whole));
    let whole: Vec<_> = whole
        .map(|node| node.registration.type_info().type_path_table().short_path())
        .collect();
    assert_eq!(
        whole,
        [
            "HashMap<String, u32, FixedHasher>",
            "HashSet<u32, FixedHasher>",
            "Skipping"
        ]
    );
    let (read, is_strange) = bed.read::<Everything>(&bytes.concat()).expect("it can be read");
    assert!(!is_strange);
    assert_eq!(read, values);
}

/// Damaged bytes: both ways refuse them, or both make the same of them.
#[test]
fn damaged_rows_are_read_as_bevy_reads_them() {
    let (bed, _, bytes) = everythings(24);
    let context = bed.context();
    let registration = bed.registration::<Everything>();
    let mut decoder = RowDecoder::new(registration, &context);
    let mut dice = Dice(11);
    let (mut refused, mut read) = (0, 0);
    for round in 0..6000 {
        let mut data = bytes[round % bytes.len()].clone();
        let at = dice.roll(data.len() as u64) as usize;
        match dice.roll(3) {
            0 => data.truncate(at),
            1 => data[at] ^= 1 << dice.roll(8),
            _ => data[at] = dice.roll(256) as u8,
        }
        let mut rest = data.as_slice();
        let ours = decoder.next(&mut rest);
        match (decode_reflected(registration, &data, &context), ours) {
            (Ok((theirs, left)), Ok(ours)) => {
                // Not by `==`: damage can make a NaN.
                assert_eq!(
                    format!("{:?}", everything(&*ours)),
                    format!("{:?}", everything(&*theirs))
                );
                assert_eq!(rest, left);
                read += 1;
            }
            (Err(_), Err(_)) => refused += 1,
            (theirs, ours) => panic!("round {round}: {:?}, ours {:?}", theirs.map(|_| ()), ours.map(|_| ())),
        }
    }
    assert!(!decoder.is_strange, "some bytes could be read Bevy's way only");
    assert!(refused > 1000 && read > 1000, "{refused} refused, {read} read");
}

#[derive(Reflect, Clone, Debug, PartialEq)]
#[reflect(from_reflect = false, FromReflect, Clone)]
struct Percent {
    value: u32,
    #[reflect(ignore)]
    own: std::sync::Arc<()>,
}

impl FromReflect for Percent {
    fn from_reflect(value: &dyn PartialReflect) -> Option<Self> {
        let value = value.reflect_ref().as_struct().ok()?.field("value")?;
        Some(Self {
            value: u32::from_reflect(value)?.min(100),
            own: std::sync::Arc::default(),
        })
    }
}

/// What a type's `FromReflect` checks and fills in, it does for every row.
#[test]
fn every_row_is_made_by_its_type() {
    let own = std::sync::Arc::default();
    let values = [7, 700, 70].map(|value| Percent {
        value,
        own: std::sync::Arc::clone(&own),
    });
    let mut bed = Bed::new::<Percent>();
    let bytes = bed.write(&values).concat();
    let (read, is_strange) = bed.read::<Percent>(&bytes).expect("it can be read");
    assert!(!is_strange);
    assert_eq!(
        read.iter().map(|percent| percent.value).collect::<Vec<_>>(),
        [7, 100, 70]
    );
    for percent in &read {
        assert_eq!(std::sync::Arc::strong_count(&percent.own), 1, "rows share a field");
    }
}

#[derive(Reflect, Clone, Debug, PartialEq, Default)]
struct Text(String, Vec<u32>);

#[test]
fn a_large_row_does_not_swell_the_others() {
    let large = Text("x".repeat(1 << 20), vec![1; 1 << 18]);
    let values = [large, Text::default(), Text("y".into(), vec![2])];
    let mut bed = Bed::new::<Text>();
    let bytes = bed.write(&values).concat();
    let (read, is_strange) = bed.read::<Text>(&bytes).expect("it can be read");
    assert!(!is_strange);
    assert_eq!(read, values);
    for text in &read[1..] {
        assert!(text.0.capacity() < 64 && text.1.capacity() < 64);
    }
}

#[test]
fn a_value_nested_too_deep_is_refused() {
    let tree = |depth| {
        (0..depth).fold(Tree::default(), |tree, _| Tree {
            leaves: 1,
            branches: vec![tree],
        })
    };
    let mut bed = Bed::new::<Tree>();
    // A tree, its list of branches, and a number in the last one.
    let fits = bed.write(&[tree(63)]).concat();
    let (read, is_strange) = bed.read::<Tree>(&fits.repeat(3)).expect("it can be read");
    assert_eq!((read.len(), is_strange), (3, false));
    // Whatever came before. By hand: it cannot be written.
    let too_deep = [[1, 1].repeat(64), vec![0, 0]].concat();
    let far_too_deep = [1, 1].repeat(100_000);
    for data in [too_deep.clone(), far_too_deep, [fits, too_deep].concat()] {
        let error = bed.read::<Tree>(&data).expect_err("it is too deep").to_string();
        assert!(error.contains("nested too deep"), "{error}");
    }
    let rows = EntityRows::default();
    let mut context = EncodeContext::new(&bed.registry, &rows);
    let error = encode_reflected(&tree(64), &mut context, &mut Vec::new()).expect_err("it is too deep");
    assert!(error.to_string().contains("nested too deep"), "{error}");
}

mod before {
    use super::*;

    #[derive(Reflect)]
    #[type_path = "game"]
    pub struct Coin {
        pub value: u8,
    }
}

mod after {
    use super::*;

    #[derive(Reflect)]
    #[type_path = "game"]
    pub struct Coin {
        pub value: u16,
    }
}

/// A type that changed is another one wherever it is hidden.
#[test]
fn a_description_tells_of_changes_in_every_part() {
    fn describe<T: GetTypeRegistration + bevy_reflect::Typed>() -> String {
        let mut registry = TypeRegistry::default();
        registry.register::<T>();
        description_of(T::type_info(), &registry)
    }
    macro_rules! differ {
        ($($wrap:ty | $other:ty),*) => { $(assert_ne!(describe::<$wrap>(), describe::<$other>());)* };
    }
    use {after::Coin as New, before::Coin as Old};
    assert_eq!(Old::type_path(), New::type_path());
    differ!(
        Old | New,
        Vec<Old> | Vec<New>,
        [Old; 2] | [New; 2],
        (u8, Old) | (u8, New),
        Option<Vec<Old>> | Option<Vec<New>>,
        HashMap<u8, Old> | HashMap<u8, New>
    );
    assert!(describe::<Vec<Old>>().contains(".value u8"));
    assert!(
        describe::<Tree>().contains(".leaves u16"),
        "a type that contains itself has an end"
    );
}

/// A map of the standard library has an order of its own each time; neither the bytes nor the references may.
#[test]
fn maps_are_written_in_the_order_of_their_keys() {
    #[derive(Reflect, Clone, Default)]
    struct Playlist {
        songs: std::collections::HashMap<String, Handle<Sound>>,
        tags: std::collections::HashSet<(u8, String)>,
        deep: std::collections::HashMap<(u8, u8), std::collections::HashMap<u8, u8>>,
    }
    let mut registry = TypeRegistry::default();
    registry.register::<Playlist>();
    registry.register::<Handle<Sound>>();
    registry.register_type_data::<Handle<Sound>, ReflectHandle>();
    let mut assets = Assets::<Sound>::default();
    let songs: Vec<(String, Handle<Sound>)> = (0..20).map(|at| (format!("song {at}"), assets.add(Sound))).collect();
    let rows = EntityRows::default();
    let write = || {
        let playlist = Playlist {
            songs: songs.iter().cloned().collect(),
            tags: (0..20).map(|at| (at, at.to_string())).collect(),
            deep: (0..20)
                .map(|at| ((at, 9), (0..20).map(|inner| (inner, at)).collect()))
                .collect(),
        };
        let mut context = EncodeContext::new(&registry, &rows);
        let mut data = Vec::new();
        encode_reflected(&playlist, &mut context, &mut data).unwrap();
        let references = context.into_references();
        (data, references.iter().map(UntypedHandle::id).collect::<Vec<_>>())
    };
    let (data, references) = write();
    assert_eq!(references.len(), 20);
    for _ in 0..5 {
        assert_eq!(write(), (data.clone(), references.clone()));
    }
}
