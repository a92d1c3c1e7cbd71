//! Without a renderer, mip streaming decides what it decides with one.

use std::{path::Path, thread, time::Duration};

use bevy::{camera::RenderTarget, ecs::system::RunSystemOnce, prelude::*};
use bevy_seamless::render::mip::{MipPlugin, MipPool, MipSettings, Mips};
use seamless_tests::{
    app::headless_with,
    picture::{SIDE, close_up, has_driver},
};

use super::{
    hall::{FLOOR, Hall, add_plugins, before, hang, paint, tops},
    stage::QUIET,
};

/// The hall, without anybody who draws it.
struct Rehearsal {
    app: App,
    textures: Vec<u32>,
    camera: Entity,
}

impl Rehearsal {
    fn new(dir: &Path, settings: MipSettings, projection: Projection) -> Self {
        let mut app = headless_with(dir, |app| {
            let mips = MipPlugin {
                settings,
                rehearses: true,
                ..MipPlugin::default()
            };
            add_plugins(app, mips);
        });
        let size = UVec2::splat(SIDE);
        let camera = (Camera3d::default(), RenderTarget::None { size }, projection);
        let camera = app.world_mut().spawn((camera, before(0, 1000.0))).id();
        let (textures, _) = hang(&mut app);
        Self { app, textures, camera }
    }

    fn look(&mut self, painting: usize, away: f32) {
        let place = before(painting, away);
        self.app.world_mut().entity_mut(self.camera).insert(place);
    }

    fn settle(&mut self) {
        let mut quiet = 0;
        for _ in 0..20_000 {
            thread::sleep(Duration::from_millis(1));
            self.app.update();
            let is_settled = self.app.world_mut().run_system_once(|mips: Mips| mips.is_settled());
            quiet = if is_settled.expect("it runs") { quiet + 1 } else { 0 };
            if quiet == QUIET {
                return;
            }
        }
        panic!("it does not settle: {:?}", tops(self.app.world(), &self.textures));
    }
}

fn total(app: &App) -> u64 {
    app.world().resource::<MipPool>().ledger.sums().total()
}

#[test]
fn who_rehearses_decides_as_one_who_draws() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let settings = MipSettings {
        cached: 0.0,
        ..MipSettings::default()
    };
    let mut hall = Hall::new(dir.path(), settings.clone());
    let projection = hall.app.world().get::<Projection>(hall.camera).expect("it has one");
    let mut rehearsal = Rehearsal::new(dir.path(), settings, projection.clone());
    let mut seen = Vec::new();
    for (painting, away) in [(0, 2.0), (3, 0.3), (1, 40.0), (2, 5.0)] {
        hall.look(painting, away);
        hall.settle();
        rehearsal.look(painting, away);
        rehearsal.settle();
        let (drawn, rehearsed) = (hall.tops(), tops(rehearsal.app.world(), &rehearsal.textures));
        assert_eq!(drawn, rehearsed, "painting {painting} from {away} m");
        assert_eq!(
            total(&hall.app),
            total(&rehearsal.app),
            "painting {painting} from {away} m"
        );
        seen.extend(drawn);
    }
    // It is no test of tails alone.
    seen.sort_unstable();
    seen.dedup();
    assert!(seen.len() > 2 && seen.last() == Some(&FLOOR), "{seen:?}");
}

/// Where there is no driver at all, too.
#[test]
fn what_goes_is_taken_out_of_the_books_of_who_rehearses() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    paint(dir.path());
    let settings = MipSettings {
        cached: 0.0,
        ..MipSettings::default()
    };
    let mut rehearsal = Rehearsal::new(dir.path(), settings, close_up());
    rehearsal.look(0, 2.0);
    rehearsal.settle();
    // A metre has 154 pixels there, and 1 024 texels.
    assert_eq!(
        tops(rehearsal.app.world(), &rehearsal.textures),
        [2, FLOOR, FLOOR, FLOOR]
    );
    let world = rehearsal.app.world_mut();
    for (_, material) in world.resource_mut::<Assets<StandardMaterial>>().iter_mut() {
        material.base_color_texture = None;
    }
    rehearsal.settle();
    let world = rehearsal.app.world();
    let ledger = &world.resource::<MipPool>().ledger;
    let is_left = |texture: &u32| ledger.get(*texture).is_some();
    assert_eq!(
        rehearsal.textures.iter().map(is_left).collect::<Vec<_>>(),
        [false, true, false, true],
        "half of them have a material of the game's"
    );
    assert_eq!(ledger.retiring(), 0);
}
