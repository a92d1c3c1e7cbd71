//! Who fights: units with a class, a team and a zone, which come back after they have fallen.

use bevy::prelude::*;
use bevy_seamless::{
    asset::{SoftHandle, SoftObjects, Streamable},
    cue::{Abilities, AbilitySet, AttributeDef, Attributes, CueContext, Cues, Effect, SetGrants},
};

use super::{
    ArenaOptions,
    content::{
        classes::CLASSES,
        zones::{HALF, ZONES},
    },
    names::Tags,
    tour::place_of,
};
use crate::generate::noise::{Rng, mix};

/// Ticks until a unit that has fallen is back.
const AWAY: u64 = 120;

/// A unit, by its place in the [`Roster`].
#[derive(Component, Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit(pub usize);

/// A unit that has not asked for its abilities yet.
#[derive(Component)]
pub(super) struct Unequipped;

/// What stays of a unit when it falls.
#[derive(Debug, Clone)]
pub struct Slot {
    /// Its class.
    pub class: usize,
    /// 0 or 1.
    pub team: usize,
    /// Where it fights.
    pub zone: usize,
    /// Where it begins.
    pub home: Vec3,
    /// The unit, unless it has fallen.
    pub entity: Option<Entity>,
    /// When it comes back.
    pub back_at: u64,
    /// Whom it fights.
    pub target: Option<usize>,
    /// How often it has fallen.
    pub falls: u32,
}

/// All units, by number: whatever order entities have, the fight is the same.
#[derive(Resource, Debug)]
pub struct Roster {
    /// The units.
    pub slots: Vec<Slot>,
    /// The classes that fight.
    pub classes: Vec<usize>,
    /// The zones that are fought in, in the order of the player's tour.
    pub zones: Vec<usize>,
    /// Ticks of the battle so far.
    pub tick: u64,
    pub(super) rng: Rng,
}

impl Roster {
    pub(super) fn new(options: &ArenaOptions) -> Self {
        let mut rng = Rng::new(options.seed, 41);
        let classes = some_of(CLASSES.len(), options.classes, &mut rng);
        let mut zones = some_of(ZONES.len(), options.zones, &mut rng);
        // The player walks one way.
        zones.sort_unstable();
        let slots = (0..options.units).map(|number| {
            let zone = zones[number % zones.len()];
            let team = number / zones.len() % 2;
            let side = if team == 0 { -1.0 } else { 1.0 };
            let home = Vec3::new(side * rng.range(6.0, HALF), 0.0, rng.range(-HALF, HALF));
            Slot {
                class: classes[rng.below(classes.len())],
                team,
                zone,
                home: place_of(zone) + home,
                entity: None,
                back_at: 0,
                target: None,
                falls: 0,
            }
        });
        let slots = slots.collect();
        Self {
            slots,
            classes,
            zones,
            tick: 0,
            rng,
        }
    }

    /// A unit has fallen.
    pub(super) fn fall(&mut self, number: usize) {
        let back_at = self.tick + AWAY;
        if let Some(slot) = self.slots.get_mut(number) {
            (slot.entity, slot.back_at, slot.target) = (None, back_at, None);
            slot.falls += 1;
        }
    }
}

/// So many of `0..all`, at least one.
fn some_of(all: usize, count: usize, rng: &mut Rng) -> Vec<usize> {
    let mut left: Vec<usize> = (0..all).collect();
    let count = count.clamp(1, all);
    (0..count).map(|_| left.swap_remove(rng.below(left.len()))).collect()
}

/// How units look: one mesh, a material for each class and team.
#[derive(Resource)]
pub(super) struct Looks {
    body: Handle<Mesh>,
    of: Vec<[Handle<StandardMaterial>; 2]>,
}

pub(super) fn make_looks(
    mut commands: Commands,
    mut meshes: ResMut<Assets<Mesh>>,
    mut materials: ResMut<Assets<StandardMaterial>>,
) {
    let body = meshes.add(Capsule3d::new(0.35, 0.9).mesh().longitudes(8).latitudes(4));
    let mut look = |class: [f32; 3], team: [f32; 3]| {
        let [r, g, b] = [0, 1, 2].map(|part: usize| class[part] * 0.6 + team[part] * 0.4);
        materials.add(StandardMaterial {
            base_color: Color::linear_rgb(r, g, b),
            perceptual_roughness: 0.8,
            ..default()
        })
    };
    let of = CLASSES
        .iter()
        .map(|class| [[1.0, 0.1, 0.1], [0.1, 0.2, 1.0]].map(|team| look(class.color, team)));
    let of = of.collect();
    commands.insert_resource(Looks { body, of });
}

/// What came of the battle: the same deeds give the same number.
#[derive(Resource, Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Digest(pub u64);

