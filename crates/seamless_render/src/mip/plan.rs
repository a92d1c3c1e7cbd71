//! What is decided in a frame: the systems that join watch, demands, fit and schedule. See [`MipPlan`].

mod priority;
mod rule;
mod tally;
#[cfg(test)]
pub(super) mod tests;

use bevy_app::{App, PostUpdate};
use bevy_asset::AssetId;
use bevy_camera::visibility::VisibilitySystems;
use bevy_ecs::prelude::*;
use bevy_image::Image;
use bevy_light::SimulationLightSystems;
use bevy_log::debug_span;
use bevy_mesh::mark_3d_meshes_as_changed_if_their_assets_changed;
use seamless_asset::{PanelSystems, SeamlessAssetApp, StreamingClock, StreamingTime};

use super::{
    ChangeId, DemandRule, Fit, FitInput, MipChanges, MipDemands, MipGroups, MipLimits, MipPool, MipSettings,
    MipSystems, MipTextureNews, MipTextures, MipWork, Wanting, Watch,
    alerts::{tell_alerts, write_panel},
    force::{Forces, Forcing},
    need::MipView,
    pace::{Lead, Pace, Rate, Turn},
    roads::{MipRoads, OwnTouches},
    schedule,
    settings::sound,
    stats::{add_stats, write_stats},
    users::{
        Materials, MipHider, MipUsers, Streamed, add_surfaces, follow_users, install_drawn, install_types,
        tell_strangers,
    },
    views::{Looking, MipViews},
};
use priority::priority;
use rule::rule;
pub(super) use tally::Tally;

/// While nothing changes, what was sampled finer lately is forgotten so often, in seconds.
const LOOK_AGAIN: f64 = 0.5;
/// In frames, where no material is touched, and where some are.
const SWAP_INTERVALS: [u32; 2] = [1, 4];

/// What is decided, and what it is decided by.
#[derive(Resource, Default)]
pub(super) struct MipPlan {
    pub watch: Watch,
    pub demands: MipDemands,
    pub fit: Fit,
    views: MipViews,
    /// By number, the images that were told to have come.
    images: Vec<Option<AssetId<Image>>>,
    changes: MipChanges,
    news: Vec<MipTextureNews>,
    forces: Forces,
    /// Textures of which something else may be forced.
    others: Vec<u32>,
    ready: Vec<(u32, ChangeId)>,
    /// The tops that textures will have, and those that they were fitted by.
    resident: Vec<u8>,
    fitted: Vec<u8>,
    terms: Option<Terms>,
    /// The largest copy of a texture that is a mip coarser than it is there, in bytes.
    largest_copy: u64,
    /// When the last fit was.
    fitted_at: f64,
    /// All is as planned, though the GPU may not have let go of what was before.
    is_as_planned: bool,
    /// Nothing is to be done until something changes.
    is_at_rest: bool,
    pace: Pace,
    lead: Lead,
    tally: Tally,
    done: Done,
    /// Some users' distance was not looked at yet.
    is_late: bool,
    /// What all rules were made by. A game that has its settings open may write them in each frame, as they were.
    known: Option<(MipSettings, MipGroups)>,
    /// The pool of the last frame, in bytes.
    pool: Option<u64>,
}

/// How much was done so far.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Done {
    pub reads: u64,
    pub cancelled: u64,
    pub swaps: u64,
    /// In bytes.
    pub read_bytes: u64,
    /// In bytes.
    pub sent_bytes: u64,
}

/// Rules of the game.
#[derive(Copy, Clone)]
struct Policy<'a> {
    settings: &'a MipSettings,
    groups: &'a MipGroups,
}

/// What a fit depends on, but for textures.
#[derive(Copy, Clone, Debug, PartialEq)]
struct Terms {
    room: u64,
    headroom: u64,
    cached: f32,
    wanting: Wanting,
}

/// What is decided is decided when it is known where everything is and what is seen; also for who only shows it, where nothing is decided.
pub(super) fn order_plan(app: &mut App) {
    app.configure_sets(
        PostUpdate,
        MipSystems::Plan
            .after(VisibilitySystems::MarkNewlyHiddenEntitiesInvisible)
            .after(VisibilitySystems::CalculateBounds)
            .after(SimulationLightSystems::CheckLightVisibility)
            .after(mark_3d_meshes_as_changed_if_their_assets_changed),
    );
}

