//! What is being done about textures: what is read, and what the renderer is to do. See [`MipWork`] and [`MipPool`].

#[cfg(test)]
mod tests;
mod waiting;

use core::time::Duration;
use std::sync::Arc;

use bevy_asset::AssetId;
use bevy_ecs::{prelude::*, world::Mut};
use bevy_image::{Image, ImageSampler};
use bevy_log::debug_span;
use bevy_platform::collections::HashMap;
use seamless_asset::{StreamingClock, StreamingTime};

use super::{
    ChangeId, MipLedger, MipRead, MipSettings, MipSwap, NotStreamed,
    plan::MipPlan,
    source::{MipReads, Staged, WholeReads},
    textures::{MipParts, MipRecord, MipTextures},
};
pub(super) use waiting::Waiting;

/// How often refusals are counted: what is refused in less than this is refused for one reason.
const COUNTED_EACH: Duration = Duration::from_secs(1);
/// After so long without a refusal one is taken back.
const QUIET: Duration = Duration::from_secs(10);

/// The books of all textures that stream: what is resident, and what is on its way. Numbers are those of [`MipTextures`].
///
/// `plan` writes into it what it decides, by way of [`schedule`](super::schedule()); what comes of that is written by the systems of
/// [`MipSystems::Hear`](super::MipSystems::Hear), and of what cannot be read in [`MipSystems::Follow`](super::MipSystems::Follow).
#[derive(Resource, Default)]
pub struct MipPool {
    /// The books.
    pub ledger: MipLedger,
    /// How often the GPU had no memory for a texture, less what was taken back.
    refusals: u32,
    counted_at: Option<Duration>,
    /// Since when nothing was refused, nor taken back.
    quiet_since: Duration,
}

impl MipPool {
    /// What may be used of a pool of so many bytes: a tenth less for each second in which the GPU had no memory for a texture, and that again for each ten
    /// seconds in which it had.
    #[must_use]
    pub fn usable(&self, pool: u64) -> u64 {
        (0..self.refusals.min(64)).fold(pool, |pool, _| pool - pool / 10)
    }

    /// The GPU had no memory.
    pub(super) fn refused(&mut self, now: Duration) {
        self.quiet_since = now;
        if self.counted_at.is_none_or(|at| now >= at + COUNTED_EACH) {
            self.refusals = self.refusals.saturating_add(1);
            self.counted_at = Some(now);
        }
    }

    /// Takes a refusal back, if it has been quiet for long enough: others may have let go of memory.
    pub(super) fn recover(&mut self, now: Duration) {
        if self.refusals > 0 && now >= self.quiet_since + QUIET {
            self.refusals -= 1;
            self.quiet_since = now;
        }
    }

    /// The pool is another: what the GPU refused is tried again.
    pub fn forget_refusals(&mut self) {
        self.refusals = 0;
    }
}

/// A texture that is replaced by one with other mips, in this frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MipCommand {
    /// Its number.
    pub texture: u32,
    /// Its image: materials that use it are prepared again in the same frame.
    pub id: AssetId<Image>,
    /// Which change of it this is.
    pub change: ChangeId,
    /// The top that it has.
    pub from: u8,
    /// The top that it will have.
    pub to: u8,
}

/// What the render world is told of a texture, in the order in which it happens.
#[derive(Debug)]
pub(super) enum MipOrder {
    /// It has come, and is to be drawn with its tail from this frame on.
    Come(AssetId<Image>, Arc<MipRecord>),
    /// It has gone; what is left of it goes by this number.
    Gone(AssetId<Image>, ChangeId),
    /// It is sampled in another way from this frame on.
    Resample(AssetId<Image>, Arc<MipRecord>),
    /// It is to have other mips; those that are new, if any, are in a buffer.
    Swap(MipCommand, Option<Staged>),
}

