use proptest::prelude::*;

use super::*;

fn tag(name: &str) -> GameplayTag {
    GameplayTag::new(name).expect("a tag")
}

fn health() -> GameplayTag {
    tag("Attribute.Health")
}

fn most() -> GameplayTag {
    tag("Attribute.MaxHealth")
}

fn hero() -> Attributes {
    Attributes::new([
        AttributeDef::new(health(), 100.0).min(0.0).max_of(most()),
        AttributeDef::new(most(), 100.0).min(1.0),
    ])
    .unwrap()
}

fn modify(attributes: &mut Attributes, modifiers: &[(GameplayTag, Operation, f32)]) {
    attributes.clear_modifiers();
    for (name, operation, magnitude) in modifiers {
        attributes.add_modifier(*name, *operation, *magnitude, 1);
    }
    attributes.recompute();
}

#[test]
fn operations_have_one_order() {
    let mut all = Aggregate::default();
    for (operation, magnitude) in [
        (Operation::Divide, 4.0),
        (Operation::Add, 2.0),
        (Operation::Multiply, 3.0),
        (Operation::Add, 4.0),
    ] {
        all.push(operation, magnitude, 1);
    }
    assert_eq!(all.apply(10.0), 12.0);
    all.push(Operation::Override, 7.0, 1);
    all.push(Operation::Override, 8.0, 1);
    assert_eq!(all.apply(10.0), 8.0);
}

#[test]
fn stacks_add_and_multiply() {
    assert_eq!(operate(10.0, Operation::Add, -2.0, 3), 4.0);
    assert_eq!(operate(10.0, Operation::Multiply, 2.0, 3), 80.0);
    assert_eq!(operate(80.0, Operation::Divide, 2.0, 3), 10.0);
    assert_eq!(operate(80.0, Operation::Override, 2.0, 3), 2.0);
    assert_eq!(operate(80.0, Operation::Divide, 0.0, 1), 80.0);
}

/// By squaring, it is what one gets by one product after the other, but for the last bits.
#[test]
fn many_stacks_are_a_power() {
    for base in [0.5f32, 0.99, 1.01, -1.5] {
        let mut product = 1.0f64;
        for stacks in 0..60 {
            let found = f64::from(operate(1.0, Operation::Multiply, base, stacks));
            assert!(
                (found - product).abs() <= product.abs() * 1e-6,
                "{base} to the {stacks}: {found}"
            );
            product *= f64::from(base);
        }
    }
    assert_eq!(operate(3.0, Operation::Multiply, 0.0, u32::MAX), 0.0);
    assert!(operate(3.0, Operation::Multiply, 7.0, u32::MAX).is_finite());
}

#[test]
fn a_bound_follows_the_attribute_that_it_is() {
    let mut hero = hero();
    modify(&mut hero, &[(most(), Operation::Add, 50.0)]);
    assert_eq!(hero.current(health()), Some(100.0));
    assert!(hero.change_base(health(), Operation::Add, 500.0, 1));
    assert_eq!(hero.current(health()), Some(150.0));
    modify(&mut hero, &[]);
    assert_eq!(hero.current(health()), Some(100.0));
    // What was above the bound is not lost twice.
    hero.change_base(health(), Operation::Add, -10.0, 1);
    assert_eq!((hero.base(health()), hero.current(health())), (Some(90.0), Some(90.0)));
    hero.change_base(health(), Operation::Add, -1000.0, 1);
    assert_eq!(hero.current(health()), Some(0.0));
    assert!(!hero.set_base(tag("Attribute.Nobody.Has.It"), 1.0));
    assert_eq!(hero.least(health()), Some(0.0));
}

#[test]
fn changes_are_told_once_with_what_was_told_before() {
    let mut hero = hero();
    assert_eq!(hero.take_changes().count(), 0);
    hero.set_base(health(), 50.0);
    hero.set_base(health(), 60.0);
    assert_eq!(hero.take_changes().collect::<Vec<_>>(), [(health(), 100.0, 60.0)]);
    hero.set_base(health(), 50.0);
    hero.set_base(health(), 60.0);
    assert_eq!(hero.take_changes().count(), 0);
}

