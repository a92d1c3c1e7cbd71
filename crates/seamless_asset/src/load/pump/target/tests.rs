use super::*;
use InstanceTarget::{Gone, Loaded, Shown};

#[test]
fn every_target_has_its_step() {
    let table = [
        (Place::Coming, [Step::Cancel, Step::Note, Step::Note]),
        (Place::Spawning, [Step::Cancel, Step::Note, Step::Note]),
        (Place::Live, [Step::Leave, Step::Note, Step::Note]),
        (Place::Hidden, [Step::Note, Step::Note, Step::Note]),
        (Place::Leaving, [Step::Ignore, Step::Stay, Step::Stay]),
        (Place::Failed, [Step::Forget, Step::Ignore, Step::Ignore]),
        (Place::Spent, [Step::Ignore; 3]),
    ];
    for (place, steps) in table {
        for (target, step) in [Gone, Loaded, Shown].into_iter().zip(steps) {
            assert_eq!(next(place, target, true), step, "{place:?} → {target:?}");
        }
    }
}

#[test]
fn what_cannot_be_hidden_stays() {
    for place in [Place::Live, Place::Leaving] {
        assert_eq!(next(place, Loaded, false), Step::StayShown);
    }
    for place in [Place::Coming, Place::Spawning, Place::Hidden] {
        assert_eq!(next(place, Loaded, false), Step::Note);
    }
}
