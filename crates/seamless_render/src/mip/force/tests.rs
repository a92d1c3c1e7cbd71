use core::time::Duration;

use bevy_asset::{AssetId, uuid::Uuid};
use bevy_ecs::{hierarchy::ChildOf, schedule::Schedule};
use bevy_pbr::StandardMaterial;
use seamless_asset::{InHiddenLevel, StreamingTime};

use super::*;
use crate::mip::{
    MipImage, MipTextures,
    plan::{
        MipPlan, take_forces, take_textures,
        tests::{come, world},
    },
    textures::tests::id,
};

/// A world with textures of 256 texels for images 0 to 3, a material for each, and an entity for each material.
struct Bed {
    world: World,
    schedule: Schedule,
    entities: Vec<Entity>,
}

impl Bed {
    fn new() -> Self {
        let mut world = world();
        let mut entities = vec![];
        for number in 0..4 {
            come(&mut world, number);
            let material: AssetId<StandardMaterial> = AssetId::Uuid {
                uuid: Uuid::from_u128(number.into()),
            };
            let entity = world.spawn_empty().id();
            entities.push(entity);
            world.resource_scope(|world, mut users: Mut<MipUsers>| {
                let MipUsers { materials, seats, .. } = &mut *users;
                seats.most = 9;
                let images = [MipImage::new(id(number))].into_iter().collect();
                materials.note(material.untyped(), images);
                let mut plan = world.resource_mut::<MipPlan>();
                seats.assign(entity, material.untyped(), materials, &mut plan.watch);
            });
        }
        let mut schedule = Schedule::default();
        schedule.add_systems((take_textures, take_forces).chain());
        Self {
            world,
            schedule,
            entities,
        }
    }

    fn force(&mut self, entity: usize, size: MipSize, seconds: Option<f32>) {
        self.world
            .entity_mut(self.entities[entity])
            .insert(MipForce { size, seconds });
    }

    /// What is forced of each image's texture after a frame that takes so many seconds.
    fn forced(&mut self, seconds: u64) -> [Option<u8>; 4] {
        self.world
            .resource_mut::<StreamingTime>()
            .advance(Duration::from_secs(seconds));
        self.schedule.run(&mut self.world);
        self.world.clear_trackers();
        let textures = self.world.resource::<MipTextures>();
        let demands = &self.world.resource::<MipPlan>().demands;
        [0, 1, 2, 3].map(|number| {
            let texture = textures.number(id(number))?;
            let of = demands.textures()[texture as usize].as_ref().expect("it is there");
            of.demand.rule.forced
        })
    }
}

#[test]
fn an_entity_and_all_below_it_are_forced_for_as_long() {
    let mut bed = Bed::new();
    assert_eq!(bed.forced(1), [None; 4]);
    let [parent, child, grandchild] = [0, 1, 2].map(|number| bed.entities[number]);
    bed.world.entity_mut(child).insert(ChildOf(parent));
    bed.world.entity_mut(grandchild).insert(ChildOf(child));
    bed.force(0, MipSize::Full, None);
    assert_eq!(bed.forced(1), [Some(0), Some(0), Some(0), None]);
    bed.force(3, MipSize::Side(100), Some(5.0));
    // 128 texels are 100 at least.
    assert_eq!(bed.forced(0), [Some(0), Some(0), Some(0), Some(1)]);
    bed.world.entity_mut(grandchild).remove::<ChildOf>();
    assert_eq!(bed.forced(4), [Some(0), Some(0), None, Some(1)]);
    assert_eq!(bed.forced(1), [Some(0), Some(0), None, None], "five seconds have gone");
    bed.world.entity_mut(parent).remove::<MipForce>();
    assert_eq!(bed.forced(0), [None; 4]);
    bed.force(3, MipSize::Side(9999), Some(5.0));
    assert_eq!(bed.forced(0)[3], Some(0), "as many as it has");
    bed.world.despawn(bed.entities[3]);
    assert_eq!(bed.forced(0), [None; 4]);
}

#[test]
fn hidden_levels_are_forced() {
    let mut bed = Bed::new();
    bed.world.register_disabling_component::<InHiddenLevel>();
    let [parent, child, grandchild] = [0, 1, 2].map(|number| bed.entities[number]);
    bed.world.entity_mut(child).insert((ChildOf(parent), InHiddenLevel));
    bed.world.entity_mut(parent).insert(InHiddenLevel);
    bed.force(0, MipSize::Full, None);
    assert_eq!(bed.forced(1), [Some(0), Some(0), None, None]);
    bed.world.entity_mut(grandchild).insert((ChildOf(child), InHiddenLevel));
    assert_eq!(bed.forced(1), [Some(0), Some(0), Some(0), None]);
}

#[test]
fn the_finest_force_counts_and_follows_the_material() {
    let mut bed = Bed::new();
    bed.force(0, MipSize::Side(64), None);
    assert_eq!(bed.forced(0)[0], Some(2));
    let (first, second) = (bed.entities[0], bed.entities[1]);
    bed.world.entity_mut(first).insert(ChildOf(second));
    bed.force(1, MipSize::Side(128), None);
    assert_eq!(bed.forced(0), [Some(1), Some(1), None, None]);
    // The first entity's material is the third's now.
    let material: AssetId<StandardMaterial> = AssetId::Uuid {
        uuid: Uuid::from_u128(2),
    };
    bed.world.resource_scope(|world, mut users: Mut<MipUsers>| {
        let MipUsers { materials, seats, .. } = &mut *users;
        let mut plan = world.resource_mut::<MipPlan>();
        seats.assign(first, material.untyped(), materials, &mut plan.watch);
    });
    assert_eq!(bed.forced(0), [None, Some(1), Some(1), None]);
}