/// What was decided, and is carried out: `plan` hands over what [`schedule`](super::schedule()) wrote, and takes what is [ready](Self::take_ready) for the next time.
///
/// 1. [`read`](Self::read): the mips are read from their package, and put into a buffer, on tasks;
/// 2. [`take_ready`](Self::take_ready) gives the change back when all of that is done;
/// 3. [`swap`](Self::swap): in the next frame's [`MipSystems::Send`](super::MipSystems::Send) it becomes one of the [commands](Self::commands) that the renderer carries out in that very
///    frame. The materials that use the image must be prepared again in that frame, by
///    [`MipSystems::Touch`](super::MipSystems::Touch).
#[derive(Resource, Default)]
pub struct MipWork {
    pub(super) reads: MipReads,
    pub(super) wholes: WholeReads,
    /// Textures whose tails the pool has no room for yet.
    pub(super) waiting: Waiting<AssetId<Image>, Arc<MipRecord>>,
    staged: HashMap<ChangeId, Staged>,
    ready: Vec<(u32, ChangeId)>,
    swaps: Vec<MipSwap>,
    commands: Vec<MipCommand>,
    /// Images in whose place others have come: before the last call of [`send`](Self::send), and since.
    anew: Vec<AssetId<Image>>,
    coming_anew: Vec<AssetId<Image>>,
    orders: Vec<MipOrder>,
}

impl MipWork {
    /// Nothing to be done, and a pool of which so many bytes may be used.
    pub(super) fn of_pool(usable: u64) -> Self {
        let mut work = Self::default();
        work.waiting.set_usable(usable);
        work
    }

    /// Has mips read, larger priorities first; see [`BulkRequest::priority`](seamless_asset::BulkRequest::priority).
    pub fn read(&mut self, read: &MipRead, priority: f32) {
        self.reads.ask(read.clone(), priority);
    }

    /// A change that was not sent is not wanted any more: its read ends, and its buffer goes.
    pub fn cancel(&mut self, texture: u32, change: ChangeId) {
        self.reads.cancel(change);
        if let Some(staged) = self.staged.remove(&change) {
            staged.let_go();
        }
        self.ready.retain(|ready| *ready != (texture, change));
        self.swaps.retain(|swap| swap.id != change);
    }

    /// Has a texture replaced, in the next frame.
    pub fn swap(&mut self, swap: &MipSwap) {
        self.swaps.push(*swap);
    }

    /// Moves the changes whose mips have come since the last call to the end of `out`.
    pub fn take_ready(&mut self, out: &mut Vec<(u32, ChangeId)>) {
        out.append(&mut self.ready);
    }

    /// What the renderer does in this frame; from [`MipSystems::Send`](super::MipSystems::Send) on, until that of the next frame.
    #[must_use]
    pub fn commands(&self) -> &[MipCommand] {
        &self.commands
    }

    /// Images whose materials are prepared again in this frame: those of [commands](Self::commands), and others that came in the place of what was drawn.
    pub(super) fn renewed(&self) -> impl Iterator<Item = AssetId<Image>> {
        let replaced = self.commands.iter().map(|command| command.id);
        let mended = self.wholes.mended().iter();
        replaced.chain(mended.chain(&self.anew).copied())
    }

    /// The image is drawn by another texture from now on.
    pub(super) fn renew(&mut self, id: AssetId<Image>) {
        self.coming_anew.push(id);
    }

    /// The image has this sampler now: its materials follow in the next frame, if it had another one.
    pub(super) fn resample(&mut self, id: AssetId<Image>, sampler: &ImageSampler, textures: &mut MipTextures) {
        let Some(texture) = textures.number(id) else { return };
        if let Some(record) = textures.resample(texture, sampler) {
            self.orders.push(MipOrder::Resample(id, record.clone()));
            self.renew(id);
        }
    }

