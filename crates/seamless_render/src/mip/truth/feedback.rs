//! Prediction and truth together. See [`MipFeedback`] and [`join`].

#[cfg(test)]
mod tests;

use bevy_app::{App, Plugin, PostUpdate};
use bevy_camera::{Camera, Camera3d, CameraUpdateSystems};
use bevy_ecs::{prelude::*, reflect::ReflectResource};
use bevy_math::{Mat4, Vec3};
use bevy_reflect::{Reflect, prelude::ReflectDefault};
use bevy_render::RenderApp;
use bevy_transform::{TransformSystems, components::GlobalTransform};
use seamless_asset::StreamingTime;

use super::{Asker, LayerTruth, MipTruth, job::Pictured, pass};
use crate::mip::{MipSystems, need::MipView, plan::MipPlan};

/// How long what was seen counts while no newer picture comes, in seconds.
const REMEMBERED: f64 = 0.5;
/// A view that is so many metres away from one frame to the next has jumped, or is too fast for what was seen.
const JUMP: f32 = 1.0;

/// How truth is joined with prediction.
#[derive(Resource, Reflect, Clone, Debug, PartialEq)]
#[reflect(Resource, Default, Clone, PartialEq)]
pub struct MipFeedback {
    /// A picture is taken each so many frames; 0: only those that the game asks for. 8.
    pub every: u32,
    /// So many pixels of the camera's are one of the picture's, in each direction. 8.
    pub scale: u32,
    /// So many meshes are drawn at most; what is beyond goes by prediction. 4 096.
    pub max_draws: usize,
    /// What is predicted to be finer than it was seen is believed up to this, in mips. 0.1.
    pub slack: f32,
}

impl Default for MipFeedback {
    fn default() -> Self {
        Self {
            every: 8,
            scale: 8,
            max_draws: 4096,
            slack: 0.1,
        }
    }
}

/// Joins what the GPU samples with what is predicted: what is seen in a small picture that is taken each eighth frame, finer than predicted, is believed at once; what is
/// predicted finer than it is seen, or hidden behind something else, is made coarser, if there is one camera alone; what is wanted where somebody is [expected](crate::mip::MipViewpoint) stays. Add it beside [`MipPlugin`](crate::mip::MipPlugin).
///
/// It costs a pass over what the camera sees, an eighth as large in both directions, each eighth frame, and memory for that picture.
#[derive(Clone, Debug, Default)]
pub struct MipFeedbackPlugin {
    /// What it begins with; later, the resource counts.
    pub settings: MipFeedback,
}

impl Plugin for MipFeedbackPlugin {
    fn build(&self, app: &mut App) {
        pass::add_shader(app);
        app.register_type::<MipFeedback>()
            .insert_resource(self.settings.clone());
    }

    fn finish(&self, app: &mut App) {
        let truth = MipTruth::default();
        let Some(render_app) = app.get_sub_app_mut(RenderApp) else {
            return;
        };
        pass::add_systems(render_app, truth.clone());
        app.insert_resource(truth).init_resource::<Feedback>().add_systems(
            PostUpdate,
            (
                // Poses are compared as they are taken: when it is known where cameras are.
                hear_truth
                    .after(TransformSystems::Propagate)
                    .after(CameraUpdateSystems)
                    .before(MipSystems::Plan),
                ask_for_truth.after(MipSystems::Plan),
            )
                .run_if(resource_exists::<MipPlan>),
        );
    }
}

/// How what is seen is joined with what is predicted.
#[derive(Copy, Clone, Debug, Default, PartialEq)]
pub(in crate::mip) struct Joining {
    /// By so much less than it should be, what is predicted is made coarser, in mips; none while other cameras look as well: it is not.
    pub slack: Option<f32>,
}

/// The least lods that are predicted, of what is seen and what is not, and what both cover, corrected as truth knew them: by as much as the prediction was off.
pub(in crate::mip) fn join(
    [seen, unseen]: [f32; 2],
    areas: [f32; 2],
    truth: &LayerTruth,
    joining: Joining,
) -> ([f32; 2], [f32; 2]) {
    let is_there = truth.lod < f32::INFINITY;
    let off = truth.lod - truth.predicted;
    match joining.slack {
        // Nothing of it is in the picture: it is behind something.
        Some(_) if !is_there => ([f32::INFINITY, unseen.min(seen)], [0.0, areas[0] + areas[1]]),
        Some(slack) if off > 0.0 => ([seen + (off - slack).max(0.0), unseen], [truth.area, areas[1]]),
        // One that was not predicted at all is infinitely off.
        _ if is_there && off < 0.0 => ([(seen + off.max(-16.0)).min(truth.lod), unseen], areas),
        _ => ([seen, unseen], areas),
    }
}

