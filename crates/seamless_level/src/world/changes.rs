//! What has changed among many entities of which few do. See [`Changes`].

use bevy_ecs::{
    change_detection::{DetectChanges, Ref},
    component::Component,
    entity::Entity,
    query::Changed,
    system::{Query, SystemParam},
};

use super::EvenHidden;

/// The entities whose component was added or changed, those of hidden levels and disabled ones among them: what a query with `Changed` finds, in a
/// fraction of the time where nothing has.
#[derive(SystemParam)]
pub(crate) struct Changes<'w, 's, T: Component> {
    /// Without the entities, which compilers would look at one by one.
    values: Query<'w, 's, Ref<'static, T>, EvenHidden>,
    changed: Query<'w, 's, Entity, (Changed<T>, EvenHidden)>,
}

impl<T: Component> Changes<'_, '_, T> {
    /// Lists those since the system ran last.
    pub fn find(&self, found: &mut Vec<Entity>) {
        found.clear();
        // Without a way out of the loop many are compared at once, which a filter does one by one.
        if self.values.iter().fold(false, |any, value| any | value.is_changed()) {
            self.changed.iter().for_each(|entity| found.push(entity));
        }
    }
}

#[cfg(test)]
mod tests;
