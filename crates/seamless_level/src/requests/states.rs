//! Where levels are, by name. See [`LevelStates`].

use bevy_ecs::{
    entity::Entity,
    system::{Query, SystemParam},
};

use bevy_math::Vec3;

use crate::{
    target::LevelTarget,
    world::{EvenHidden, Level, LevelSelection, LevelState, LevelTable},
};

/// Tells where levels are, by name, and changes nothing: a system parameter, also for run conditions such as [`level_is_visible`].
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use seamless_level::{LevelState, LevelStates};
/// fn open_gate(levels: LevelStates) {
///     if levels.state("dungeon") == Some(LevelState::Visible) { /* it opens */ }
/// }
/// ```
#[derive(SystemParam)]
pub struct LevelStates<'w, 's> {
    pub(crate) tables: Query<'w, 's, (Entity, &'static LevelTable), EvenHidden>,
    selections: Query<'w, 's, &'static LevelSelection, EvenHidden>,
}

impl LevelStates<'_, '_> {
    /// How far a level is to come, all requests considered; [`Unloaded`](LevelTarget::Unloaded) while no world has one
    /// of that name. Of several worlds, the first that has it.
    #[must_use]
    pub fn target(&self, level: &str) -> LevelTarget {
        self.get(level).map_or(LevelTarget::Unloaded, Level::target)
    }

    /// Where a level is; `None` while no world has one of that name. Of several worlds, the first that has it.
    #[must_use]
    pub fn state(&self, level: &str) -> Option<LevelState> {
        self.get(level).map(Level::state)
    }

    /// Whether a level is in the world, and not hidden; not while no world has one of that name.
    #[must_use]
    pub fn is_visible(&self, level: &str) -> bool {
        self.get(level).is_some_and(Level::is_visible)
    }

    /// A level; of several worlds, the first that has it.
    #[must_use]
    pub fn get(&self, level: &str) -> Option<&Level> {
        self.tables.iter().find_map(|(_, table)| table.get(level))
    }

    /// The root entity of a level, while it is in the world.
    #[must_use]
    pub fn root_of(&self, level: &str) -> Option<Entity> {
        self.get(level)?.root()
    }

    /// The levels within whose bounds a point is, in world space, each with its [`SeamlessWorld`](crate::SeamlessWorld) entity, whether they are
    /// [there](Level::is_visible) or not: the room that somebody is in, the ground below. By those [axes](crate::LevelSettings::arrival_axes) by which somebody is late in one; bounds of
    /// levels may overlap, and one without bounds is nowhere. It looks into few cells of a grid, however many levels there are.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_transform::components::GlobalTransform;
    /// # use seamless_level::LevelStates;
    /// #[derive(Component)]
    /// struct Wanderer;
    ///
    /// /// Who leaves the ground that is there goes with it.
    /// fn stay_behind(wanderers: Query<(Entity, &GlobalTransform), With<Wanderer>>, levels: LevelStates, mut commands: Commands) {
    ///     for (wanderer, place) in &wanderers {
    ///         if !levels.at(place.translation()).any(|(_, level)| level.is_visible()) {
    ///             commands.entity(wanderer).despawn();
    ///         }
    ///     }
    /// }
    /// ```
    pub fn at(&self, point: Vec3) -> impl Iterator<Item = (Entity, &Level)> {
        self.tables.iter().flat_map(move |(world, table)| {
            let selection = self.selections.get(world);
            let levels = selection.map_or_else(|_| Vec::new(), |selection| selection.selector.at(point));
            let levels = levels.into_iter().filter_map(|level| table.at(level));
            levels
                .filter(|level| !level.is_removed())
                .map(move |level| (world, level))
        })
    }

    /// All levels of all worlds, each with its [`SeamlessWorld`](crate::SeamlessWorld) entity; those that were [removed](Level::is_removed) among them,
    /// until others take their places.
    pub fn iter(&self) -> impl Iterator<Item = (Entity, &Level)> {
        let levels = |(world, table)| <&LevelTable>::into_iter(table).map(move |level| (world, level));
        self.tables.iter().flat_map(levels)
    }
}

/// A run condition: a level is in the world, and not hidden.
///
/// ```
/// # use bevy_app::{App, Update};
/// # use bevy_ecs::prelude::*;
/// # use seamless_level::level_is_visible;
/// # let mut app = App::new();
/// app.add_systems(Update, drip.run_if(level_is_visible("dungeon")));
///
/// fn drip() {}
/// ```
pub fn level_is_visible(level: impl Into<String>) -> impl FnMut(LevelStates) -> bool + Clone {
    let level = level.into();
    move |levels: LevelStates| levels.is_visible(&level)
}
