//! The fight: who goes where, what abilities do, what befalls whoever is in a zone, and who falls.

use bevy::prelude::*;
use bevy_seamless::{
    asset::SoftObjects,
    cue::{
        Ability, AbilityActivated, Aim, AttributeChanged, Attributes, CueContext, Cues, Effect, EffectCommands,
        EffectSpec, Gameplay, GrantedAbility,
    },
};

use super::{
    RATE, Roster, Unit,
    content::classes::CLASSES,
    names::Tags,
    tour::Heart,
    units::{Barracks, Slot},
};

/// Ticks between two looks for somebody to fight.
const LOOK: u64 = 20;
/// Ticks between two tries to use an ability.
const ACT: u64 = 6;
/// Ticks between two things that befall a zone.
const BEFALL: u64 = 90;
/// Metres around its target in which an ability of the kind `area` hits.
const AREA: f32 = 4.0;

/// All units walk and act once.
pub(super) fn think(
    mut roster: ResMut<Roster>,
    mut bodies: Query<&mut Transform, With<Unit>>,
    mut gameplay: Gameplay,
    tags: Res<Tags>,
) {
    let roster = &mut *roster;
    roster.tick += 1;
    let tick = roster.tick;
    let body = |slot: &Slot| slot.entity.and_then(|entity| bodies.get(entity).ok());
    let seen: Vec<Option<Vec3>> = roster
        .slots
        .iter()
        .map(|slot| body(slot).map(|body| body.translation))
        .collect();
    for number in 0..roster.slots.len() {
        let Some(at) = seen[number] else { continue };
        let turn = tick + number as u64;
        let has_target = roster.slots[number].target.is_some_and(|target| seen[target].is_some());
        if !has_target || turn.is_multiple_of(LOOK) {
            roster.slots[number].target = nearest(&roster.slots, &seen, number);
        }
        let slot = &roster.slots[number];
        let (Some(entity), Some(target)) = (slot.entity, slot.target) else {
            continue;
        };
        let (Some(there), Some(foe)) = (seen[target], roster.slots[target].entity) else {
            continue;
        };
        let (away, reach) = (there - at, CLASSES[slot.class].range);
        if away.length() > reach {
            let speed = gameplay.attributes(entity).and_then(|all| all.current(tags.speed));
            let step = speed.unwrap_or_default() / RATE as f32;
            if let Ok(mut body) = bodies.get_mut(entity) {
                body.translation += away.normalize_or_zero() * step;
                body.look_to(away, Vec3::Y);
            }
        } else if turn.is_multiple_of(ACT) {
            act(&mut gameplay, entity, foe, &tags);
        }
    }
}

/// The nearest foe in the same zone; of two as near the first.
fn nearest(slots: &[Slot], seen: &[Option<Vec3>], number: usize) -> Option<usize> {
    let own = slots.get(number)?;
    let at = (*seen.get(number)?)?;
    let foes = slots
        .iter()
        .enumerate()
        .filter(|(_, slot)| slot.zone == own.zone && slot.team != own.team);
    let distances = foes.filter_map(|(other, _)| Some(((*seen.get(other)?)?.distance_squared(at), other)));
    let nearest = distances.min_by(|a, b| a.0.total_cmp(&b.0));
    nearest.map(|(_, other)| other)
}

/// Uses the first ability that can be used.
fn act(gameplay: &mut Gameplay, entity: Entity, foe: Entity, tags: &Tags) {
    for slot in tags.slots {
        let ability = gameplay.abilities(entity).and_then(|abilities| abilities.in_slot(slot));
        let Some(id) = ability.map(GrantedAbility::id) else {
            continue;
        };
        if gameplay.try_activate(entity, id, Aim::at(foe)).is_ok() {
            return;
        }
    }
}

