//! From the tasks that load files to the books of mip streaming. See [`Arrivals`].

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bevy_asset::{AssetEvent, AssetPath, AssetServer, Assets};
use bevy_ecs::{message::MessageReader, prelude::*};
use bevy_image::Image;
use bevy_log::debug_span;
use seamless_asset::StreamingClock;

use crate::mip::{
    MipPool, MipTextures, MipWork, NotStreamed,
    textures::{Comer, MipRecord, is_stand_in},
};

/// So many wait without a look at whether their images will ever come.
const WAITING: usize = 64;

/// Images that loaders have made, and that are not in `Assets` yet.
///
/// A loader does not know the id that its image will have. So the image of a texture that streams has a number for its pixels until it is there, and
/// one that is whole is known by its path.
#[derive(Resource, Clone, Default)]
pub(in crate::mip) struct Arrivals(Arc<Mutex<Waiting>>);

#[derive(Default)]
pub(super) struct Waiting {
    last: u64,
    pub streams: Vec<Stream>,
    pub wholes: Vec<Whole>,
}

pub(super) struct Stream {
    number: u64,
    path: AssetPath<'static>,
    pub comer: Comer,
}

pub(super) struct Whole {
    path: AssetPath<'static>,
    pub why: NotStreamed,
    bytes: u64,
}

impl Arrivals {
    /// A texture of which only the tail has come is on its way; the image that stands for it.
    pub fn stands_in(&self, comer: Comer, path: &AssetPath<'static>) -> Image {
        let mut waiting = self.lock();
        waiting.last += 1;
        let (number, path) = (waiting.last, path.clone());
        let image = Image {
            data: Some(number.to_le_bytes().to_vec()),
            ..MipRecord::stand_in(comer.image())
        };
        waiting.streams.push(Stream { number, path, comer });
        image
    }

    /// An image is on its way that does not stream.
    pub fn is_whole(&self, image: Image, why: NotStreamed, path: &AssetPath<'static>) -> Image {
        let path = path.clone();
        let bytes = image.data.as_ref().map_or(0, Vec::len) as u64;
        self.lock().wholes.push(Whole { path, why, bytes });
        image
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The number of an image that a loader has made, if it is one.
fn number_of(image: &Image) -> Option<u64> {
    let number = image.data.as_deref().filter(|_| is_stand_in(image))?;
    Some(u64::from_le_bytes(number.try_into().ok()?))
}

/// Takes in what has come into `Assets`.
pub(in crate::mip) fn admit_files(
    mut events: MessageReader<AssetEvent<Image>>,
    arrivals: Res<Arrivals>,
    server: Res<AssetServer>,
    mut images: ResMut<Assets<Image>>,
    mut work: ResMut<MipWork>,
    mut textures: ResMut<MipTextures>,
    mut pool: ResMut<MipPool>,
    clock: Res<StreamingClock>,
) {
    let _time = clock.measure("textures that came from files");
    let _span = debug_span!("admit_files").entered();
    let mut waiting = arrivals.lock();
    if waiting.streams.is_empty() && waiting.wholes.is_empty() {
        events.clear();
        return;
    }
    for event in events.read() {
        let (AssetEvent::Added { id } | AssetEvent::Modified { id }) = *event else {
            continue;
        };
        let Some(image) = images.get(id) else { continue };
        if let Some(number) = number_of(image) {
            let place = waiting.streams.iter().position(|stream| stream.number == number);
            let Some(stream) = place.map(|place| waiting.streams.swap_remove(place)) else {
                continue;
            };
            // Nobody else has to know.
            if let Some(image) = images.bypass_change_detection().get_mut_untracked(id) {
                image.data = None;
            }
            stream.comer.admit(id, &mut work, &mut textures, &mut pool.ledger);
        } else if let Some(path) = server.get_path(id) {
            let place = waiting.wholes.iter().position(|whole| is_of(&whole.path, &path));
            if let Some(whole) = place.map(|place| waiting.wholes.swap_remove(place)) {
                work.is_whole(id, whole.why, whole.bytes, &mut textures, &mut pool.ledger);
            }
        }
    }
    forget_lost(&mut waiting, &server);
}

/// Whether an image is that of a file: the file itself, or the image of a [`StreamedImage`](super::StreamedImage).
fn is_of(file: &AssetPath, image: &AssetPath) -> bool {
    image.source() == file.source() && image.path() == file.path() && matches!(image.label(), None | Some("Image"))
}

/// Where many wait, those go whose loads have ended without an image.
fn forget_lost(waiting: &mut Waiting, server: &AssetServer) {
    let is_alive = |path: &AssetPath<'static>| !server.get_path_ids(path).is_empty();
    if waiting.streams.len() > WAITING {
        waiting.streams.retain(|stream| is_alive(&stream.path));
    }
    if waiting.wholes.len() > WAITING {
        waiting.wholes.retain(|whole| is_alive(&whole.path));
    }
}