/// Adds the systems that decide, and those of all types of materials.
pub(super) fn add_plan(app: &mut App, most_users: usize) {
    order_plan(app);
    let mut users = MipUsers::default();
    users.seats.most = most_users;
    let follow = follow_users(app.world_mut());
    app.insert_resource(users)
        .init_resource::<MipPlan>()
        .init_resource::<MipRoads>()
        .init_resource::<OwnTouches>()
        .add_systems(
            PostUpdate,
            (
                take_textures,
                follow,
                take_forces,
                watch_views,
                plan,
                tell_strangers,
                write_stats,
                (tell_alerts, write_panel.in_set(PanelSystems::Tell)),
            )
                .chain()
                .in_set(MipSystems::Plan),
        );
    app.add_level_hider(MipHider);
    add_stats(app);
    add_surfaces(app);
    install_types(app);
    install_drawn(app);
}

/// Textures that have come or gone, and those that may be as fine as before no more.
pub(super) fn take_textures(
    mut plan: ResMut<MipPlan>,
    mut textures: ResMut<MipTextures>,
    mut users: ResMut<MipUsers>,
    (settings, groups): (Res<MipSettings>, Res<MipGroups>),
    (time, clock): (Res<StreamingTime>, Res<StreamingClock>),
) {
    let _time = clock.measure("textures that have come or gone");
    let _span = debug_span!("take_textures").entered();
    let now = time.now().as_secs_f64();
    let policy = Policy {
        settings: &settings,
        groups: &groups,
    };
    let (plan, users) = (&mut *plan, &mut *users);
    textures.take_news(&mut plan.news);
    let mut news = core::mem::take(&mut plan.news);
    for news in news.drain(..) {
        plan.take_news(news, &textures, users, policy, now);
    }
    plan.news = news;
    let streamed = |id: AssetId<Image>| {
        let texture = textures.number(id)?;
        Some(Streamed {
            texture,
            is_anisotropic: textures.anisotropy(texture) > 1,
        })
    };
    let MipUsers {
        materials,
        seats,
        drawn,
        ..
    } = users;
    let watch = &mut plan.watch;
    materials.link(&mut plan.demands, streamed, |seat| seats.watch_again(seat, watch));
    let demands = &mut plan.demands;
    drawn.link(
        |image| textures.number(image),
        |texture, shown| demands.set_shown(texture, shown),
    );
    let is_touched = settings.is_changed() || groups.is_changed();
    if is_touched && plan.has_other_rules(&settings, &groups) {
        for (texture, ..) in textures.iter() {
            plan.set_rule(texture, &textures, materials, policy);
        }
    }
    materials.take_other_wholes(|materials, texture| plan.set_rule(texture, &textures, materials, policy));
}

/// Textures that are forced, or not any more.
pub(super) fn take_forces(
    mut plan: ResMut<MipPlan>,
    mut forcing: Forcing,
    textures: Res<MipTextures>,
    users: Res<MipUsers>,
    (settings, groups): (Res<MipSettings>, Res<MipGroups>),
    (time, clock): (Res<StreamingTime>, Res<StreamingClock>),
) {
    let _time = clock.measure("textures that are forced");
    let _span = debug_span!("take_forces").entered();
    let plan = &mut *plan;
    let policy = Policy {
        settings: &settings,
        groups: &groups,
    };
    plan.forces
        .update(&mut forcing, &users, time.now().as_secs_f64(), &mut plan.others);
    let mut others = core::mem::take(&mut plan.others);
    for texture in others.drain(..) {
        plan.set_rule(texture, &textures, &users.materials, policy);
    }
    plan.others = others;
}

impl MipPlan {
    /// The top that is wanted of a texture.
    pub fn wanted(&self, texture: u32) -> Option<u8> {
        let of = self.demands.textures().get(texture as usize)?.as_ref()?;
        Some(of.wanted(&self.terms?.wanting))
    }

    /// Whether the game has other rules than when this was asked last.
    fn has_other_rules(&mut self, settings: &MipSettings, groups: &MipGroups) -> bool {
        let known = self.known.as_ref();
        let is_known = known.is_some_and(|(known, of)| known == settings && of == groups);
        if !is_known {
            self.known = Some((settings.clone(), groups.clone()));
        }
        !is_known
    }

    /// What was resident when something was decided last, and what was too coarse.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// How much was done so far.
    pub fn done(&self) -> Done {
        self.done
    }

