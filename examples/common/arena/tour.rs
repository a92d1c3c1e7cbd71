//! Who looks on: a player that walks from zone to zone, and what is in the air there.

use bevy::prelude::*;
use bevy_seamless::{
    asset::{PreloadSource, PreloadZone},
    cue::{CueContext, CueListener, Cues},
};

use super::{
    Approach, ArenaOptions, Roster,
    approach::zone_set,
    content::zones::{APART, HALF, ZONES},
    names::Tags,
};

/// Who looks on.
#[derive(Component)]
pub struct Player;

/// Where shows are played.
#[derive(Component)]
pub(super) struct Stage;

/// A zone, and whether its ambience plays.
#[derive(Component)]
pub(super) struct Heart {
    pub zone: usize,
    breathes: bool,
}

/// How far the player sees the air of a zone, in metres from its middle.
const AIR: f32 = 62.0;

/// The middle of a zone.
#[must_use]
pub fn place_of(zone: usize) -> Vec3 {
    Vec3::X * zone as f32 * APART
}

/// Puts the zones and the player into the world.
pub(super) fn place(mut commands: Commands, options: Res<ArenaOptions>, roster: Res<Roster>) {
    for zone in 0..ZONES.len() {
        let heart = Heart { zone, breathes: false };
        let mut heart = commands.spawn((
            heart,
            Transform::from_translation(place_of(zone)),
            Visibility::default(),
        ));
        // Elsewhere nobody fights: nobody would see it.
        if options.approach == Approach::Class && roster.zones.contains(&zone) {
            let half_size = Vec3::new(HALF, 50.0, HALF);
            heart.insert(PreloadZone {
                ahead: 85.0,
                ..PreloadZone::new(half_size, [zone_set(zone)])
            });
        }
    }
    let first = place_of(roster.zones[0]);
    commands.spawn((Stage, Transform::from_translation(first), Visibility::default()));
    commands.spawn((
        Player,
        CueListener,
        PreloadSource,
        Transform::from_translation(first),
        Visibility::default(),
    ));
}

/// Which of its zones the player is in, or leaves, and how much of its time there is over.
fn place_on_tour(roster: &Roster, options: &ArenaOptions) -> (usize, f32) {
    let at = roster.tick as f32 / options.battle_ticks.max(1) as f32 * roster.zones.len() as f32;
    (at as usize, at.fract())
}

/// Most of its time in a zone the player stays; then it goes to the next.
const STAYS: f32 = 0.6;

/// Whether the player is where it is fought: no more on its way to the second zone, if there is one, and not on its way to the next.
#[must_use]
pub fn is_in_the_fray(roster: &Roster, options: &ArenaOptions) -> bool {
    let (here, part) = place_on_tour(roster, options);
    here + 1 >= usize::min(roster.zones.len(), 2) && (STAYS / 2.0..STAYS).contains(&part)
}

/// What to look at: the middle of those who fight in the zone that is nearest to `player`, or that of the zone where there is nobody.
#[must_use]
pub fn middle_of_fight(player: Vec3, units: impl Iterator<Item = Vec3>) -> Vec3 {
    let zones = (0..ZONES.len()).map(place_of);
    let nearest = zones.min_by(|a, b| a.distance(player).total_cmp(&b.distance(player)));
    let zone = nearest.unwrap_or(player);
    let near = units.filter(|unit| unit.distance(zone) < APART / 2.0);
    let (sum, count) = near.fold((Vec3::ZERO, 0.0), |(sum, count), unit| (sum + unit, count + 1.0));
    if count > 0.0 { sum / count } else { zone }
}

/// Where the player is: in each zone for a while, and on its way to the next.
pub(super) fn walk(roster: Res<Roster>, options: Res<ArenaOptions>, mut players: Query<&mut Transform, With<Player>>) {
    let (here, part) = place_on_tour(&roster, &options);
    let zone = |place: usize| place_of(roster.zones[place.min(roster.zones.len() - 1)]);
    let on_the_way = ((part - STAYS) / (1.0 - STAYS)).clamp(0.0, 1.0);
    for mut player in &mut players {
        player.translation = zone(here).lerp(zone(here + 1), on_the_way);
    }
}

/// The air of zones plays while the player is near.
pub(super) fn breathe(
    mut hearts: Query<(Entity, &mut Heart, &Transform)>,
    player: Single<&Transform, With<Player>>,
    roster: Res<Roster>,
    tags: Res<Tags>,
    mut cues: Cues,
) {
    for (entity, mut heart, at) in &mut hearts {
        let is_near = at.translation.distance(player.translation) < AIR && roster.zones.contains(&heart.zone);
        if is_near == heart.breathes {
            continue;
        }
        heart.breathes = is_near;
        let tag = tags.ambience[heart.zone];
        match is_near {
            true => cues.add(tag, CueContext::new(entity)),
            false => cues.remove(tag, CueContext::new(entity)),
        }
    }
}

/// The battle is over: the air is still.
pub(super) fn hush(mut hearts: Query<(Entity, &mut Heart)>, tags: Res<Tags>, mut cues: Cues) {
    for (entity, mut heart) in &mut hearts {
        if core::mem::take(&mut heart.breathes) {
            cues.remove(tags.ambience[heart.zone], CueContext::new(entity));
        }
    }
}
