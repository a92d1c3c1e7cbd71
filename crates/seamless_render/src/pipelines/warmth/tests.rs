use bevy_asset::{AssetId, uuid::Uuid};
use bevy_mesh::Mesh;
use bevy_pbr::MeshPipelineKey;

use super::*;
use crate::pipelines::tests::{instance, set};

const HERE: PassKey = PassKey::Main(MeshPipelineKey::VIEW_PROJECTION_PERSPECTIVE);
const THERE: PassKey = PassKey::Main(MeshPipelineKey::VIEW_PROJECTION_ORTHOGRAPHIC);

fn sets(count: usize) -> Vec<DrawnSet> {
    vec![set(); count]
}

/// A frame with these passes, of which each pipeline is the `next` one; how many were asked for.
fn frame(warmth: &mut Warmth, passes: &[PassKey], sets: &[DrawnSet], left: &mut Left, next: &mut usize) -> usize {
    let before = *next;
    warmth.begin(passes, sets.len());
    warmth.ask(sets, left, |_, passes| {
        let mut pipeline = || {
            *next += 1;
            Some(CachedRenderPipelineId::new(*next - 1))
        };
        Some(passes.iter().map(|_| pipeline()).collect())
    });
    *next - before
}

#[test]
fn views_that_take_turns_do_not_begin_anew() {
    let (sets, mut warmth, mut next) = (sets(NEW_PER_FRAME * 2 + 1), Warmth::default(), 0);
    let mut frames = 0;
    while frames == 0 || !warmth.is_ready(|_| true) {
        let passes = if frames % 2 == 0 { [HERE] } else { [THERE] };
        let mut left = Left::of(next);
        frame(&mut warmth, &passes, &sets, &mut left, &mut next);
        frames += 1;
        assert!(frames < 100, "it is never ready");
    }
    assert_eq!(next, 2 * sets.len(), "each is asked for once");
    assert_eq!(frames, 6, "three for each");
    // Neither of the two may be missing, whoever looks now.
    let is_of_there = |pipeline: CachedRenderPipelineId| (NEW_PER_FRAME..2 * NEW_PER_FRAME).contains(&pipeline.id());
    warmth.begin(&[HERE], sets.len());
    assert!(!warmth.is_ready(|pipeline| !is_of_there(pipeline)));
    for _ in 0..RECENT {
        warmth.begin(&[HERE], sets.len());
    }
    assert!(
        warmth.is_ready(|pipeline| !is_of_there(pipeline)),
        "nobody looks that way"
    );
}

#[test]
fn what_is_known_takes_no_place_of_what_is_new() {
    let (sets, mut next) = (sets(3 * NEW_PER_FRAME), 0);
    let mut left = Left::of(0);
    let new = frame(&mut Warmth::default(), &[HERE], &sets, &mut left, &mut next);
    assert_eq!(new, NEW_PER_FRAME);
    // All are there already.
    let mut left = Left::of(10_000);
    let mut warmth = Warmth::default();
    assert_eq!(
        frame(&mut warmth, &[HERE], &sets, &mut left, &mut 0),
        sets.len(),
        "in one frame"
    );
    assert!(warmth.is_ready(|_| true));
    assert_eq!(
        frame(&mut Warmth::default(), &[HERE], &sets, &mut left, &mut 10_000),
        NEW_PER_FRAME
    );
    // Another level asks for the same in that frame.
    let (mut left, few) = (Left::of(0), &sets[..NEW_PER_FRAME - 1]);
    for _ in 0..3 {
        assert_eq!(
            frame(&mut Warmth::default(), &[HERE], few, &mut left, &mut 0),
            few.len()
        );
    }
    // There is an end to it.
    let many = vec![sets[0]; 2 * KNOWN_PER_FRAME];
    let mut left = Left::of(10_000);
    assert_eq!(
        frame(&mut Warmth::default(), &[HERE], &many, &mut left, &mut 0),
        KNOWN_PER_FRAME
    );
}

