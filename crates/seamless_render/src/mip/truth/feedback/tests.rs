use super::*;

const STILL: Joining = Joining { slack: Some(0.5) };
const MOVING: Joining = Joining { slack: None };

fn seen(lod: f32) -> LayerTruth {
    LayerTruth { lod, area: 64.0 }
}

const HIDDEN: LayerTruth = LayerTruth {
    lod: f32::INFINITY,
    area: 0.0,
};

#[test]
fn what_is_seen_finer_than_predicted_is_believed_at_once() {
    for joining in [STILL, MOVING] {
        let ([lod, unseen], _) = join([-6.0, -5.0], [100.0, 7.0], &seen(-8.0), joining);
        assert_eq!((lod, unseen), (-8.0, -5.0));
    }
}

#[test]
fn what_is_predicted_finer_is_believed_up_to_the_slack_while_the_view_rests() {
    let predicted = ([-8.0, -5.0], [100.0, 7.0]);
    let found = join(predicted.0, predicted.1, &seen(-6.0), STILL);
    assert_eq!(found, ([-6.5, -5.0], [64.0, 7.0]));
    assert_eq!(join(predicted.0, predicted.1, &seen(-6.0), MOVING), predicted);
    let near = join([-6.25, -5.0], [100.0, 7.0], &seen(-6.0), STILL);
    assert_eq!(near.0, [-6.25, -5.0]);
}

#[test]
fn what_is_behind_something_counts_as_not_seen_while_the_view_rests() {
    let found = join([-8.0, -5.0], [100.0, 7.0], &HIDDEN, STILL);
    assert_eq!(found, ([f32::INFINITY, -8.0], [0.0, 107.0]));
    let moving = join([-8.0, -5.0], [100.0, 7.0], &HIDDEN, MOVING);
    assert_eq!(moving, ([-8.0, -5.0], [100.0, 7.0]));
}
