//! The cues that effects and abilities fire. See [`AbilityCue`].

use bevy_ecs::{
    entity::{Entity, MapEntities},
    event::EntityEvent,
    observer::On,
    reflect::ReflectEvent,
};
use bevy_math::Vec3;
use bevy_reflect::{Reflect, std_traits::ReflectDefault};

use crate::{CueAct, CueContext, Cues, GameplayTag};

/// Where a cue comes from: what effects and abilities know of it.
#[derive(Reflect, MapEntities, Clone, Copy, Debug, Default, PartialEq)]
#[reflect(Default, Clone, Debug, PartialEq)]
pub struct CueOrigin {
    /// Who has brought it about.
    #[entities]
    pub instigator: Option<Entity>,
    /// What it comes from.
    #[entities]
    pub source: Option<Entity>,
    /// Level of the effect or the ability.
    pub level: f32,
    /// The magnitude of the effect's first modifier, times its stacks; 0 of an ability.
    pub magnitude: f32,
    /// Where it hits.
    pub location: Option<Vec3>,
    /// The surface there.
    pub normal: Option<Vec3>,
}

/// An effect or an ability fires a cue. Triggered in the order in which things happened, on the entity that has the effect or the ability. What
/// was added under a tag is removed as often.
///
/// In an app that [plays](crate::CuePlugin) cues, [`Cues`] are fired for each; others, as servers that tell their clients, have this event.
#[derive(EntityEvent, Reflect, Clone, Debug, PartialEq)]
#[reflect(Event, Clone, Debug, PartialEq)]
pub struct AbilityCue {
    /// On whom it is played.
    #[event_target]
    pub target: Entity,
    /// Which one.
    pub tag: GameplayTag,
    /// What becomes of it.
    pub kind: CueAct,
    /// Where it comes from.
    pub origin: CueOrigin,
}

/// Has cues played that effects and abilities fire.
pub(super) fn play(cue: On<AbilityCue>, mut cues: Cues) {
    let origin = &cue.origin;
    let context = CueContext {
        instigator: origin.instigator,
        source: origin.source,
        location: origin.location,
        normal: origin.normal,
        magnitude: origin.magnitude,
        ..CueContext::new(cue.target)
    };
    cues.fire(cue.kind, cue.tag, context);
}