#[test]
fn a_level_waits_for_all_of_its_passes() {
    let (sets, mut warmth, mut next) = (sets(2), Warmth::default(), 0);
    warmth.begin(&[], sets.len());
    assert!(warmth.is_ready(|_| false), "nobody looks");
    warmth.begin(&[HERE], sets.len());
    warmth.ask(&sets, &mut Left::of(0), |_, _| None);
    assert!(!warmth.is_ready(|_| true), "its mesh is not there");
    let asked = frame(&mut warmth, &[HERE, THERE], &sets, &mut Left::of(0), &mut next);
    assert_eq!(asked, 4);
    assert!(!warmth.is_ready(|pipeline| pipeline.id() != 3), "one is not compiled");
    assert!(warmth.is_ready(|_| true));
}

#[test]
fn passes_that_nobody_draws_in_are_forgotten_at_last() {
    let (sets, mut warmth) = (sets(1), Warmth::default());
    for bits in 0..1000 {
        warmth.begin(&[PassKey::Main(MeshPipelineKey::from_bits_retain(bits))], sets.len());
    }
    assert!(warmth.passes.len() <= MOST_PASSES + 1);
}

fn other_set(number: usize) -> DrawnSet {
    DrawnSet {
        mesh: AssetId::<Mesh>::from(Uuid::from_u128(number as u128)),
        ..set()
    }
}

/// What others are drawn with is walked once, however often lights come.
#[test]
fn what_lights_add_to_others_is_asked_for_once() {
    let (mut light, mut next, sets) = (LightWarmth::default(), 0, sets(1));
    let mut frame = |passes: &[PassKey]| {
        light.hear([(instance(1), &*sets), (instance(2), &[])].into_iter());
        let before = next;
        light.ask(passes, &mut Left::of(0), |_, passes| {
            next += passes.len();
            Some(vec![None; passes.len()])
        });
        assert!(light.is_ready(|_| true));
        next - before
    };
    assert_eq!(frame(&[HERE]), 1);
    assert_eq!(frame(&[HERE, THERE]), 1, "the other pass");
    assert_eq!(frame(&[HERE, THERE]), 0);
}

/// Levels come and go for hours, and thousands may be there.
#[test]
fn who_is_there_is_heard_of_bit_by_bit_and_forgotten_when_it_is_gone() {
    let many: Vec<DrawnSet> = (0..2 * HEARD_PER_FRAME).map(other_set).collect();
    let levels = || (0..).map(instance).zip(many.chunks(HEARD_PER_FRAME));
    let mut light = LightWarmth::default();
    light.hear(levels().collect::<Vec<_>>().into_iter());
    assert!(!light.is_ready(|_| true) && light.sets.len() == HEARD_PER_FRAME);
    light.hear(levels().collect::<Vec<_>>().into_iter());
    assert!(light.is_ready(|_| true) && light.sets.len() == many.len());
    let most = (0..3 * MOST_GONE as u64).map(|number| (instance(number), &many[..0]));
    light.hear(most.collect::<Vec<_>>().into_iter());
    let left = || [(instance(1000), &many[..1])].into_iter();
    light.hear(left());
    assert_eq!(light.sets.len(), 1);
}

/// It was gone for a moment, and comes again.
#[test]
fn what_was_gone_is_asked_for_when_it_comes_again() {
    let (mut light, sets) = (LightWarmth::default(), sets(1));
    let mut frame = |level: u64, is_there: bool| {
        let mut asked = 0;
        light.hear([(instance(level), &*sets)].into_iter());
        light.ask(&[HERE], &mut Left::of(0), |_, passes| {
            asked += 1;
            is_there.then(|| vec![None; passes.len()])
        });
        asked
    };
    assert_eq!(
        [frame(1, false), frame(1, true), frame(2, true), frame(3, true)],
        [1, 0, 1, 0]
    );
}
