use super::*;

const STILL: Joining = Joining { slack: Some(0.5) };
const OTHERS_LOOK: Joining = Joining { slack: None };

fn seen(lod: f32, predicted: f32) -> LayerTruth {
    LayerTruth {
        lod,
        predicted,
        area: 64.0,
    }
}

const HIDDEN: LayerTruth = LayerTruth {
    lod: f32::INFINITY,
    predicted: -8.0,
    area: 0.0,
};
const AREAS: [f32; 2] = [100.0, 7.0];

#[test]
fn what_is_seen_finer_than_predicted_is_believed_at_once() {
    for joining in [STILL, OTHERS_LOOK] {
        let ([lod, unseen], _) = join([-6.0, -5.0], AREAS, &seen(-8.0, -6.0), joining);
        assert_eq!((lod, unseen), (-8.0, -5.0));
        // It was not predicted at all.
        let ([lod, _], _) = join([f32::INFINITY, -5.0], AREAS, &seen(-8.0, f32::INFINITY), joining);
        assert_eq!(lod, -8.0);
    }
}

#[test]
fn what_is_predicted_finer_is_believed_up_to_the_slack() {
    let found = join([-8.0, -5.0], AREAS, &seen(-6.0, -8.0), STILL);
    assert_eq!(found, ([-6.5, -5.0], [64.0, 7.0]));
    assert_eq!(
        join([-8.0, -5.0], AREAS, &seen(-6.0, -8.0), OTHERS_LOOK),
        ([-8.0, -5.0], AREAS)
    );
    let near = join([-6.25, -5.0], AREAS, &seen(-6.0, -6.25), STILL);
    assert_eq!(near.0, [-6.25, -5.0]);
}

/// The prediction is as far off as it was, so what comes nearer becomes finer before it is seen again.
#[test]
fn what_comes_nearer_becomes_finer() {
    let ([lod, _], _) = join([-9.0, -5.0], AREAS, &seen(-6.0, -8.0), STILL);
    assert_eq!(lod, -7.5);
}

#[test]
fn what_is_behind_something_counts_as_not_seen() {
    let found = join([-8.0, -5.0], AREAS, &HIDDEN, STILL);
    assert_eq!(found, ([f32::INFINITY, -8.0], [0.0, 107.0]));
    let others = join([-8.0, -5.0], AREAS, &HIDDEN, OTHERS_LOOK);
    assert_eq!(others, ([-8.0, -5.0], AREAS));
}

#[test]
fn who_asks_in_each_frame_leaves_every_second_picture() {
    let (game, prediction) = (Some(Asker::Game), Some(Asker::Prediction));
    assert_eq!(next_asker(true, true, None), game);
    assert_eq!(next_asker(true, true, game), prediction);
    assert_eq!(next_asker(true, true, prediction), game);
    assert_eq!(next_asker(true, false, game), game);
    assert_eq!(next_asker(false, true, prediction), prediction);
    assert_eq!(next_asker(false, false, game), None);
}