    /// How far ahead the next frame looks, in seconds.
    pub fn lead(&self, settings: &MipSettings) -> f32 {
        self.lead.seconds(sound(settings.lead, 0.0, 10.0))
    }

    /// From where is looked.
    pub fn views(&self) -> &[MipView] {
        self.views.views()
    }

    /// Nothing is to be done of what was planned for textures that have so many bytes, so they do not become less.
    pub fn is_at_rest_with(&self, room: u64) -> bool {
        self.is_at_rest && self.terms.is_some_and(|terms| terms.room == room)
    }

    /// What it takes to make room: a texture is there twice while it becomes coarser.
    pub fn largest_copy(&self) -> u64 {
        self.largest_copy
    }

    /// What textures would take, a mip coarser.
    fn copies(&self) -> impl Iterator<Item = u64> {
        let textures = self.demands.textures().iter().zip(&self.resident);
        textures.filter_map(|(of, top)| {
            let chain = &of.as_ref()?.chain;
            Some(chain.bytes(chain.coarser(*top)?))
        })
    }

    /// All is as planned until something changes.
    pub fn is_settled(&self) -> bool {
        self.is_as_planned && !self.is_late
    }

    fn rule(&self, texture: u32, textures: &MipTextures, materials: &Materials, policy: Policy) -> Option<DemandRule> {
        let record = textures.get(texture)?;
        let group = policy.groups.of(record.path());
        let whole = materials.is_whole(texture).then_some(u32::MAX);
        let side = whole.or(self.forces.side(texture));
        Some(rule(
            record.chain(),
            textures.finest(texture),
            side,
            policy.settings,
            group,
        ))
    }

    fn set_rule(&mut self, texture: u32, textures: &MipTextures, materials: &Materials, policy: Policy) {
        if let Some(rule) = self.rule(texture, textures, materials, policy) {
            self.demands.set_rule(texture, rule);
        }
    }

    fn take_news(
        &mut self,
        news: MipTextureNews,
        textures: &MipTextures,
        users: &mut MipUsers,
        policy: Policy,
        now: f64,
    ) {
        let (MipTextureNews::Come(texture)
        | MipTextureNews::Gone(texture)
        | MipTextureNews::Limited(texture)
        | MipTextureNews::Resampled(texture)) = news;
        let record = textures.get(texture);
        let rule = self.rule(texture, textures, &users.materials, policy);
        let image = textures.id(texture);
        match news {
            MipTextureNews::Come(_) => {
                if self.images.len() <= texture as usize {
                    self.images.resize(texture as usize + 1, None);
                }
                self.images[texture as usize] = image;
                // Otherwise it has gone since.
                if let Some((record, rule)) = record.zip(rule) {
                    self.demands.insert(texture, record.chain().clone(), rule, now);
                }
                image.into_iter().for_each(|image| users.image_changed(image));
            }
            MipTextureNews::Gone(_) => {
                self.demands.remove(texture);
                let gone = self.images.get_mut(texture as usize).and_then(Option::take);
                gone.into_iter().for_each(|image| users.image_changed(image));
            }
            MipTextureNews::Resampled(_) => image.into_iter().for_each(|image| users.image_changed(image)),
            MipTextureNews::Limited(_) => {
                if let Some(rule) = rule {
                    self.demands.set_rule(texture, rule);
                }
            }
        }
    }