    /// Whether nothing is read, nothing waits for room or to be swapped, and the renderer has been told everything.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.reads.is_idle()
            && self.wholes.is_idle()
            && self.waiting.is_empty()
            && self.staged.is_empty()
            && self.swaps.is_empty()
            && self.orders.is_empty()
    }

    /// All of mip streaming's books at once; nothing where they are not.
    pub(super) fn scope(world: &mut World, run: impl FnOnce(&mut Self, &mut MipTextures, &mut MipLedger)) {
        world.try_resource_scope(|world, mut work: Mut<Self>| {
            world.try_resource_scope(|world, mut textures: Mut<MipTextures>| {
                if let Some(mut pool) = world.get_resource_mut::<MipPool>() {
                    run(&mut work, &mut textures, &mut pool.ledger);
                }
            });
        });
    }

    /// A texture has come, and is drawn from its floor on as soon as the pool has room for that. What it takes the place of stays until then.
    pub(super) fn come(
        &mut self,
        id: AssetId<Image>,
        record: Arc<MipRecord>,
        textures: &mut MipTextures,
        ledger: &mut MipLedger,
    ) {
        let is_new = textures.number(id).is_none() && !self.waiting.has(id);
        if is_new && textures.is_full_with(self.waiting.len()) {
            return self.come_whole(id, NotStreamed::TooMany, record.parts().clone(), textures, ledger);
        }
        let bytes = record.chain().bytes(record.chain().floor());
        self.wholes.stop(id);
        self.waiting.remove(id);
        if self.waiting.may_pass(bytes, ledger.sums().total()) {
            self.enter(id, record, textures, ledger);
        } else {
            self.waiting.push(id, record, bytes);
        }
        self.expect(ledger);
    }

    /// There is room for the texture.
    fn enter(
        &mut self,
        id: AssetId<Image>,
        record: Arc<MipRecord>,
        textures: &mut MipTextures,
        ledger: &mut MipLedger,
    ) {
        self.replace(id, textures, ledger);
        let texture = textures.insert(id, record.clone());
        ledger.insert(texture, record.chain(), record.chain().floor());
        self.orders.push(MipOrder::Come(id, record));
    }

    /// Lets in who waits and has room now, of a pool of which so many bytes may be used. `is_stuck`: what is there becomes no less.
    fn admit(
        &mut self,
        usable: u64,
        is_stuck: bool,
        now: Duration,
        textures: &mut MipTextures,
        ledger: &mut MipLedger,
    ) {
        self.waiting.set_usable(usable);
        let is_waiting = !self.waiting.is_empty() || self.wholes.is_held();
        if self.waiting.begin(is_waiting, is_stuck, now) && !is_stuck {
            bevy_log::warn!(
                "the GPU lets go of too little for the textures that have come, so there are more than `MipSettings::pool` for a while"
            );
        }
        while let Some((id, record)) = self.waiting.next(ledger.sums().total()) {
            self.enter(id, record, textures, ledger);
        }
        self.expect(ledger);
    }

    /// Room is made for what waits, and for what is on its way and will be whole.
    pub(super) fn expect(&self, ledger: &mut MipLedger) {
        ledger.set_not_streamed(self.wholes.bytes());
        ledger.set_expected(self.waiting.bytes() + self.wholes.coming_bytes());
    }

    /// An image has come that is to be whole.
    pub(super) fn come_whole(
        &mut self,
        id: AssetId<Image>,
        why: NotStreamed,
        image: MipParts,
        textures: &mut MipTextures,
        ledger: &mut MipLedger,
    ) {
        self.go(id, textures, ledger);
        textures.note_whole(id, why);
        self.wholes.ask(id, image);
        self.expect(ledger);
    }

    /// An image has come that does not stream, and takes so much; nobody asks whether there is room for it.
    pub(super) fn is_whole(
        &mut self,
        id: AssetId<Image>,
        why: NotStreamed,
        bytes: u64,
        textures: &mut MipTextures,
        ledger: &mut MipLedger,
    ) {
        self.replace(id, textures, ledger);
        textures.note_whole(id, why);
        self.wholes.note(id, bytes);
        self.expect(ledger);
    }

    /// Another comes in the place of what an image was, if it was there.
    fn replace(&mut self, id: AssetId<Image>, textures: &mut MipTextures, ledger: &mut MipLedger) {
        if textures.knows(id) {
            self.renew(id);
        }
        self.go(id, textures, ledger);
    }

    /// A texture has gone, or another comes in its place.
    pub(super) fn go(&mut self, id: AssetId<Image>, textures: &mut MipTextures, ledger: &mut MipLedger) {
        self.waiting.remove(id);
        self.leave(id, textures, ledger);
        self.expect(ledger);
    }

    /// What is there of it goes.
    fn leave(&mut self, id: AssetId<Image>, textures: &mut MipTextures, ledger: &mut MipLedger) {
        self.wholes.cancel(id);
        let Some(texture) = textures.remove(id) else { return };
        let resident = ledger.get(texture);
        if let Some(change) = resident.and_then(|resident| resident.change) {
            self.cancel(texture, change.id);
        }
        self.reads.forget(texture);
        // Not even in this frame: the image may be the game's own from now on.
        self.drop_swap(id);
        if let Some(left) = ledger.remove(texture) {
            self.orders.push(MipOrder::Gone(id, left));
        }
    }

    /// A texture stays as it is, until the renderer is told something else.
    fn drop_swap(&mut self, id: AssetId<Image>) {
        let is_swap = |order: &mut MipOrder| matches!(order, MipOrder::Swap(command, _) if command.id == id);
        for order in self.orders.extract_if(.., is_swap) {
            if let MipOrder::Swap(_, Some(staged)) = order {
                staged.let_go();
            }
        }
    }

    /// The mips of a change are in its buffer.
    pub(super) fn staged(&mut self, texture: u32, change: ChangeId, staged: Staged) {
        self.staged.insert(change, staged);
        self.ready.push((texture, change));
    }

    /// What is to be swapped becomes commands of this frame.
    pub(super) fn send(&mut self, textures: &MipTextures) {
        self.commands.clear();
        self.anew.clear();
        self.anew.append(&mut self.coming_anew);
        for swap in self.swaps.drain(..) {
            let staged = self.staged.remove(&swap.id);
            let Some(id) = textures.id(swap.texture) else { continue };
            let command = MipCommand {
                texture: swap.texture,
                id,
                change: swap.id,
                from: swap.from,
                to: swap.to,
            };
            self.commands.push(command);
            self.orders.push(MipOrder::Swap(command, staged));
        }
    }

    /// Nobody reads, or draws: what was asked for has come, and what the render world was told is done.
    pub(super) fn rehearse(&mut self, ledger: &mut MipLedger) {
        let came = self.reads.take_asked().map(|(read, _)| (read.texture, read.id));
        self.ready.extend(came);
        for order in self.orders.drain(..) {
            match order {
                MipOrder::Swap(command, _) => {
                    ledger.swapped(command.texture, command.change);
                    ledger.retired(command.change);
                }
                MipOrder::Gone(_, left) => ledger.retired(left),
                MipOrder::Come(..) | MipOrder::Resample(..) => {}
            }
        }
    }

    /// Whether the render world has something to do.
    pub(super) fn has_orders(&self) -> bool {
        !self.orders.is_empty()
    }

    /// What the render world is to do, which it takes over.
    pub(super) fn take_orders(&mut self, out: &mut Vec<MipOrder>) {
        out.append(&mut self.orders);
    }

    /// The device is gone, and all that was on it: whatever goes on is given up.
    pub(super) fn lost(&mut self) {
        self.reads.clear();
        self.wholes.lost();
        self.staged.clear();
        self.ready.clear();
        self.swaps.clear();
        self.orders.retain(|order| !matches!(order, MipOrder::Swap(..)));
    }
}

/// Lets in who has room now. Before it, it was heard what the GPU has let go of; behind it, images that are whole are let in.
pub(super) fn admit_waiting(
    plan: Res<MipPlan>,
    settings: Res<MipSettings>,
    mut pool: ResMut<MipPool>,
    mut work: ResMut<MipWork>,
    mut textures: ResMut<MipTextures>,
    time: Res<StreamingTime>,
    clock: Res<StreamingClock>,
) {
    let _time = clock.measure("textures that wait for room");
    let _span = debug_span!("admit_textures").entered();
    let usable = pool.usable(settings.pool);
    let is_stuck = plan.is_at_rest_with(pool.ledger.room(usable));
    // Or nothing could make room for those that wait.
    let usable = usable.saturating_sub(plan.largest_copy());
    work.admit(usable, is_stuck, time.now(), &mut textures, &mut pool.ledger);
}