/// What abilities do: each of their effects, to whom its name says.
pub(super) fn cast(
    used: On<AbilityActivated>,
    abilities: Res<Assets<Ability>>,
    roster: Res<Roster>,
    units: Query<(&Unit, &Transform, &Attributes)>,
    tags: Res<Tags>,
    mut commands: Commands,
) {
    let Some(ability) = abilities.get(&used.info.ability) else {
        return;
    };
    for named in &ability.effects {
        let targets: Vec<Entity> = match named.name.as_str() {
            "own" => vec![used.entity],
            "area" => around(used.aim.target, &roster, &units),
            "ally" => most_hurt(used.entity, &roster, &units, &tags).into_iter().collect(),
            _ => used.aim.target.into_iter().collect(),
        };
        for target in targets {
            commands.apply_effect(target, EffectSpec::new(named.effect.clone()).from(used.entity));
        }
    }
}

/// The target, and those of its team that are near it.
fn around(target: Option<Entity>, roster: &Roster, units: &Query<(&Unit, &Transform, &Attributes)>) -> Vec<Entity> {
    let Some((unit, center, _)) = target.and_then(|target| units.get(target).ok()) else {
        return Vec::new();
    };
    let of = &roster.slots[unit.0];
    let team = roster
        .slots
        .iter()
        .filter(|slot| (slot.zone, slot.team) == (of.zone, of.team));
    let is_near = |entity: &Entity| {
        let place = units.get(*entity).map(|(_, place, _)| place.translation);
        place.is_ok_and(|place| place.distance(center.translation) < AREA)
    };
    team.filter_map(|slot| slot.entity).filter(is_near).collect()
}

/// Whoever of the own team has lost most; of two the first.
fn most_hurt(
    own: Entity,
    roster: &Roster,
    units: &Query<(&Unit, &Transform, &Attributes)>,
    tags: &Tags,
) -> Option<Entity> {
    let of = &roster.slots[units.get(own).ok()?.0.0];
    let team = roster
        .slots
        .iter()
        .filter(|slot| (slot.zone, slot.team) == (of.zone, of.team));
    let health = team.filter_map(|slot| {
        let (_, _, attributes) = units.get(slot.entity?).ok()?;
        let (health, most) = (attributes.current(tags.health)?, attributes.current(tags.most_health)?);
        Some((health / most, slot.entity?))
    });
    health.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, entity)| entity)
}

/// Each zone has something happen to some of those who fight there.
pub(super) fn befall(
    mut roster: ResMut<Roster>,
    mut barracks: ResMut<Barracks>,
    soft: SoftObjects,
    mut commands: Commands,
) {
    if !roster.tick.is_multiple_of(BEFALL) {
        return;
    }
    let roster = &mut *roster;
    for zone in roster.zones.clone() {
        // The same are chosen whether or not the effect is there.
        let there: Vec<usize> = (0..roster.slots.len())
            .filter(|number| roster.slots[*number].zone == zone)
            .collect();
        if there.is_empty() {
            continue;
        }
        let struck = [(); 3].map(|()| there[roster.rng.below(there.len())]);
        let hazard = &barracks.hazards[zone];
        let Some(effect) = soft.get_if_loaded::<Effect>(hazard) else {
            if !soft.is_loading(hazard) {
                let load = soft.load(hazard);
                barracks.asked.push(load);
            }
            continue;
        };
        for entity in struck.into_iter().filter_map(|number| roster.slots[number].entity) {
            commands.apply_effect(entity, EffectSpec::new(effect.clone()));
        }
    }
}

/// Who has no health left falls.
pub(super) fn perish(
    changed: On<AttributeChanged>,
    tags: Res<Tags>,
    units: Query<(&Unit, &Transform)>,
    hearts: Query<(Entity, &Heart)>,
    mut roster: ResMut<Roster>,
    mut cues: Cues,
    mut commands: Commands,
) {
    if changed.attribute != tags.health || changed.new > 0.0 {
        return;
    }
    let Ok((unit, body)) = units.get(changed.entity) else {
        return;
    };
    let zone = roster.slots[unit.0].zone;
    // The unit is gone when it plays, so it is about the place.
    if let Some((heart, _)) = hearts.iter().find(|(_, heart)| heart.zone == zone) {
        cues.execute(
            tags.death,
            CueContext::new(heart).by(changed.entity).at(body.translation),
        );
    }
    roster.fall(unit.0);
    commands.entity(changed.entity).despawn();
}
