//! Granting whole sets. See [`SetGrants`].

use std::collections::BTreeMap;

use bevy_asset::Handle;
use bevy_ecs::{
    entity::{Entities, Entity, MapEntities},
    event::EntityEvent,
    resource::Resource,
    system::{Commands, Res, ResMut},
    world::World,
};
use bevy_reflect::Reflect;
use seamless_asset::{SoftError, SoftObjects};

use super::{
    Ability, AbilityId, AbilitySet, AbilitySettings, AbilitySpec, AbilityStats, Gameplay, SetEntry, WorldGameplay,
    load::{Loading, load_now},
};

/// Names a grant of a set: all its abilities are revoked by it.
#[derive(Reflect, MapEntities, Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[reflect(Clone, Debug, PartialEq, Hash)]
pub struct GrantId {
    #[entities]
    entity: Entity,
    number: u64,
}

impl GrantId {
    /// Whom the set was granted.
    #[must_use]
    pub fn entity(self) -> Entity {
        self.entity
    }
}

/// Why something was not granted.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum GrantError {
    /// The entity is not there, or cannot do anything.
    #[error("the entity is not there, or has no `Abilities`; insert that component")]
    NoOwner,
    /// Observers answer each other without end, and have not heard of so much that has happened.
    #[error(
        "observers are still to hear of {untold} things that have happened; does one of them grant whenever something is granted?"
    )]
    Untold {
        /// How many.
        untold: usize,
    },
    /// There is no room for it.
    #[error("an entity has {limit} abilities at most; raise `AbilityPlugin::max_abilities` if more are meant")]
    TooMany {
        /// How many there may be.
        limit: usize,
    },
    /// Too many sets are under way.
    #[error(
        "{limit} sets are waiting for their abilities; raise `AbilityPlugin::max_pending_grants` if more are meant"
    )]
    TooManyPending {
        /// How many there may be.
        limit: usize,
    },
    /// An ability of the set cannot be loaded.
    #[error("an ability of the set cannot be loaded: {0}")]
    Load(SoftError),
    /// A path of the set leads to something else.
    #[error("`{path}` is no ability; write the path of a `*.ability.ron`, or of what was cooked from one")]
    NoAbility {
        /// As it is in the set.
        path: String,
    },
    /// The entity died meanwhile, or the grant was revoked.
    #[error("the grant was cancelled before its abilities were loaded")]
    Cancelled,
    /// The app cannot grant anything.
    #[error("there is no `AbilityPlugin` in this app; add it")]
    NoPlugin,
}

/// A grant of a set came to its end: told exactly once for each, on the entity, even where that is gone; after the
/// [`AbilityGranted`](crate::AbilityGranted)s of its abilities.
#[derive(EntityEvent, Clone, Debug)]
pub struct SetGranted {
    /// Whom the set was for.
    pub entity: Entity,
    /// Which grant.
    pub grant: GrantId,
    /// The abilities that the entity has now, in the order of the set; or why it has none of them.
    pub result: Result<Vec<AbilityId>, GrantError>,
}

pub(super) type Callback = Box<dyn FnOnce(&SetGranted, &mut Commands) + Send + Sync>;

struct Pending {
    entries: Vec<SetEntry>,
    priority: f32,
    /// `None` before it has started.
    loading: Option<Loading>,
    callback: Option<Callback>,
}

/// Grants sets of abilities when those are loaded, and revokes them: a resource.
///
/// ```no_run
/// # use bevy_ecs::prelude::*; use bevy_asset::Assets;
/// # use seamless_cue::{Abilities, AbilitySet, SetGranted, SetGrants};
/// # #[derive(Resource)] struct Class(bevy_asset::Handle<AbilitySet>);
/// fn spawn(mut commands: Commands, class: Res<Class>, sets: Res<Assets<AbilitySet>>, mut grants: ResMut<SetGrants>) {
///     let hero = commands.spawn(Abilities::default()).id();
///     if let Some(set) = sets.get(&class.0) {
///         grants.when_loaded(hero, set, 0.0).expect("few are under way");
///     }
/// }
///
/// fn ready(granted: On<SetGranted>) {
///     // ...
/// }
/// ```
///
/// The abilities of a set come all at once, in one frame, or not at all. Those that are loaded already come with the next run of
/// [`AbilitySystems::Grant`](crate::AbilitySystems::Grant) but one.
#[derive(Resource, Default)]
pub struct SetGrants {
    next: u64,
    pending: BTreeMap<u64, (GrantId, Pending)>,
    revoked: Vec<GrantId>,
    limit: usize,
}

