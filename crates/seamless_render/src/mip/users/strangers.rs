//! Says which textures nobody is known to draw. See [`tell_strangers`].

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use bevy_asset::AssetId;
use bevy_ecs::prelude::*;
use bevy_image::Image;
use bevy_log::{debug_span, warn};
use seamless_asset::{StreamingClock, StreamingTime};

use super::follow::MipUsers;
use crate::mip::{MipTextures, plan::MipPlan};

/// How long nobody may be known, in seconds.
const PATIENCE: f64 = 10.0;

/// Images that have come lately.
#[derive(Debug, Default)]
pub(in crate::mip) struct Strangers {
    new: Vec<AssetId<Image>>,
    /// Since when, in seconds; the oldest first.
    waiting: VecDeque<(AssetId<Image>, f64)>,
}

impl Strangers {
    /// The image may have come.
    pub fn note(&mut self, image: AssetId<Image>) {
        self.new.push(image);
    }

    /// Those that came so long ago, if they are strange still.
    fn due(&mut self, now: f64, mut each: impl FnMut(AssetId<Image>)) {
        self.new.sort_unstable();
        self.new.dedup();
        self.waiting.extend(self.new.drain(..).map(|image| (image, now)));
        while let Some((image, _)) = self.waiting.pop_front_if(|(_, since)| now >= *since + PATIENCE) {
            each(image);
        }
    }
}

/// Textures of files whose materials nobody follows stay as coarse as they came, in silence. Those of packages come with their levels, whether these are shown or not.
pub(in crate::mip) fn tell_strangers(
    mut users: ResMut<MipUsers>,
    plan: Res<MipPlan>,
    textures: Res<MipTextures>,
    time: Res<StreamingTime>,
    clock: Res<StreamingClock>,
) {
    let _time = clock.measure("textures that nobody is known to draw");
    let _span = debug_span!("tell_strangers").entered();
    users.strangers.due(time.now().as_secs_f64(), |image| {
        let texture = textures.number(image).filter(|texture| !plan.demands.was_known(*texture));
        if let Some(record) = texture.and_then(|texture| textures.get(texture)).filter(|of| of.is_file()) {
            warn!(
                "`{}` streams, and nobody who draws it is known: if something does, it may go on with the coarse mips that came first. Name its material by `App::add_mip_material`, or the component that draws it by `App::add_mip_drawn`",
                record.path()
            );
        }
    });
}