    /// Decides anew, if anything has changed. Textures are replaced in each so-many-th frame (`interval`).
    fn decide(&mut self, settings: &MipSettings, pool: &mut MipPool, interval: u32, now: f64) {
        let usable = pool.usable(settings.pool);
        let limits = settings.limits(usable);
        let rate = Rate {
            interval: interval.max(1),
            bytes: limits.bytes,
            swaps: limits.swaps as u64,
        };
        pool.ledger.targets(&mut self.resident);
        let terms = Terms {
            room: pool.ledger.room(usable),
            headroom: settings.headroom,
            cached: sound(settings.cached, 0.0, f32::INFINITY),
            wanting: settings.wanting(self.watch.is_moving()),
        };
        let is_new = self.terms != Some(terms) || self.resident != self.fitted || !self.demands.changed().is_empty();
        if is_new || now >= self.fit.until || now >= self.fitted_at + LOOK_AGAIN {
            self.fit.update(&FitInput {
                textures: self.demands.textures(),
                changed: Some(self.demands.changed()),
                resident: &self.resident,
                room: terms.room,
                headroom: terms.headroom,
                cached: terms.cached,
                wanting: terms.wanting,
                now,
            });
            self.terms = Some(terms);
            self.largest_copy = self.copies().max().unwrap_or_default();
            self.fitted_at = now;
            self.fitted.clone_from(&self.resident);
            (self.is_as_planned, self.is_at_rest) = (false, false);
        }
        if self.is_at_rest && self.ready.is_empty() {
            self.pace.note(&rate, Turn::default());
            return;
        }
        let turn = self.pace.turn(&rate);
        let limits = MipLimits {
            bytes: turn.bytes,
            swaps: turn.swaps as usize,
            ..limits
        };
        let textures = self.demands.textures();
        schedule(
            &self.fit,
            textures,
            &mut pool.ledger,
            &self.ready,
            &limits,
            &mut self.changes,
        );
        self.ready.clear();
        let sent = Turn {
            bytes: self.changes.sent,
            swaps: self.changes.swaps.len() as u64,
        };
        self.pace.note(&rate, sent);
        self.lead.note(&self.changes, now);
        self.tally
            .count(textures, self.demands.changed(), &pool.ledger, &terms.wanting, now);
        let MipChanges {
            reads, cancels, swaps, ..
        } = &self.changes;
        let is_retiring = pool.ledger.retiring() > 0;
        self.is_as_planned = reads.is_empty()
            && cancels.is_empty()
            && swaps.is_empty()
            && pool.ledger.changing().is_empty()
            && turn.swaps > 0
            && !(is_retiring && (self.changes.is_short_of_room || self.changes.is_held));
        self.is_at_rest = self.is_as_planned && !is_retiring;
    }

    /// Has done what was decided.
    fn hand_over(&mut self, work: &mut MipWork) {
        self.done.reads += self.changes.reads.len() as u64;
        self.done.cancelled += self.changes.cancels.len() as u64;
        self.done.swaps += self.changes.swaps.len() as u64;
        self.done.sent_bytes += core::mem::take(&mut self.changes.sent);
        for (texture, change) in self.changes.cancels.drain(..) {
            work.cancel(texture, change);
        }
        for read in self.changes.reads.drain(..) {
            let of = self
                .demands
                .textures()
                .get(read.texture as usize)
                .and_then(Option::as_ref);
            self.done.read_bytes += of.map_or(0, |of| {
                read.mips.clone().map(|mip| of.chain.payload_bytes(mip)).sum::<u64>()
            });
            work.read(&read, of.map_or(1.0, |of| priority(&of.demand, read.mips.end)));
        }
        for swap in self.changes.swaps.drain(..) {
            work.swap(&swap);
        }
    }
}

/// From where textures are looked at, and what that means for them.
pub(super) fn watch_views(
    mut plan: ResMut<MipPlan>,
    looking: Looking,
    settings: Res<MipSettings>,
    (time, clock): (Res<StreamingTime>, Res<StreamingClock>),
) {
    let _time = clock.measure("from where textures are seen");
    let _span = debug_span!("watch_views").entered();
    let now = time.now().as_secs_f64();
    let plan = &mut *plan;
    plan.views.note(&looking, now);
    plan.demands.set_limits(&mut plan.watch, settings.wanting(true).margin);
    let lead = plan.lead(&settings);
    plan.watch.update(plan.views.views(), lead);
    plan.is_late = plan.watch.is_waiting();
    plan.demands.update(&plan.watch, now);
}

/// What is read and replaced next.
pub(super) fn plan(
    mut plan: ResMut<MipPlan>,
    mut pool: ResMut<MipPool>,
    mut work: ResMut<MipWork>,
    settings: Res<MipSettings>,
    roads: Res<MipRoads>,
    (time, clock): (Res<StreamingTime>, Res<StreamingClock>),
) {
    let _time = clock.measure("which mips are read and replaced");
    let _span = debug_span!("plan_mips").entered();
    let plan = &mut *plan;
    // The first pool is none that anything was refused of.
    if plan.pool.replace(settings.pool).is_some_and(|was| was != settings.pool) {
        pool.forget_refusals();
    }
    work.take_ready(&mut plan.ready);
    let interval = settings
        .swap_interval
        .unwrap_or(SWAP_INTERVALS[usize::from(roads.any_touched())]);
    plan.decide(&settings, &mut pool, interval, time.now().as_secs_f64());
    plan.hand_over(&mut work);
}
