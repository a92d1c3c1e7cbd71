//! Finds the few that have changed among very many. See [`Scan`].

#[cfg(test)]
mod tests;

use bevy_ecs::{
    change_detection::Tick,
    component::StorageType,
    entity_disabling::DefaultQueryFilters,
    prelude::*,
    query::{ArchetypeFilter, QueryState},
};

/// So many are looked at at once.
const CHUNK: usize = 64;

/// All components of a type, and who has them: those of hidden levels and of disabled entities as well.
///
/// Who has changed is looked up by the ticks as they lie in tables, many at once. That takes a tenth to a quarter of a microsecond for a thousand, half or less of what a query
/// takes with [`Changed`]. Bevy lets queries alone do that which look at whole tables; since levels are hidden by a component that does not lie in one, it is
/// made by [`scan`] so that it does not leave these out.
pub type Scan<'w, 's, C, F = ()> = Query<'w, 's, (Entity, Ref<'static, C>), F>;

/// Makes a [`Scan`].
pub fn scan<C: Component, F: ArchetypeFilter>(world: &mut World) -> QueryState<(Entity, Ref<'static, C>), F> {
    const { assert!(matches!(C::STORAGE_TYPE, StorageType::Table)) }
    let filters = world
        .get_resource_mut::<DefaultQueryFilters>()
        .map(|mut filters| core::mem::replace(&mut *filters, DefaultQueryFilters::empty()));
    let all = QueryState::new(world);
    filters.into_iter().for_each(|filters| world.insert_resource(filters));
    all
}

/// Who was added or changed since then, which is when the system ran last, or earlier.
pub fn changed<C: Component, F: ArchetypeFilter>(all: &Scan<C, F>, since: Tick, mut found: impl FnMut(Entity, &C)) {
    // Whole tables are looked at, as was made sure of.
    for (entities, of) in all.contiguous_iter().into_iter().flatten() {
        let this = of.this_run_tick();
        let is_newer = |tick: &Tick| tick.is_newer_than(since, this);
        let ticks = of.changed_ticks_slice().chunks(CHUNK);
        for ((ticks, entities), values) in ticks.zip(entities.chunks(CHUNK)).zip(of.chunks(CHUNK)) {
            // Without a branch for each.
            if !ticks.iter().fold(false, |any, tick| any | is_newer(tick)) {
                continue;
            }
            for ((tick, entity), value) in ticks.iter().zip(entities).zip(values) {
                if is_newer(tick) {
                    found(*entity, value);
                }
            }
        }
    }
}
