//! Rows that are read into clones equal what Bevy's own deserialiser makes of the same bytes.

use bevy_app::{App, TaskPoolPlugin};
use bevy_asset::{Asset, AssetApp, Assets, Handle};
use bevy_ecs::entity::Entity;
use bevy_math::{Quat, Vec3, Vec3A};
use bevy_platform::collections::{HashMap, HashSet};
use bevy_reflect::{TypePath, std_traits::ReflectDefault};

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

/// Values, the bytes of each, and what is needed to read them.
struct Bed {
    registry: TypeRegistry,
    values: Vec<Everything>,
    bytes: Vec<Vec<u8>>,
    handles: Vec<Option<UntypedHandle>>,
}

fn bed(count: usize) -> Bed {
    let mut app = App::new();
    app.add_plugins((TaskPoolPlugin::default(), bevy_asset::AssetPlugin::default()))
        .init_asset::<Sound>();
    let mut assets = app.world_mut().resource_mut::<Assets<Sound>>();
    let sounds: Vec<_> = (0..3).map(|_| assets.add(Sound)).collect();
    let mut registry = TypeRegistry::default();
    registry.register::<Everything>();
    registry.register::<Handle<Sound>>();
    registry.register_type_data::<Handle<Sound>, ReflectHandle>();
    let mut dice = Dice(7);
    let values: Vec<_> = (0..count).map(|_| dice.everything(&sounds)).collect();
    let rows = EntityRows::default();
    let mut context = EncodeContext::new(&registry, &rows);
    let bytes = values
        .iter()
        .map(|value| {
            let mut out = Vec::new();
            encode_reflected(value, &mut context, &mut out).expect("it can be written");
            out
        })
        .collect();
    let handles = context.into_references().into_iter().map(Some).collect();
    Bed {
        registry,
        values,
        bytes,
        handles,
    }
}

impl Bed {
    fn context(&self) -> DecodeContext<'_> {
        DecodeContext {
            registry: &self.registry,
            entities: &[],
            handles: &self.handles,
            mesh_attributes: &[],
        }
    }

    fn registration(&self) -> &TypeRegistration {
        self.registry.get(TypeId::of::<Everything>()).expect("it is registered")
    }
}

fn everything(value: &dyn Reflect) -> &Everything {
    value.as_any().downcast_ref().expect("the type that was asked for")
}

#[test]
fn rows_equal_what_was_written() {
    let bed = bed(300);
    let context = bed.context();
    let data = bed.bytes.concat();
    let mut rest = data.as_slice();
    let mut decoder = RowDecoder::new(bed.registration(), &context);
    for value in &bed.values {
        let read = decoder.next(&mut rest).expect("it can be read");
        assert_eq!(everything(&*read), value);
    }
    assert!(rest.is_empty());
}

/// Damaged bytes: both ways refuse them, or both make the same of them.
#[test]
fn damaged_rows_are_read_as_bevy_reads_them() {
    let bed = bed(24);
    let context = bed.context();
    let mut decoder = RowDecoder::new(bed.registration(), &context);
    let mut dice = Dice(11);
    let (mut refused, mut read) = (0, 0);
    for round in 0..6000 {
        let mut data = bed.bytes[round % bed.bytes.len()].clone();
        match dice.roll(3) {
            0 => data.truncate(dice.roll(data.len() as u64) as usize),
            1 => {
                let at = dice.roll(data.len() as u64) as usize;
                data[at] ^= 1 << dice.roll(8);
            }
            _ => {
                let at = dice.roll(data.len() as u64) as usize;
                data[at] = dice.roll(256) as u8;
            }
        }
        let mut rest = data.as_slice();
        let ours = decoder.next(&mut rest);
        match (decode_reflected(bed.registration(), &data, &context), ours) {
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
            (theirs, ours) => panic!(
                "round {round}: Bevy's {:?}, ours {:?}",
                theirs.map(|_| ()),
                ours.map(|_| ())
            ),
        }
    }
    assert!(refused > 1000 && read > 1000, "{refused} refused, {read} read");
}