/// Where the last picture was taken from.
#[derive(Resource, Default)]
struct Feedback {
    /// Frames since one was asked for.
    since: u32,
    /// For whom the last picture was.
    last: Option<Asker>,
    /// From where the one that is under way is taken, and the one that is believed.
    coming: Option<Pose>,
    believed: Option<(Pose, f64)>,
    /// Where the first camera was in the last frame.
    position: Option<Vec3>,
}

/// A camera, and all that decides what it sees.
#[derive(Copy, Clone, Debug, PartialEq)]
struct Pose {
    camera: Entity,
    clip_from_world: Mat4,
}

impl Pose {
    fn of(camera: Entity, of: &Camera, transform: &GlobalTransform) -> Self {
        Self {
            camera,
            clip_from_world: of.clip_from_view() * transform.to_matrix().inverse(),
        }
    }
}

type Cameras<'w, 's> = Query<'w, 's, (Entity, &'static Camera, &'static GlobalTransform), With<Camera3d>>;

/// The views that are cameras'.
fn camera_views(plan: &MipPlan) -> impl Iterator<Item = &MipView> {
    plan.views().iter().filter(|view| !view.is_expected)
}

/// The only camera that looks: elsewhere, nothing is believed to be hidden anyway.
fn only_view(plan: &MipPlan, cameras: &Cameras) -> Option<Pose> {
    let mut views = camera_views(plan);
    let (Some(view), None) = (views.next(), views.next()) else {
        return None;
    };
    let (camera, of, transform) = cameras.iter().find(|(camera, ..)| camera.to_bits() == view.key)?;
    Some(Pose::of(camera, of, transform))
}

/// Takes what was seen.
fn hear_truth(
    truth: Res<MipTruth>,
    settings: Res<MipFeedback>,
    mut feedback: ResMut<Feedback>,
    mut plan: ResMut<MipPlan>,
    time: Res<StreamingTime>,
    cameras: Cameras,
) {
    let now = time.now().as_secs_f64();
    // Each frame, whether something is believed or not: a jump is from one frame to the next.
    let position = camera_views(&plan).next().map(|view| view.position);
    let last = core::mem::replace(&mut feedback.position, position);
    let has_jumped = position.zip(last).is_none_or(|(is, was)| is.distance(was) > JUMP);
    let picture = truth.lock().feedback.take();
    if let Some(picture) = picture {
        feedback.believed = feedback.coming.take().map(|pose| (pose, now));
        plan.demands.set_truth(picture.layers());
    }
    let Some((pose, since)) = feedback.believed else { return };
    let view = only_view(&plan, &cameras);
    let is_old = now > since + REMEMBERED && view != Some(pose);
    if has_jumped || is_old || settings.every == 0 {
        feedback.believed = None;
        plan.demands.set_truth(Default::default());
    }
    let slack = view.map(|_| settings.slack.max(0.0));
    plan.demands.set_joining(Joining { slack });
}

/// Has the next picture taken.
fn ask_for_truth(
    truth: Res<MipTruth>,
    settings: Res<MipFeedback>,
    mut feedback: ResMut<Feedback>,
    plan: Res<MipPlan>,
    pictured: Pictured,
    cameras: Cameras,
) {
    feedback.since = feedback.since.saturating_add(1);
    let mut exchange = truth.lock();
    if exchange.drawn_for.is_some() {
        return;
    }
    let is_due = settings.every > 0 && feedback.since >= settings.every;
    let asker = next_asker(exchange.asked.is_some(), is_due, feedback.last);
    feedback.last = asker.or(feedback.last);
    let (camera, scale, most) = match asker {
        Some(Asker::Game) => {
            let Some((camera, scale)) = exchange.asked.take() else {
                return;
            };
            (camera, scale, usize::MAX)
        }
        Some(Asker::Prediction) => {
            let Some(pose) = only_view(&plan, &cameras).or_else(|| first_active(&cameras)) else {
                return;
            };
            (feedback.since, feedback.coming) = (0, Some(pose));
            (pose.camera, settings.scale, settings.max_draws)
        }
        None => return,
    };
    exchange.job = pictured.job(camera, scale, most, (&plan.watch, plan.views()));
    exchange.drawn_for = asker.filter(|_| exchange.job.is_some());
}

/// For whom the next picture is: if both want one, each has its turn.
fn next_asker(is_asked: bool, is_due: bool, last: Option<Asker>) -> Option<Asker> {
    match (is_asked, is_due) {
        (true, true) if last == Some(Asker::Game) => Some(Asker::Prediction),
        (true, _) => Some(Asker::Game),
        (false, true) => Some(Asker::Prediction),
        (false, false) => None,
    }
}

fn first_active(cameras: &Cameras) -> Option<Pose> {
    let (camera, of, transform) = cameras.iter().find(|(_, camera, _)| camera.is_active)?;
    Some(Pose::of(camera, of, transform))
}
