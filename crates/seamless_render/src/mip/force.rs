//! Textures that are to be fine whatever is seen. See [`MipForce`].

#[cfg(test)]
mod tests;

use bevy_ecs::{entity::EntityHashMap, hierarchy::Children, prelude::*, query::Allow, system::SystemParam};
use bevy_log::warn;
use bevy_platform::collections::HashMap;
use bevy_reflect::{Reflect, prelude::ReflectDefault};
use seamless_asset::InHiddenLevel;

use super::users::MipUsers;

/// So many entities are forced at most; who comes later is refused.
const MOST_FORCED: usize = 4096;

/// The textures of this entity, and of all that hangs below it, are as fine as this whether they are seen or not, as far as the pool goes: others are
/// cut first. For what is going to be seen from nearby in a moment: what a player takes up, as soon as it is reached for, or a cut scene. Its mips are read and
/// swapped before all others', at once, and wait for nobody's reads but those of what is forced as well. On a level's root, for all of the level.
#[derive(Component, Reflect, Clone, Copy, Debug, Default, PartialEq)]
#[reflect(Component, Default, Clone, PartialEq)]
pub struct MipForce {
    /// How fine.
    pub size: MipSize,
    /// For how long, in seconds; none: as long as it is there.
    pub seconds: Option<f32>,
}

/// How fine a texture is.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MipSize {
    /// All mips.
    #[default]
    Full,
    /// Its longer side has as many texels at least, if it has them at all.
    Side(u32),
}

impl MipSize {
    /// In texels.
    fn side(self) -> u32 {
        match self {
            Self::Full => u32::MAX,
            Self::Side(side) => side,
        }
    }
}

/// What is asked of forced entities, those of hidden levels as well.
#[derive(SystemParam)]
pub(super) struct Forcing<'w, 's> {
    forces: Query<'w, 's, (Entity, Ref<'static, MipForce>), Allow<InHiddenLevel>>,
    children: Query<'w, 's, &'static Children, Allow<InHiddenLevel>>,
    changed_children: Query<'w, 's, (), (Changed<Children>, Allow<InHiddenLevel>)>,
    removed_children: RemovedComponents<'w, 's, Children>,
}

/// Which textures are forced, and since when.
#[derive(Debug, Default)]
pub(super) struct Forces {
    /// When each force ends, in seconds.
    ends: EntityHashMap<f64>,
    /// By texture, its side in texels.
    forced: HashMap<u32, u32>,
    before: HashMap<u32, u32>,
    walk: Vec<(Entity, u32)>,
    /// What the users were when it was found.
    version: u64,
    next_end: f64,
    /// It was told that there are too many.
    is_told: bool,
}

impl Forces {
    /// The longest side that is forced, in texels.
    pub fn side(&self, texture: u32) -> Option<u32> {
        self.forced.get(&texture).copied()
    }

    /// Finds what is forced, if that may be something else than before; adds the textures of which it is to `others`. `now` is in seconds.
    pub fn update(&mut self, forcing: &mut Forcing, users: &MipUsers, now: f64, others: &mut Vec<u32>) {
        let has_lost = forcing.removed_children.read().count() > 0;
        let were_some = !self.ends.is_empty();
        let is_any = were_some || !forcing.forces.is_empty();
        if !is_any {
            return;
        }
        let is_new = self.take(forcing, now);
        let has_moved = has_lost || !forcing.changed_children.is_empty();
        if !is_new && !has_moved && self.version == users.version() && now < self.next_end {
            return;
        }
        self.version = users.version();
        self.find(forcing, users, now);
        let was = self
            .before
            .iter()
            .filter(|(texture, side)| self.forced.get(*texture) != Some(side));
        others.extend(was.map(|(texture, _)| *texture));
        let is = self.forced.keys().filter(|texture| !self.before.contains_key(*texture));
        others.extend(is);
        // Hash maps have an order of their own.
        others.sort_unstable();
    }

    /// Whether some have come, gone or changed.
    fn take(&mut self, forcing: &Forcing, now: f64) -> bool {
        let known = self.ends.len();
        self.ends.retain(|entity, _| forcing.forces.contains(*entity));
        let mut is_new = self.ends.len() != known;
        for (entity, force) in &forcing.forces {
            let is_known = self.ends.contains_key(&entity);
            if is_known && !force.is_changed() {
                continue;
            }
            if !is_known && self.ends.len() >= MOST_FORCED {
                self.tell_too_many(entity);
                continue;
            }
            let end = force.seconds.map_or(f64::INFINITY, |seconds| now + f64::from(seconds));
            self.ends.insert(entity, end);
            is_new = true;
        }
        is_new
    }

    fn tell_too_many(&mut self, entity: Entity) {
        if !core::mem::replace(&mut self.is_told, true) {
            warn!(
                "{entity} forces no textures, and no others do beyond {MOST_FORCED}: remove a `MipForce` elsewhere, or put one on a common ancestor instead"
            );
        }
    }

    fn find(&mut self, forcing: &Forcing, users: &MipUsers, now: f64) {
        core::mem::swap(&mut self.before, &mut self.forced);
        self.forced.clear();
        self.next_end = f64::INFINITY;
        for (entity, end) in &self.ends {
            let Some((_, force)) = forcing.forces.get(*entity).ok().filter(|_| now < *end) else {
                continue;
            };
            self.next_end = self.next_end.min(*end);
            self.walk.push((*entity, force.size.side()));
        }
        while let Some((entity, side)) = self.walk.pop() {
            for texture in users.textures(entity) {
                let forced = self.forced.entry(texture).or_default();
                *forced = side.max(*forced);
            }
            let children = forcing.children.get(entity).into_iter().flatten();
            self.walk.extend(children.map(|child| (*child, side)));
        }
    }
}
