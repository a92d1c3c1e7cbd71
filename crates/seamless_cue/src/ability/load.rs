//! The only place where abilities are loaded: what their soft handles name.

use bevy_asset::Handle;
use bevy_ecs::world::World;
use seamless_asset::{LoadSoftBlocking, SoftError, SoftObjects, Streamable, StreamableEnd, StreamableRequest};

use super::{Ability, GrantError, SetEntry};

/// The abilities of a set on their way. Dropping it cancels that.
pub(super) struct Loading {
    /// `None` where there is nothing to load.
    streamable: Option<Streamable>,
}

impl Loading {
    /// Asks for the abilities of these entries, all at once.
    pub fn start(soft: &SoftObjects, entries: &[SetEntry], priority: f32) -> Self {
        let request = StreamableRequest {
            priority,
            ..StreamableRequest::new(entries.iter().map(|entry| &entry.ability)).named("a set of abilities")
        };
        let streamable = (!entries.is_empty()).then(|| soft.request(request));
        Self { streamable }
    }

    /// What came of it: the abilities in the order of the entries. `None` while they are under way.
    pub fn result(&self, entries: &[SetEntry]) -> Option<Result<Vec<Handle<Ability>>, GrantError>> {
        let Some(streamable) = &self.streamable else {
            return Some(Ok(Vec::new()));
        };
        Some(match streamable.end()? {
            StreamableEnd::Loaded => entries.iter().map(|entry| find(streamable, entry)).collect(),
            StreamableEnd::Cancelled => Err(GrantError::Cancelled),
            StreamableEnd::Failed(errors) => {
                let error = errors.first().cloned();
                Err(GrantError::Load(error.unwrap_or(SoftError::Cancelled)))
            }
        })
    }
}

fn find(streamable: &Streamable, entry: &SetEntry) -> Result<Handle<Ability>, GrantError> {
    let path = || entry.ability.path().to_owned();
    streamable
        .get(&entry.ability)
        .ok_or_else(|| GrantError::NoAbility { path: path() })
}

/// Loads the abilities of these entries on the calling thread.
#[track_caller]
pub(super) fn load_now(world: &mut World, entries: &[SetEntry]) -> Result<Vec<Handle<Ability>>, GrantError> {
    let mut abilities = Vec::with_capacity(entries.len());
    for entry in entries {
        abilities.push(world.load_soft_blocking(&entry.ability).map_err(GrantError::Load)?);
    }
    Ok(abilities)
}
