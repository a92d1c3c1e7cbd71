//! Instances in the place of others, and those of levels that nobody knows yet.

use super::*;

/// The natural way to try a house again whose package was not there.
#[test]
fn one_that_failed_may_be_replaced_in_the_same_frame() {
    for name in ["house_1", "house_2"] {
        let mut stage = stage();
        stage.fail("house_1");
        let _failed = add(&mut stage, house(1)).unwrap();
        stage.frames(3);
        assert_eq!(find(&stage, "house_1"), Some(LevelState::Failed));
        stage.told();
        stage.mend();
        remove(&mut stage, "house_1").unwrap();
        let place = Transform::from_xyz(7.0, 0.0, 0.0);
        let _again = add(&mut stage, NewInstance::new(name, "west", place)).unwrap();
        stage.frames(3);
        assert_eq!(stage.told(), [format!("+{name}")]);
        assert_eq!(stage.level(name).entry().placement(), place);
    }
}

/// A saved game that is loaded over another one: all houses go, and as many come, some under the same names.
#[test]
fn many_go_and_come_in_one_frame() {
    const COUNT: usize = 3_000;
    let mut stage = stage();
    let mut tickets: Vec<_> = (0..COUNT)
        .map(|number| add(&mut stage, house(number)).unwrap())
        .collect();
    stage.frames(3);
    stage.told();
    let places = slots(&stage);
    tickets.clear();
    let swap = move |levels: &mut Levels| {
        (0..COUNT).for_each(|number| levels.remove_instance(&format!("house_{number}")).unwrap());
        let new = (COUNT / 2..COUNT + COUNT / 2).map(|number| levels.add_instance(house(number)));
        new.collect::<Result<Vec<_>, _>>().unwrap()
    };
    let _new = stage.ask(swap);
    stage.frames(4);
    let told = stage.told();
    assert_eq!(told.iter().filter(|told| told.starts_with('-')).count(), COUNT);
    assert_eq!(told.iter().filter(|told| told.starts_with('+')).count(), COUNT);
    assert_eq!(slots(&stage), places + COUNT, "those that leave have their places yet");
    // The next ones take the places of those that have left.
    let _more: Vec<_> = (0..COUNT / 2)
        .map(|number| add(&mut stage, house(number)).unwrap())
        .collect();
    stage.frames(2);
    assert_eq!(slots(&stage), places + COUNT);
}

#[test]
fn an_instance_of_a_level_that_may_come_is_told_so() {
    let mut stage = Stage::new();
    let early = add(&mut stage, house(1));
    assert!(matches!(early, Err(RequestError::NotYet { level }) if level == "west"));
    stage.frames(3);
    drop(add(&mut stage, house(1)).unwrap());
    let wrong = add(&mut stage, NewInstance::new("hut", "wset", Transform::IDENTITY));
    assert!(matches!(wrong, Err(RequestError::UnknownLevel { .. })));
}
