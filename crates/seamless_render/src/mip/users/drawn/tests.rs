use bevy_asset::uuid::Uuid;
use bevy_camera::visibility::SetViewVisibility;
use bevy_ecs::schedule::Schedule;

use super::*;

/// Draws images.
#[derive(Component, Default)]
struct Icon(Vec<u32>);

/// Draws one.
#[derive(Component)]
struct Cursor(u32);

/// A world in which images 0 to 4 stream, as textures of the same numbers.
struct Bed {
    world: World,
    schedule: Schedule,
    streams: u32,
}

fn id(number: u32) -> AssetId<Image> {
    AssetId::Uuid {
        uuid: Uuid::from_u128(number.into()),
    }
}

impl Bed {
    fn new() -> Self {
        let mut world = World::new();
        world.register_disabling_component::<InHiddenLevel>();
        world.init_resource::<MipUsers>();
        world.init_resource::<StreamingClock>();
        world.insert_resource(ImagesBy::<Icon> {
            images: |icon, images| icon.0.iter().for_each(|number| images(id(*number))),
            number: 0,
        });
        world.insert_resource(ImagesBy::<Cursor> {
            images: |cursor, images| images(id(cursor.0)),
            number: 1,
        });
        let mut schedule = Schedule::default();
        schedule.add_systems((note_drawn::<Icon>, note_drawn::<Cursor>).chain());
        Self {
            world,
            schedule,
            streams: 5,
        }
    }

    /// What is told in a frame, by texture; of each the last.
    fn told(&mut self) -> Vec<(u32, Shown)> {
        self.schedule.run(&mut self.world);
        let streams = self.streams;
        let number = |image| (0..streams).find(|number| id(*number) == image);
        let mut told = std::collections::BTreeMap::new();
        let mut users = self.world.resource_mut::<MipUsers>();
        users.drawn.link(number, |texture, shown| {
            told.insert(texture, shown);
        });
        self.world.clear_trackers();
        told.into_iter().collect()
    }

    fn drawn(&mut self) -> Mut<'_, DrawnImages> {
        self.world
            .resource_mut::<MipUsers>()
            .map_unchanged(|users| &mut users.drawn)
    }
}

#[test]
fn who_is_culled_is_seen_within_a_view() {
    let mut bed = Bed::new();
    let seen = (VisibilityClass::default(), InheritedVisibility::VISIBLE);
    let entity = bed
        .world
        .spawn((Icon(vec![1, 2, 1]), seen, ViewVisibility::HIDDEN))
        .id();
    assert_eq!(bed.told(), [(1, Shown::Hidden), (2, Shown::Hidden)]);
    assert_eq!(bed.told(), [], "nothing has changed");
    let mut view = bed.world.get_mut::<ViewVisibility>(entity).unwrap();
    view.set_visible();
    assert_eq!(bed.told(), [(1, Shown::Seen), (2, Shown::Seen)]);
    bed.world.get_mut::<Icon>(entity).unwrap().0 = vec![2, 3];
    assert_eq!(bed.told(), [(1, Shown::Never), (2, Shown::Seen), (3, Shown::Seen)]);
    bed.world.entity_mut(entity).remove::<Icon>();
    assert_eq!(bed.told(), [(2, Shown::Never), (3, Shown::Never)]);
    assert!(bed.drawn().images.is_empty() && bed.drawn().of.is_empty());
}

#[test]
fn who_is_not_culled_is_seen_unless_it_is_hidden() {
    let mut bed = Bed::new();
    let bundle = |of: u32| (Icon(vec![of]), InheritedVisibility::VISIBLE, ViewVisibility::HIDDEN);
    let [one, two] = [1, 1].map(|of| bed.world.spawn(bundle(of)).id());
    assert_eq!(bed.told(), [(1, Shown::Seen)]);
    bed.world.entity_mut(one).insert(InheritedVisibility::HIDDEN);
    assert_eq!(bed.told(), [(1, Shown::Seen)], "the other is seen");
    bed.world.entity_mut(two).despawn();
    assert_eq!(bed.told(), [(1, Shown::Hidden)]);
}

#[test]
fn an_entity_may_draw_by_several_components() {
    let mut bed = Bed::new();
    let entity = bed
        .world
        .spawn((Icon(vec![1]), Cursor(2), InheritedVisibility::VISIBLE))
        .id();
    assert_eq!(bed.told(), [(1, Shown::Seen), (2, Shown::Seen)]);
    let textures: Vec<u32> = bed.drawn().textures(entity).collect();
    assert_eq!(textures, [1, 2]);
    bed.world.entity_mut(entity).remove::<Icon>();
    assert_eq!(bed.told(), [(1, Shown::Never)]);
    assert_eq!(bed.drawn().textures(entity).collect::<Vec<_>>(), [2]);
}

#[test]
fn an_image_may_stream_later() {
    let mut bed = Bed::new();
    let entity = bed.world.spawn((Cursor(7), InheritedVisibility::VISIBLE)).id();
    assert_eq!(bed.told(), []);
    bed.streams = 9;
    bed.drawn().image_changed(id(7));
    bed.drawn().image_changed(id(8));
    let version = bed.drawn().version;
    assert_eq!(bed.told(), [(7, Shown::Seen)]);
    assert_eq!(bed.drawn().textures(entity).collect::<Vec<_>>(), [7]);
    assert!(bed.drawn().version > version);
}

#[test]
fn levels_that_are_hidden_are_not_seen() {
    let mut bed = Bed::new();
    let entity = bed.world.spawn((Cursor(1), InheritedVisibility::VISIBLE)).id();
    let unborn = (Cursor(2), InheritedVisibility::VISIBLE, InHiddenLevel);
    bed.world.spawn(unborn);
    assert_eq!(bed.told(), [(1, Shown::Seen), (2, Shown::Hidden)]);
    bed.world.entity_mut(entity).insert(InHiddenLevel);
    bed.drawn().hide(&[entity, Entity::PLACEHOLDER]);
    assert_eq!(bed.told(), [(1, Shown::Hidden)]);
    bed.world.entity_mut(entity).remove::<InHiddenLevel>();
    bed.drawn().show(&[entity, Entity::PLACEHOLDER]);
    assert_eq!(bed.told(), [(1, Shown::Seen)]);
}
