//! Who goes with two levels: it says so of one, and hangs in the other.

use bevy_app::Last;

use super::*;

/// A guard of the town, with a sword, stands on the deck of the boat.
struct Guard {
    app: App,
    town: (InstanceId, Entity),
    boat: (InstanceId, Entity),
    guard: Entity,
    sword: Entity,
}

impl Guard {
    fn new(budget: Duration) -> Self {
        let dir = Dir::default();
        let mut app = app(&dir, budget);
        let town = level(&mut app, "town", 0.0);
        let boat = level(&mut app, "boat", 1_000.0);
        let deck = entity(&app, boat.1, 9);
        let world = app.world_mut();
        let guard = world.spawn((Transform::default(), OfLevel(town.1), ChildOf(deck))).id();
        let sword = world.spawn(ChildOf(guard)).id();
        Self {
            app,
            town,
            boat,
            guard,
            sword,
        }
    }

    /// The levels, whichever comes first.
    fn levels(&self, is_turned: bool) -> [InstanceId; 2] {
        let (town, boat) = (self.town.0, self.boat.0);
        if is_turned { [boat, town] } else { [town, boat] }
    }

    fn hide(&mut self, id: InstanceId) {
        hide(&mut self.app, id);
    }

    fn show(&mut self, id: InstanceId) {
        set(&mut self.app, id, InstanceTarget::Shown);
        run_until(&mut self.app, |world| state(world, id) == Some(LoadState::Live));
    }

    fn is_seen(&mut self) -> bool {
        let seen = [self.guard, self.sword].map(|entity| is_seen(&mut self.app, entity));
        assert_eq!(seen[0], seen[1], "the sword is where the guard is");
        seen[0]
    }

    fn is_alive(&self) -> bool {
        self.app.world().get_entity(self.guard).is_ok()
    }

    fn hidden(&mut self) -> usize {
        let world = self.app.world_mut();
        world.query_filtered::<(), With<InHiddenLevel>>().iter(world).count()
    }
}

const ORDERS: [[bool; 2]; 4] = [[false, false], [false, true], [true, false], [true, true]];

#[test]
fn it_is_seen_while_both_are_whichever_is_hidden_and_shown_first() {
    for budget in BUDGETS {
        for [hidden, shown] in ORDERS {
            let mut it = Guard::new(budget);
            for id in it.levels(hidden) {
                it.hide(id);
                assert!(!it.is_seen());
            }
            let [first, last] = it.levels(shown);
            it.show(first);
            assert!(!it.is_seen(), "the other is hidden still");
            // It is nobody's to be shown but the other's, and back again.
            it.hide(first);
            it.show(last);
            assert!(!it.is_seen());
            it.show(first);
            assert!(it.is_seen());
            assert_eq!(it.hidden(), 0);
            it.hide(last);
            assert!(!it.is_seen());
            it.show(last);
            assert!(it.is_seen());
        }
    }
}

/// Also with the one that is seen by then.
#[test]
fn it_leaves_with_either() {
    for budget in BUDGETS {
        for [hidden, shown] in ORDERS {
            for is_turned in [false, true] {
                let mut it = Guard::new(budget);
                it.levels(hidden).into_iter().for_each(|id| it.hide(id));
                let [first, last] = it.levels(shown);
                it.show(first);
                let [leaves, stays] = if is_turned { [last, first] } else { [first, last] };
                leave(&mut it.app, leaves);
                assert!(!it.is_alive());
                it.show(stays);
                assert_eq!(it.hidden(), 0);
            }
        }
    }
}

/// The second may have been hidden long after the first.
#[test]
fn what_was_changed_while_either_was_hidden_counts_as_changed_when_it_is_seen() {
    #[derive(Component)]
    struct Alarm(u32);
    #[derive(Resource, Default)]
    struct Heard(Vec<u32>);

    for [hidden, shown] in ORDERS {
        let mut it = Guard::new(BUDGETS[1]);
        let guard = it.guard;
        let hear = |alarms: Query<&Alarm, Changed<Alarm>>, mut heard: ResMut<Heard>| {
            heard.0.extend(alarms.iter().map(|alarm| alarm.0));
        };
        it.app.init_resource::<Heard>().add_systems(Last, hear);
        it.app.world_mut().entity_mut(guard).insert(Alarm(0));
        (0..3).for_each(|_| it.app.update());
        let [first, last] = it.levels(hidden);
        it.hide(first);
        it.app.world_mut().get_mut::<Alarm>(guard).unwrap().0 = 1;
        (0..3).for_each(|_| it.app.update());
        it.hide(last);
        it.levels(shown).into_iter().for_each(|id| it.show(id));
        (0..3).for_each(|_| it.app.update());
        assert_eq!(it.app.world().resource::<Heard>().0, [0, 1]);
    }
}

/// It is told by id that it goes with another, and that is hidden, too.
#[test]
fn who_has_moved_to_another_hidden_level_stays_when_its_own_leaves() {
    for budget in BUDGETS {
        let mut it = Guard::new(budget);
        let ((town, _), (boat, root)) = (it.town, it.boat);
        it.app.world_mut().entity_mut(it.guard).remove::<ChildOf>();
        it.hide(town);
        it.hide(boat);
        it.app.world_mut().entity_mut(it.guard).insert(OfLevel(root));
        leave(&mut it.app, town);
        assert!(it.is_alive() && !it.is_seen());
        it.show(boat);
        assert!(it.is_seen());
        leave(&mut it.app, boat);
        assert!(!it.is_alive());
    }
}