impl SetGrants {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            ..Self::default()
        }
    }

    /// Grants a set when its abilities are loaded, those of larger `priority` first among all loads. Ends with one [`SetGranted`]. An entity that is despawned
    /// meanwhile cancels the load.
    ///
    /// # Errors
    /// When too many are under way; then nothing ends.
    pub fn when_loaded(&mut self, entity: Entity, set: &AbilitySet, priority: f32) -> Result<GrantId, GrantError> {
        self.add(entity, set, priority, None)
    }

    /// As [`when_loaded`](Self::when_loaded), and calls `callback` right before the event.
    ///
    /// # Errors
    /// As there; then nobody is called.
    pub fn when_loaded_then(
        &mut self,
        entity: Entity,
        set: &AbilitySet,
        priority: f32,
        callback: impl FnOnce(&SetGranted, &mut Commands) + Send + Sync + 'static,
    ) -> Result<GrantId, GrantError> {
        self.add(entity, set, priority, Some(Box::new(callback)))
    }

    /// Takes away what came with a grant; one that is under way is cancelled, and ends with [`GrantError::Cancelled`].
    pub fn revoke(&mut self, grant: GrantId) {
        self.revoked.push(grant);
    }

    /// How many are under way.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Whether a grant is under way.
    #[must_use]
    pub fn is_pending(&self, grant: GrantId) -> bool {
        self.pending.contains_key(&grant.number)
    }

    fn next_id(&mut self, entity: Entity) -> GrantId {
        let number = self.next;
        self.next += 1;
        GrantId { entity, number }
    }

    fn add(
        &mut self,
        entity: Entity,
        set: &AbilitySet,
        priority: f32,
        callback: Option<Callback>,
    ) -> Result<GrantId, GrantError> {
        if self.pending.len() >= self.limit {
            return Err(GrantError::TooManyPending { limit: self.limit });
        }
        let id = self.next_id(entity);
        let pending = Pending {
            entries: set.abilities.clone(),
            priority,
            loading: None,
            callback,
        };
        self.pending.insert(id.number, (id, pending));
        Ok(id)
    }
}

/// Starts what is new, revokes what is to go, ends what has come.
pub(super) fn run_grants(
    mut grants: ResMut<SetGrants>,
    soft: SoftObjects,
    entities: &Entities,
    mut gameplay: Gameplay,
) {
    if grants.pending.is_empty() && grants.revoked.is_empty() {
        return;
    }
    let grants = &mut *grants;
    for grant in core::mem::take(&mut grants.revoked) {
        match grants.pending.remove(&grant.number) {
            Some((_, pending)) => finish(grant, pending.callback, Err(GrantError::Cancelled), &mut gameplay),
            None => {
                gameplay.revoke_grant(grant);
            }
        }
    }
    let mut ended = Vec::new();
    for (number, (id, pending)) in &mut grants.pending {
        if !entities.contains(id.entity) {
            ended.push((*number, Err(GrantError::Cancelled)));
            continue;
        }
        let Some(loading) = &pending.loading else {
            pending.loading = Some(Loading::start(&soft, &pending.entries, pending.priority));
            continue;
        };
        if let Some(result) = loading.result(&pending.entries) {
            ended.push((*number, result));
        }
    }
    for (number, loaded) in ended {
        let Some((id, pending)) = grants.pending.remove(&number) else {
            continue;
        };
        let result = loaded.and_then(|abilities| grant_all(&mut gameplay, id, &pending.entries, abilities));
        finish(id, pending.callback, result, &mut gameplay);
    }
}

fn finish(
    grant: GrantId,
    callback: Option<Callback>,
    result: Result<Vec<AbilityId>, GrantError>,
    gameplay: &mut Gameplay,
) {
    if let Err(error) = &result
        && !matches!(error, GrantError::Cancelled)
    {
        bevy_log::error!("a set of abilities was not granted to {}: {error}", grant.entity);
    }
    let granted = SetGranted {
        entity: grant.entity,
        grant,
        result,
    };
    gameplay.tell_set(granted, callback);
}

/// All abilities of a set, or none.
fn grant_all(
    gameplay: &mut Gameplay,
    grant: GrantId,
    entries: &[SetEntry],
    abilities: Vec<Handle<Ability>>,
) -> Result<Vec<AbilityId>, GrantError> {
    let mut ids = Vec::with_capacity(abilities.len());
    gameplay.has_room(grant.entity, abilities.len())?;
    for (entry, ability) in entries.iter().zip(abilities) {
        let spec = AbilitySpec {
            ability,
            level: entry.level,
            slot: entry.slot,
            source: None,
        };
        ids.push(gameplay.grant_with(grant.entity, spec, Some(grant))?);
    }
    Ok(ids)
}

/// Granting sets at once.
pub trait GrantSets {
    /// Grants a set, and loads its abilities now, where they are not loaded. **That is a hitch**, which the pipeline logs and counts; see
    /// [`LoadSoftBlocking`](seamless_asset::LoadSoftBlocking). It ends with one [`SetGranted`], too.
    ///
    /// # Errors
    /// When the set is not granted; then the entity has nothing of it, and no [`SetGranted`] tells of it.
    #[track_caller]
    fn grant_set_now(&mut self, entity: Entity, set: &AbilitySet) -> Result<GrantId, GrantError>;
}

impl GrantSets for World {
    #[track_caller]
    fn grant_set_now(&mut self, entity: Entity, set: &AbilitySet) -> Result<GrantId, GrantError> {
        // To find that out later would cost a hitch for nothing.
        let more = set.abilities.len();
        let room = self.gameplay(move |gameplay| gameplay.has_room(entity, more));
        room.ok_or(GrantError::NoPlugin)??;
        let abilities = load_now(self, &set.abilities)?;
        let mut grants = self.get_resource_mut::<SetGrants>().ok_or(GrantError::NoPlugin)?;
        let grant = grants.next_id(entity);
        let entries = set.abilities.clone();
        let granted = self.gameplay(move |gameplay| {
            let ids = grant_all(gameplay, grant, &entries, abilities)?;
            finish(grant, None, Ok(ids), gameplay);
            Ok(grant)
        });
        granted.ok_or(GrantError::NoPlugin)?
    }
}

/// Counts what is under way, and keeps the limit that is set now.
pub(super) fn count_grants(
    mut grants: ResMut<SetGrants>,
    mut stats: ResMut<AbilityStats>,
    settings: Res<AbilitySettings>,
) {
    if grants.limit != settings.max_pending_grants {
        grants.limit = settings.max_pending_grants;
    }
    stats.pending_grants = grants.pending.len();
}
