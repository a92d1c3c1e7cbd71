//! Textures are cooked on threads of their own, while levels load. See [`TextureStep`].

use core::num::NonZeroUsize;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

use async_channel::{Receiver, Sender, unbounded};
use bevy::asset::UntypedHandle;
use bevy::prelude::*;
use bevy::reflect::TypeRegistry;
use seamless_asset::assets::ImageCodec;
use seamless_asset::codec::{AssetCodec, EncodeContext, EntityRows};
use seamless_package::{Codec, Schema};

use crate::app::{CookOptions, Profile};
use crate::assets::{AssetKey, ByKey, MeasuredObject, RawObject};
use crate::texture::{CpuEncoder, Quality, TextureEncoder, TextureReport, TextureSettings, TextureUse, cook_texture};

/// Bytes of source images that wait or are worked on, at most; a larger one comes alone.
const MOST_BYTES: usize = 512 << 20;

/// What is done to textures; nothing if the profile changes no data.
pub(crate) fn settings(options: &CookOptions) -> Option<TextureSettings> {
    let quality = match options.profile {
        Profile::Exact => return None,
        Profile::Dev => Quality::Fast,
        Profile::Ship => Quality::Best,
    };
    Some(TextureSettings {
        quality,
        target: options.target.formats,
        ..TextureSettings::default()
    })
}

/// The compressor of textures.
pub(crate) const ENCODER: &dyn TextureEncoder = &CpuEncoder;

/// A texture to cook.
struct Job {
    key: AssetKey,
    image: Image,
    usage: TextureUse,
    schema: Arc<Schema>,
}

impl Job {
    fn bytes(&self) -> usize {
        self.image.data.as_ref().map_or(0, Vec::len)
    }
}

/// A texture as bytes.
pub(crate) struct CookedTexture {
    pub key: AssetKey,
    pub usage: TextureUse,
    pub report: Option<TextureReport>,
    pub encoded: Result<MeasuredObject, String>,
    pub is_marked: bool,
    /// How long it took.
    pub seconds: f64,
}

/// The threads of a cook, as far as they are taken.
struct Crew {
    all: usize,
    busy: AtomicUsize,
}

impl Crew {
    fn new(all: usize) -> Self {
        Self {
            all: all.max(1),
            busy: AtomicUsize::new(0),
        }
    }

    /// Takes threads for a texture: one, or all that are free where no other texture waits for them.
    fn take(&self, is_last: bool) -> NonZeroUsize {
        let wanted = |busy: usize| {
            if is_last {
                self.all.saturating_sub(busy).max(1)
            } else {
                1
            }
        };
        let busy = self
            .busy
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |busy| Some(busy + wanted(busy)));
        let (Ok(busy) | Err(busy)) = busy;
        NonZeroUsize::new(wanted(busy)).unwrap_or(NonZeroUsize::MIN)
    }

    fn give_back(&self, threads: NonZeroUsize) {
        self.busy.fetch_sub(threads.get(), Ordering::Relaxed);
    }
}

/// The textures of a cook: which are used for what, which are on their way.
pub(crate) struct TextureStep {
    settings: TextureSettings,
    codec: Codec,
    threads: Vec<JoinHandle<()>>,
    crew: Arc<Crew>,
    jobs: (Sender<Job>, Receiver<Job>),
    done: (Sender<(usize, CookedTexture)>, Receiver<(usize, CookedTexture)>),
    bytes: usize,
    /// What materials, as far as they are known, use each for.
    pub uses: ByKey<TextureUse>,
    /// Seen in the level at hand.
    waiting: Vec<(AssetKey, UntypedHandle)>,
    /// Of images.
    schema: Option<Arc<Schema>>,
    /// Those, and the ones that threads have.
    pending: BTreeSet<AssetKey>,
}

impl TextureStep {
    /// Works on so many threads, for packages whose data is stored with `codec`.
    pub fn new(settings: TextureSettings, codec: Codec, threads: usize) -> Self {
        Self {
            settings,
            codec,
            threads: Vec::new(),
            crew: Arc::new(Crew::new(threads)),
            jobs: unbounded(),
            done: unbounded(),
            bytes: 0,
            uses: ByKey::default(),
            waiting: Vec::new(),
            schema: None,
            pending: BTreeSet::new(),
        }
    }

    /// A material uses a texture.
    pub fn note_use(&mut self, key: AssetKey, usage: TextureUse) {
        let known = self.uses.entry(key).or_insert(usage);
        *known = known.join(usage);
    }

    /// What a texture is used for.
    pub fn usage(&self, key: &AssetKey) -> TextureUse {
        self.uses.get(key).copied().unwrap_or(TextureUse::Unknown)
    }

    /// Whether it is on its way.
    pub fn is_pending(&self, key: &AssetKey) -> bool {
        self.pending.contains(key)
    }

