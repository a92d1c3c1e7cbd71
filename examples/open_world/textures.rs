//! What the flight asks of textures: it is flown once more with mip streaming that plans for a picture which nobody draws.

use std::time::Duration;

use bevy::{camera::RenderTarget, ecs::system::RunSystemOnce, prelude::*};
use bevy_seamless::{
    asset::StreamingTime,
    prelude::*,
    render::mip::{MipPlugin, MipSettings, MipStats, MipTextures, Mips},
};
use seamless_examples::report::MipLog;

use crate::{
    args::Args,
    flight::{Flyer, Path, RATE},
    headless::{frames_to_fly, start, update_until_settled, wait_until_settled},
    prepare::PreparedWorld,
};

/// The picture that is meant, in pixels.
const PICTURE: UVec2 = UVec2::new(1920, 1080);
/// The worst offenders of a frame that are noted by name.
const WORST: usize = 8;

/// The frames of the flight, as fast as they go: each waits for its levels, since how late they are is seen in the flight itself.
pub fn fly(args: &Args, world: &PreparedWorld) -> Result<MipLog, String> {
    let mut app = start(args, world, false, |app| {
        app.add_plugins(MipPlugin {
            rehearses: true,
            ..MipPlugin::default()
        });
        // Its time goes by the flight's frames, not by a clock.
        app.insert_resource(StreamingTime::stopped());
    })?;
    app.world_mut().resource_mut::<StreamingSettings>().budget = Duration::from_millis(200);
    let pose = app.world().resource::<Path>().pose(0);
    app.world_mut().spawn((
        Flyer,
        StreamingSource::default(),
        Camera3d::default(),
        RenderTarget::None { size: PICTURE },
        Transform::from_translation(pose.position),
    ));
    let pool = app.world().resource::<MipSettings>().pool;
    let mut log = MipLog::new(f64::from(RATE), pool);
    wait_until_settled(&mut app)?;
    for frame in 0..frames_to_fly(args, &app) {
        app.world_mut().resource_mut::<Path>().frame = frame;
        let mut time = app.world_mut().resource_mut::<StreamingTime>();
        time.advance(Duration::from_secs_f32(1.0 / RATE));
        if frame > 0 && app.world().resource::<Path>().pose(frame).teleported {
            log.jump();
        }
        update_until_settled(&mut app)?;
        let noted = app.world_mut().run_system_once_with(note, &mut log);
        noted.map_err(|error| error.to_string())?;
    }
    Ok(log)
}

fn note(InMut(log): InMut<MipLog>, mips: Mips, textures: Res<MipTextures>, stats: Res<MipStats>) {
    let whole: u64 = textures.iter().map(|(.., record)| record.chain().bytes(0)).sum();
    log.full = log.full.max(whole + stats.not_streamed);
    let path = |image| Some(textures.get(textures.number(image)?)?.path().to_owned());
    let worst = mips.worst(WORST).into_iter();
    let coarse = worst.filter_map(|of| Some((path(of.image)?, of.top - of.wanted)));
    log.note(&stats, coarse);
}