/// Sums the battle up, before all units go.
pub(super) fn sum_up(
    roster: Res<Roster>,
    units: Query<(&Transform, &Attributes)>,
    tags: Res<Tags>,
    mut commands: Commands,
) {
    let mut sum = roster.tick;
    let mut add = |value: u32| sum = mix(sum ^ u64::from(value).wrapping_add(1));
    for slot in &roster.slots {
        add(slot.falls);
        let Some((body, attributes)) = slot.entity.and_then(|entity| units.get(entity).ok()) else {
            continue;
        };
        body.translation
            .to_array()
            .into_iter()
            .for_each(|part| add(part.to_bits()));
        add(attributes.current(tags.health).unwrap_or_default().to_bits());
    }
    commands.insert_resource(Digest(sum));
}

/// What units' code refers to softly, and what it has asked for.
#[derive(Resource)]
pub(super) struct Barracks {
    sets: Vec<SoftHandle<AbilitySet>>,
    pub hazards: Vec<SoftHandle<Effect>>,
    /// Keeps alive what was asked for in this battle.
    pub asked: Vec<Streamable>,
}

impl Barracks {
    pub fn new() -> Self {
        Self {
            sets: CLASSES.iter().map(|class| class.abilities().into()).collect(),
            hazards: ZONES.iter().map(|zone| zone.hazard().into()).collect(),
            asked: Vec::new(),
        }
    }
}

/// The battle begins: all units come.
pub(super) fn muster(mut roster: ResMut<Roster>, tags: Res<Tags>, looks: Res<Looks>, mut commands: Commands) {
    roster.tick = 0;
    for (number, slot) in roster.slots.iter_mut().enumerate() {
        slot.entity = Some(enter(number, slot, &tags, &looks, &mut commands));
    }
}

/// The battle is over: all units go.
pub(super) fn dismiss(
    mut roster: ResMut<Roster>,
    mut barracks: ResMut<Barracks>,
    units: Query<Entity, With<Unit>>,
    mut commands: Commands,
) {
    units.iter().for_each(|unit| commands.entity(unit).despawn());
    roster.slots.iter_mut().for_each(|slot| slot.entity = None);
    barracks.asked.clear();
    commands.run_system_cached(super::tour::hush);
}

/// Units that have fallen come back.
pub(super) fn come_back(
    mut roster: ResMut<Roster>,
    tags: Res<Tags>,
    looks: Res<Looks>,
    // Units are there before their cues.
    mut commands: Commands,
    mut cues: Cues,
) {
    let tick = roster.tick;
    for (number, slot) in roster.slots.iter_mut().enumerate() {
        if slot.entity.is_none() && slot.back_at <= tick {
            let entity = enter(number, slot, &tags, &looks, &mut commands);
            slot.entity = Some(entity);
            cues.execute(tags.spawn, CueContext::new(entity).at(slot.home));
        }
    }
}

fn enter(number: usize, slot: &Slot, tags: &Tags, looks: &Looks, commands: &mut Commands) -> Entity {
    let class = &CLASSES[slot.class];
    let attributes = Attributes::new([
        AttributeDef::new(tags.health, class.health)
            .min(0.0)
            .max_of(tags.most_health),
        AttributeDef::new(tags.most_health, class.health).min(1.0),
        AttributeDef::new(tags.mana, 100.0).min(0.0).max(100.0),
        AttributeDef::new(tags.speed, class.speed).min(0.0),
    ]);
    let unit = (
        Unit(number),
        Unequipped,
        Abilities::default(),
        attributes.expect("these are attributes"),
        Transform::from_translation(slot.home),
        Visibility::default(),
    );
    let look = (
        Mesh3d(looks.body.clone()),
        MeshMaterial3d(looks.of[slot.class][slot.team].clone()),
    );
    commands.spawn((unit, look)).id()
}

/// Units get the abilities of their class, when those are there.
pub(super) fn equip(
    units: Query<(Entity, &Unit), With<Unequipped>>,
    roster: Res<Roster>,
    mut barracks: ResMut<Barracks>,
    soft: SoftObjects,
    sets: Res<Assets<AbilitySet>>,
    mut grants: ResMut<SetGrants>,
    mut commands: Commands,
) {
    let mut waiting: Vec<(usize, Entity)> = units.iter().map(|(entity, unit)| (unit.0, entity)).collect();
    waiting.sort_unstable();
    for (number, entity) in waiting {
        let path = barracks.sets[roster.slots[number].class].clone();
        let set = soft.get_if_loaded(&path);
        match set.as_ref().and_then(|set| sets.get(set)) {
            Some(set) => match grants.when_loaded(entity, set, 10.0) {
                Ok(_) => {
                    commands.entity(entity).remove::<Unequipped>();
                }
                // Many have asked already; it asks again in the next tick.
                Err(error) => debug!("unit {number}: {error}"),
            },
            None if !soft.is_loading(&path) => barracks.asked.push(soft.load(&path)),
            None => {}
        }
    }
}