    /// Lets a texture wait until all materials of its level are known.
    pub fn add(&mut self, key: AssetKey, handle: UntypedHandle, schema: impl FnOnce() -> Arc<Schema>) {
        self.schema.get_or_insert_with(schema);
        self.pending.insert(key.clone());
        self.waiting.push((key, handle));
    }

    /// Hands what waits to the threads; gives what is done meanwhile.
    pub fn start(&mut self, world: &World) -> Vec<CookedTexture> {
        let mut done = Vec::new();
        let images = world.resource::<Assets<Image>>();
        for (key, handle) in core::mem::take(&mut self.waiting) {
            let image = handle.try_typed::<Image>().ok().and_then(|handle| images.get(&handle));
            let Some((image, schema)) = image.zip(self.schema.clone()) else {
                self.pending.remove(&key);
                continue;
            };
            let usage = self.usage(&key);
            let job = Job {
                key,
                image: image.clone(),
                usage,
                schema,
            };
            while self.bytes > 0 && self.bytes + job.bytes() > MOST_BYTES {
                done.extend(self.next());
            }
            self.bytes += job.bytes();
            self.push(job);
        }
        while let Ok(texture) = self.done.1.try_recv() {
            done.push(self.take(texture));
        }
        done
    }

    /// Waits for all that were started.
    pub fn finish(&mut self) -> Vec<CookedTexture> {
        let mut done = Vec::new();
        while !self.pending.is_empty() {
            match self.next() {
                Some(texture) => done.push(texture),
                None => break,
            }
        }
        done
    }

    fn next(&mut self) -> Option<CookedTexture> {
        let texture = self.done.1.recv_blocking().ok()?;
        Some(self.take(texture))
    }

    fn take(&mut self, (bytes, texture): (usize, CookedTexture)) -> CookedTexture {
        self.bytes -= bytes;
        self.pending.remove(&texture.key);
        texture
    }

    fn push(&mut self, job: Job) {
        // The other end lives as long as this one.
        let _ = self.jobs.0.send_blocking(job);
        if self.threads.len() < self.crew.all.min(self.jobs.0.len().max(1)) {
            let (jobs, done, crew) = (self.jobs.1.clone(), self.done.0.clone(), self.crew.clone());
            let (settings, codec) = (self.settings, self.codec);
            let work = move || work(&jobs, &done, &crew, &settings, codec);
            self.threads.push(std::thread::spawn(work));
        }
    }
}

impl Drop for TextureStep {
    fn drop(&mut self) {
        self.jobs.0.close();
        // What nobody has begun is not begun any more.
        while self.jobs.1.try_recv().is_ok() {}
        for thread in self.threads.drain(..) {
            // One that panicked has said so.
            let _ = thread.join();
        }
    }
}

fn work(
    jobs: &Receiver<Job>,
    done: &Sender<(usize, CookedTexture)>,
    crew: &Crew,
    settings: &TextureSettings,
    codec: Codec,
) {
    while let Ok(job) = jobs.recv_blocking() {
        let bytes = job.bytes();
        let threads = crew.take(jobs.is_empty());
        let texture = cook(&job, settings, codec, threads);
        crew.give_back(threads);
        // The receiver is gone when the cook has failed.
        if done.send_blocking((bytes, texture)).is_err() {
            return;
        }
    }
}

fn cook(job: &Job, settings: &TextureSettings, codec: Codec, threads: NonZeroUsize) -> CookedTexture {
    let start = Instant::now();
    // A fault of the compressor is an error about one texture, and does not leave everybody waiting.
    let cooked = catch_unwind(AssertUnwindSafe(|| {
        let cooked = cook_texture(&job.image, job.usage, settings, ENCODER, threads);
        let encoded = encode(&cooked.image, &job.schema);
        let is_marked = encoded.as_ref().is_ok_and(|(_, is_marked)| *is_marked);
        let measured = encoded.map(|(object, _)| MeasuredObject::of(object, codec, ImageCodec::BULK));
        (measured, is_marked, cooked.report)
    }));
    let (encoded, is_marked, report) = match cooked {
        Ok((measured, is_marked, report)) => (measured, is_marked, Some(report)),
        Err(_) => (
            Err("the texture compressor has failed; turn it off for this texture".into()),
            false,
            None,
        ),
    };
    CookedTexture {
        key: job.key.clone(),
        usage: job.usage,
        report,
        encoded,
        is_marked,
        seconds: start.elapsed().as_secs_f64(),
    }
}

/// An image as bytes, and whether it is marked.
fn encode(image: &Image, schema: &Arc<Schema>) -> Result<(RawObject, bool), String> {
    let (registry, rows) = (TypeRegistry::empty(), EntityRows::default());
    let mut context = EncodeContext::new(&registry, &rows);
    let encoded = ImageCodec::encode(image, &mut context).map_err(|error| error.to_string())?;
    let is_marked = ImageCodec::marks(image, &encoded);
    let object = RawObject {
        schema: schema.clone(),
        data: encoded.data,
        bulk: encoded.bulk,
    };
    Ok((object, is_marked))
}

#[cfg(test)]
mod tests;