#[test]
fn what_cannot_be_attributes_says_why() {
    let error = |defs: Vec<AttributeDef>| Attributes::new(defs).unwrap_err();
    let one = || AttributeDef::new(health(), 1.0);
    assert_eq!(error(vec![one(), one()]), AttributeError::Twice { name: health() });
    for wrong in [AttributeDef::new(health(), f32::NAN), one().max(f32::INFINITY)] {
        assert_eq!(error(vec![wrong]), AttributeError::NotFinite { name: health() });
    }
    let (name, bound) = (health(), most());
    assert_eq!(
        error(vec![one().max_of(most())]),
        AttributeError::NoBound { name, bound }
    );
    let cycle = vec![one().max_of(most()), AttributeDef::new(most(), 1.0).max_of(health())];
    assert_eq!(error(cycle), AttributeError::Nested { name, bound });
    let itself = AttributeError::Nested { name, bound: name };
    assert_eq!(error(vec![one().max_of(health())]), itself);
    let many = (0..300).map(|index| AttributeDef::new(tag(&format!("Attribute.Many.{index}")), 0.0));
    assert!(matches!(error(many.collect()), AttributeError::TooMany { .. }));
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        Just(Operation::Add),
        Just(Operation::Multiply),
        Just(Operation::Divide),
        Just(Operation::Override),
    ]
}

/// Numbers whose sums, products and quotients are exact.
fn exact() -> impl Strategy<Value = f32> {
    prop_oneof![Just(0.5f32), Just(1.0), Just(2.0), Just(-2.0), Just(4.0)]
}

proptest! {
    #[test]
    fn the_order_of_modifiers_does_not_matter(
        base in -100i32..100,
        modifiers in prop::collection::vec((operation(), exact(), 1u32..4), 0..8),
        turn in 0usize..8,
    ) {
        let of = |modifiers: &[(Operation, f32, u32)]| {
            let mut all = Aggregate::default();
            for (operation, magnitude, stacks) in modifiers {
                if *operation != Operation::Override {
                    all.push(*operation, *magnitude, *stacks);
                }
            }
            all.apply(base as f32)
        };
        let mut turned = modifiers.clone();
        turned.rotate_left(turn.min(modifiers.len()));
        prop_assert_eq!(of(&modifiers), of(&turned));
        turned.reverse();
        prop_assert_eq!(of(&modifiers), of(&turned));
    }

    /// Against the sum as one writes it by hand.
    #[test]
    fn the_sum_is_the_one_that_is_documented(
        base in -100i32..100,
        modifiers in prop::collection::vec((operation(), exact()), 0..6),
    ) {
        let mut all = Aggregate::default();
        modifiers.iter().for_each(|(operation, magnitude)| all.push(*operation, *magnitude, 1));
        let of = |wanted: Operation| modifiers.iter().filter(move |(found, _)| *found == wanted).map(|(_, value)| *value);
        let sum = (base as f32 + of(Operation::Add).sum::<f32>()) * of(Operation::Multiply).product::<f32>()
            / of(Operation::Divide).product::<f32>();
        let expected = of(Operation::Override).next_back().unwrap_or(sum);
        prop_assert_eq!(all.apply(base as f32), expected);
    }

    #[test]
    fn whatever_is_done_the_result_is_a_number(
        base in any::<f32>(),
        modifiers in prop::collection::vec((operation(), any::<f32>(), any::<u32>()), 0..20),
    ) {
        let mut all = Aggregate::default();
        for (operation, magnitude, stacks) in modifiers {
            all.push(operation, magnitude, stacks);
            prop_assert!(all.apply(base).is_finite());
        }
    }

    #[test]
    fn values_stay_within_their_bounds(changes in prop::collection::vec((any::<bool>(), operation(), -500f32..500.0), 0..20)) {
        let mut hero = hero();
        for (is_health, operation, magnitude) in changes {
            let name = if is_health { health() } else { most() };
            hero.change_base(name, operation, magnitude, 1);
            let (now, end) = (hero.current(health()).unwrap(), hero.current(most()).unwrap());
            prop_assert!(end >= 1.0 && (0.0..=end).contains(&now), "{} of {}", now, end);
        }
    }
}
