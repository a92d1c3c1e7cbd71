//! Explicit requests for levels, by name. See [`Levels`].

mod set;

pub use set::{RequestKind, RequestSet};

use std::collections::HashMap;

use bevy_ecs::{
    entity::Entity,
    query::{With, Without},
    resource::Resource,
    system::{Query, Res, ResMut, SystemParam},
};

use crate::{
    select::LevelRequest,
    settings::LevelSettings,
    world::{Level, LevelState, LevelTable, SeamlessWorld},
};

/// What the app asked for, by level name; kept for worlds that are still to come.
#[derive(Resource, Default)]
pub(crate) struct LevelRequests {
    by_name: HashMap<String, LevelRequest>,
    changed: Vec<String>,
    retries: Vec<String>,
}

impl LevelRequests {
    pub fn get(&self, name: &str) -> LevelRequest {
        self.by_name.get(name).copied().unwrap_or_default()
    }

    /// Names whose request changed since the last selection.
    pub fn changed(&self) -> &[String] {
        &self.changed
    }

    /// Names of levels that are to be tried again.
    pub fn retries(&self) -> &[String] {
        &self.retries
    }

    pub fn has_changes(&self) -> bool {
        !(self.changed.is_empty() && self.retries.is_empty())
    }

    pub fn clear_changes(&mut self) {
        self.changed.clear();
        self.retries.clear();
    }

    fn set(&mut self, name: &str, request: LevelRequest, limit: usize) -> Result<(), RequestError> {
        if self.get(name) == request {
            return Ok(());
        }
        if request == LevelRequest::None {
            self.by_name.remove(name);
        } else if self.by_name.len() >= limit && !self.by_name.contains_key(name) {
            return Err(RequestError::TooMany { limit });
        } else {
            self.by_name.insert(name.to_owned(), request);
        }
        mention(&mut self.changed, name);
        Ok(())
    }
}

/// Adds a name unless it was mentioned last: a game may ask for the same each frame.
fn mention(names: &mut Vec<String>, name: &str) {
    if names.last().is_none_or(|last| last != name) {
        names.push(name.to_owned());
    }
}

/// A request for a level that was refused.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestError {
    /// All worlds are there, and none has such a level.
    #[error(
        "no seamless world has a level `{level}`; mend the name, or add the level to the world file and cook it again"
    )]
    UnknownLevel {
        /// The name.
        level: String,
    },
    /// The cap on requests is reached.
    #[error("more than {limit} levels are requested by name; release some, or raise `LevelSettings::max_requests`")]
    TooMany {
        /// The cap.
        limit: usize,
    },
}

/// Loads and unloads levels by name, and tells where they are: a system parameter.
///
/// A request holds until it is released. It goes to every seamless world that has a level of that name, and to those
/// that will have one when their manifest is loaded. It takes effect in the next `SpawnScene`.
///
/// | last call | the level is wanted |
/// |---|---|
/// | none, or [`release`](Self::release) | when a volume asks for it, or when it is always loaded |
/// | [`load`](Self::load) | always |
/// | [`unload`](Self::unload) | never |
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use seamless_level::{LevelState, Levels};
/// fn enter_dungeon(mut levels: Levels) -> Result {
///     levels.load("dungeon")?;
///     levels.unload("village")?; // even where its volume wants it
///     if levels.state("dungeon") == Some(LevelState::Live) {
///         levels.release("village")?; // its volume decides again
///     }
///     Ok(())
/// }
/// ```
#[derive(SystemParam)]
pub struct Levels<'w, 's> {
    requests: ResMut<'w, LevelRequests>,
    settings: Res<'w, LevelSettings>,
    tables: Query<'w, 's, (Entity, &'static LevelTable)>,
    pending: Query<'w, 's, (), (With<SeamlessWorld>, Without<LevelTable>)>,
}

impl Levels<'_, '_> {
    /// Keeps a level loaded, whatever volumes say.
    ///
    /// # Errors
    /// When no world has such a level, or too many are requested.
    pub fn load(&mut self, level: &str) -> Result<(), RequestError> {
        self.request(level, LevelRequest::Load)
    }

    /// Keeps a level away, whatever volumes say, and even if it is always loaded.
    ///
    /// # Errors
    /// When no world has such a level, or too many are requested.
    pub fn unload(&mut self, level: &str) -> Result<(), RequestError> {
        self.request(level, LevelRequest::Unload)
    }

    /// Takes [`load`](Self::load) or [`unload`](Self::unload) back: volumes decide again.
    ///
    /// # Errors
    /// When no world has such a level.
    pub fn release(&mut self, level: &str) -> Result<(), RequestError> {
        self.request(level, LevelRequest::None)
    }

    /// Tries a level again that failed and is still wanted; does nothing to any other level.
    ///
    /// # Errors
    /// When no world has such a level.
    pub fn retry(&mut self, level: &str) -> Result<(), RequestError> {
        self.check(level)?;
        if self
            .iter()
            .any(|(_, other)| other.name() == level && other.state() == LevelState::Failed)
        {
            mention(&mut self.requests.retries, level);
        }
        Ok(())
    }

    /// What was requested for a level.
    #[must_use]
    pub fn requested(&self, level: &str) -> LevelRequest {
        self.requests.get(level)
    }

    /// Where a level is; `None` while no world has one of that name. Of several worlds, the first that has it.
    #[must_use]
    pub fn state(&self, level: &str) -> Option<LevelState> {
        self.get(level).map(Level::state)
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

    /// All levels of all worlds, each with its [`SeamlessWorld`] entity.
    pub fn iter(&self) -> impl Iterator<Item = (Entity, &Level)> {
        let levels = |(world, table)| <&LevelTable>::into_iter(table).map(move |level| (world, level));
        self.tables.iter().flat_map(levels)
    }

    fn request(&mut self, level: &str, request: LevelRequest) -> Result<(), RequestError> {
        self.check(level)?;
        self.requests.set(level, request, self.settings.max_requests)
    }

    /// A name that nobody knows is an error only when no world is still to come.
    fn check(&self, level: &str) -> Result<(), RequestError> {
        let may_come = self.tables.is_empty() || !self.pending.is_empty();
        if may_come || self.get(level).is_some() {
            return Ok(());
        }
        let level = level.to_owned();
        Err(RequestError::UnknownLevel { level })
    }
}
