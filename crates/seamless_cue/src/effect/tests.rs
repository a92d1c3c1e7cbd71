//! What effects do to one entity, with the time in the tests' hands.

mod edges;
mod model;
mod ron;

use core::time::Duration;

use bevy_asset::{Assets, Handle};
use bevy_ecs::entity::Entity;

use super::{bearer::*, output::*, *};
use crate::{
    Abilities, AttributeDef, Attributes, CueAct, GameplayTag, Operation, TagSet,
    ability::actor::{Actor, ActorLimits, Books},
};

pub(super) fn tag(name: &str) -> GameplayTag {
    GameplayTag::new(name).expect("a tag")
}

pub(super) fn tags(names: &[&str]) -> TagSet {
    names.iter().map(|name| tag(name)).collect()
}

pub(super) fn ms(time: u64) -> Duration {
    Duration::from_millis(time)
}

pub(super) const LIMITS: EffectLimits = EffectLimits {
    effects: 64,
    stacks: 99,
    periods: 100,
};

pub(super) fn power() -> GameplayTag {
    tag("Attribute.Power")
}

pub(super) fn modifier(operation: Operation, magnitude: Magnitude) -> Modifier {
    Modifier {
        attribute: power(),
        operation,
        magnitude,
    }
}

pub(super) fn adds(value: f32) -> Vec<Modifier> {
    vec![modifier(Operation::Add, Magnitude::Constant(value))]
}

/// One entity, and the definitions.
pub(super) struct Bench {
    pub book: Assets<Effect>,
    pub effects: Effects,
    pub tags: OwnedTags,
    pub attributes: Attributes,
    pub out: Outputs,
}

impl Bench {
    pub fn new() -> Self {
        Self {
            book: Assets::default(),
            effects: Effects::default(),
            tags: OwnedTags::default(),
            attributes: Attributes::new([AttributeDef::new(power(), 100.0)]).expect("attributes"),
            out: Outputs::default(),
        }
    }

    pub fn bearer(&mut self) -> (Bearer<'_>, &Assets<Effect>, &mut Outputs) {
        let bearer = Bearer {
            effects: &mut self.effects,
            tags: &mut self.tags,
            attributes: Some(&mut self.attributes),
            ahead: Duration::ZERO,
        };
        (bearer, &self.book, &mut self.out)
    }

    pub fn apply_spec(&mut self, spec: &EffectSpec) -> Result<EffectOutcome, EffectRefused> {
        let own = Some(&self.attributes);
        let modifiers = modifiers_of(&self.book, spec, own, own)?;
        let (mut bearer, book, out) = self.bearer();
        bearer.apply(book, spec, modifiers, LIMITS, out)
    }

    pub fn apply(&mut self, effect: &Handle<Effect>) -> Result<EffectOutcome, EffectRefused> {
        self.apply_spec(&EffectSpec::new(effect.clone()))
    }

    pub fn tick(&mut self, time: u64) {
        self.tick_within(time, LIMITS);
    }

    pub fn tick_within(&mut self, time: u64, effects: EffectLimits) {
        let abilities = Assets::default();
        let (bearer, book, out) = self.bearer();
        let mut actor = Actor {
            entity: Entity::PLACEHOLDER,
            bearer,
            abilities: &mut Abilities::default(),
        };
        let books = Books {
            effects: book,
            abilities: &abilities,
        };
        let limits = ActorLimits { effects, abilities: 0 };
        actor.tick(books, ms(time), limits, out);
    }

    pub fn remove(&mut self, id: EffectId, stacks: Option<u32>) -> bool {
        let (mut bearer, book, out) = self.bearer();
        bearer.remove(book, id, stacks, out)
    }

    pub fn power(&self) -> f32 {
        self.attributes.current(power()).expect("it has power")
    }

    pub fn told(&mut self) -> Vec<Output> {
        core::mem::take(&mut self.out.list)
    }

    fn first(&self) -> &ActiveEffect {
        self.effects.iter().next().expect("there is an effect")
    }
}

fn lasting(time: u64) -> Effect {
    Effect {
        duration: EffectDuration::For(ms(time)),
        ..Effect::default()
    }
}

fn periodic(time: u64, every: u64, at_once: bool) -> Effect {
    let every = ms(every);
    Effect {
        period: Some(Period { every, at_once }),
        modifiers: adds(-1.0),
        ..lasting(time)
    }
}

#[test]
fn an_instant_effect_changes_bases_for_good() {
    let mut bench = Bench::new();
    let hit = bench.book.add(Effect {
        modifiers: adds(-30.0),
        cues: FiredCues {
            executed: vec![tag("Cue.Hit")],
            ..FiredCues::default()
        },
        ..Effect::default()
    });
    assert_eq!(bench.apply(&hit), Ok(EffectOutcome::Executed));
    assert_eq!(bench.attributes.base(power()), Some(70.0));
    let told = bench.told();
    assert!(
        matches!(&told[..], [Output::Cue { kind: CueAct::Execute, origin, .. }, Output::Executed { .. }] if origin.magnitude == -30.0),
        "{told:?}"
    );
    assert!(bench.effects.is_empty());
}

#[test]
fn an_effect_that_lasts_leaves_no_trace() {
    let mut bench = Bench::new();
    let bless = bench.book.add(Effect {
        modifiers: adds(50.0),
        grants: tags(&["State.Blessed"]),
        cues: FiredCues {
            active: vec![tag("Cue.Halo")],
            ..FiredCues::default()
        },
        ..lasting(100)
    });
    let (before, before_tags) = (bench.attributes.clone(), bench.tags.clone());
    bench.apply(&bless).unwrap();
    assert_eq!((bench.power(), bench.attributes.base(power())), (150.0, Some(100.0)));
    assert!(bench.tags.has(tag("State.Blessed")));
    bench.tick(99);
    assert_eq!(bench.first().remaining(), Some(ms(1)));
    bench.told();
    bench.tick(1);
    assert_eq!((&bench.attributes, &bench.tags), (&before, &before_tags));
    let told = bench.told();
    let removed = |output: &Output| {
        matches!(
            output,
            Output::Removed {
                why: Removal::Expired,
                ..
            }
        )
    };
    let ended = |output: &Output| {
        matches!(
            output,
            Output::Cue {
                kind: CueAct::Remove,
                ..
            }
        )
    };
    assert!(told.iter().any(removed) && told.iter().any(ended), "{told:?}");
}

#[test]
fn a_period_is_kept_whatever_the_frames_are() {
    for step in [1, 7, 10, 50, 1000] {
        let mut bench = Bench::new();
        let poison = bench.book.add(periodic(100, 10, false));
        bench.apply(&poison).unwrap();
        for _ in 0..1000 / step + 1 {
            bench.tick(step);
        }
        // The last one is in the moment of its end.
        assert_eq!(bench.power(), 90.0, "in steps of {step} ms");
        assert!(bench.effects.is_empty());
    }
    let mut bench = Bench::new();
    let poison = bench.book.add(periodic(100, 10, true));
    bench.apply(&poison).unwrap();
    assert_eq!(bench.power(), 99.0);
    bench.tick(5000);
    assert_eq!(bench.power(), 89.0);
}

#[test]
fn executions_in_one_step_have_a_limit() {
    let mut bench = Bench::new();
    let poison = bench.book.add(Effect {
        duration: EffectDuration::Infinite,
        ..periodic(1, 1, false)
    });
    bench.apply(&poison).unwrap();
    bench.tick(250);
    assert_eq!((bench.power(), bench.out.periods_dropped), (0.0, 150));
    // A definition that nobody has checked does not stop the app.
    let wrong = bench.book.add(periodic(0, 0, false));
    bench.apply(&wrong).unwrap();
    bench.tick(10);
    assert_eq!(bench.effects.len(), 1);
}

fn stacking(limit: u32, expires: Expiry) -> Stacking {
    Stacking {
        by: StackBy::Target,
        limit,
        duration: Restart::Restart,
        period: Restart::Restart,
        expires,
    }
}

#[test]
fn stacks_end_together_or_one_by_one() {
    for (expires, after) in [
        (Expiry::All, vec![100.0]),
        (Expiry::OneStack, vec![102.0, 101.0, 100.0]),
    ] {
        let mut bench = Bench::new();
        let rage = bench.book.add(Effect {
            modifiers: adds(1.0),
            stacking: Some(stacking(3, expires)),
            ..lasting(10)
        });
        let EffectOutcome::Started(id) = bench.apply(&rage).unwrap() else {
            panic!("it starts")
        };
        for _ in 0..4 {
            bench.tick(9);
            assert_eq!(bench.apply(&rage), Ok(EffectOutcome::Stacked(id)));
        }
        assert_eq!((bench.power(), bench.first().stacks()), (103.0, 3));
        let found: Vec<f32> = after
            .iter()
            .map(|_| {
                bench.tick(10);
                bench.power()
            })
            .collect();
        assert_eq!(found, after);
        assert!(bench.effects.is_empty());
    }
}

#[test]
fn time_that_is_left_goes_to_the_next_stack() {
    let mut bench = Bench::new();
    let rage = bench.book.add(Effect {
        modifiers: adds(1.0),
        stacking: Some(stacking(3, Expiry::OneStack)),
        ..lasting(10)
    });
    (0..3).for_each(|_| {
        bench.apply(&rage).unwrap();
    });
    bench.tick(25);
    assert_eq!((bench.first().stacks(), bench.first().remaining()), (1, Some(ms(5))));
}

#[test]
fn each_source_has_its_stack() {
    let mut bench = Bench::new();
    let rage = bench.book.add(Effect {
        stacking: Some(Stacking {
            by: StackBy::Source,
            ..stacking(5, Expiry::All)
        }),
        ..lasting(10)
    });
    let sources = [1, 2, 1].map(|index| Entity::from_raw_u32(index).expect("an entity"));
    for source in sources {
        bench.apply_spec(&EffectSpec::new(rage.clone()).from(source)).unwrap();
    }
    let stacks: Vec<u32> = bench.effects.iter().map(ActiveEffect::stacks).collect();
    assert_eq!(stacks, [2, 1]);
    assert_eq!(bench.effects.count(rage.id(), None, true), 3);
    assert_eq!(bench.effects.count(rage.id(), Some(sources[0]), true), 2);
    let first = bench.first().id();
    assert!(bench.remove(first, Some(1)));
    assert_eq!(bench.first().stacks(), 1);
    assert!(bench.remove(first, Some(1)) && !bench.remove(first, None));
}

#[test]
fn tags_decide_about_what_is_applied() {
    let mut bench = Bench::new();
    let chill = bench.book.add(Effect {
        tags: tags(&["Effect.Frost"]),
        apply_if: TagRequirements {
            require: tags(&["State.Wet"]),
            forbid: tags(&["State.Immune"]),
        },
        ..lasting(10)
    });
    assert_eq!(bench.apply(&chill), Err(EffectRefused::MissingTag(tag("State.Wet"))));
    bench.tags.add(tag("State.Wet.Rain"));
    bench.apply(&chill).unwrap();
    bench.tags.add(tag("State.Immune"));
    assert_eq!(
        bench.apply(&chill),
        Err(EffectRefused::ForbiddenTag(tag("State.Immune")))
    );
    bench.tags.remove(tag("State.Immune"));
    let fire = bench.book.add(Effect {
        removes: tags(&["Effect.Frost"]),
        blocks: tags(&["Effect"]),
        ..lasting(10)
    });
    let EffectOutcome::Started(fire) = bench.apply(&fire).unwrap() else {
        panic!("it starts")
    };
    assert_eq!(bench.effects.len(), 1);
    assert_eq!(bench.apply(&chill), Err(EffectRefused::Blocked(fire)));
    let gone = EffectSpec::default();
    assert_eq!(bench.apply_spec(&gone), Err(EffectRefused::NotLoaded));
}

#[test]
fn an_inhibited_effect_is_there_and_does_nothing() {
    let mut bench = Bench::new();
    let aura = bench.book.add(Effect {
        modifiers: adds(10.0),
        grants: tags(&["State.Glowing"]),
        works_if: TagRequirements {
            forbid: tags(&["State.Silenced"]),
            ..TagRequirements::default()
        },
        ..lasting(100)
    });
    bench.tags.add(tag("State.Silenced"));
    bench.apply(&aura).unwrap();
    assert_eq!((bench.power(), bench.tags.has(tag("State.Glowing"))), (100.0, false));
    assert_eq!(bench.effects.count(aura.id(), None, true), 0);
    assert_eq!(bench.effects.count(aura.id(), None, false), 1);
    bench.tags.remove(tag("State.Silenced"));
    bench.told();
    bench.tick(10);
    assert!(matches!(
        &bench.told()[..],
        [Output::Inhibited {
            is_inhibited: false,
            ..
        }]
    ));
    assert_eq!((bench.power(), bench.tags.has(tag("State.Glowing"))), (110.0, true));
    // Its time went on.
    assert_eq!(bench.first().remaining(), Some(ms(90)));
}

#[test]
fn two_that_inhibit_each_other_come_to_an_end() {
    let mut bench = Bench::new();
    let one = |grants: &str, forbid: &str| Effect {
        grants: tags(&[grants]),
        works_if: TagRequirements {
            forbid: tags(&[forbid]),
            ..TagRequirements::default()
        },
        ..lasting(100)
    };
    let (a, b) = (
        bench.book.add(one("State.A", "State.B")),
        bench.book.add(one("State.B", "State.A")),
    );
    bench.apply(&a).unwrap();
    bench.apply(&b).unwrap();
    let works: Vec<bool> = bench.effects.iter().map(|active| !active.is_inhibited()).collect();
    assert_eq!((works, bench.out.unsettled), (vec![true, false], 0));
    // Each takes away what the next one needs, in a ring of three: nothing fits, so it is left at that, and counted.
    let mut bench = Bench::new();
    for (grants, forbid) in [("State.A", "State.B"), ("State.B", "State.C"), ("State.C", "State.A")] {
        let effect = bench.book.add(one(grants, forbid));
        bench.apply(&effect).unwrap();
    }
    bench.tick(1);
    assert!(bench.out.unsettled > 0);
    bench.tick(100);
    assert!(bench.effects.is_empty() && bench.tags.is_empty());
}

#[test]
fn there_is_room_for_so_many() {
    let mut bench = Bench::new();
    let one = bench.book.add(lasting(10));
    for _ in 0..LIMITS.effects {
        bench.apply(&one).unwrap();
    }
    assert_eq!(bench.apply(&one), Err(EffectRefused::TooMany { limit: LIMITS.effects }));
    bench.tick(10);
    bench.apply(&one).unwrap();
}

#[test]
fn an_effect_whose_definition_is_gone_is_gone() {
    let mut bench = Bench::new();
    let bless = bench.book.add(Effect {
        modifiers: adds(50.0),
        grants: tags(&["State.Blessed"]),
        ..lasting(100)
    });
    bench.apply(&bless).unwrap();
    bench.book.remove(bless.id());
    bench.told();
    bench.tick(1);
    assert!(matches!(
        &bench.told()[..],
        [Output::Removed { why: Removal::Gone, .. }]
    ));
    assert_eq!((bench.power(), bench.tags.is_empty()), (100.0, true));
}

#[test]
fn magnitudes_come_from_levels_attributes_and_callers() {
    let own = Attributes::new([AttributeDef::new(power(), 40.0)]).unwrap();
    let spec = EffectSpec::default().level(2.5).given(tag("Data.Damage"), 7.0);
    let value = |magnitude: Magnitude| magnitude.evaluate(&spec, Some(&own), None);
    assert_eq!(value(Magnitude::Constant(3.0)), Ok(3.0));
    let (base, per_level) = (10.0, 4.0);
    assert_eq!(value(Magnitude::Scaled { base, per_level }), Ok(16.0));
    assert_eq!(value(Magnitude::Levels(vec![1.0, 2.0, 4.0])), Ok(3.0));
    assert_eq!(value(Magnitude::Levels(vec![1.0, 2.0])), Ok(2.0));
    let of = |of: Whose| Magnitude::Attribute {
        of,
        attribute: power(),
        factor: 0.5,
        plus: 1.0,
    };
    assert_eq!(value(of(Whose::Source)), Ok(21.0));
    let attribute = power();
    let of_nobody = MagnitudeError::NoAttribute {
        of: Whose::Target,
        attribute,
    };
    assert_eq!(value(of(Whose::Target)), Err(of_nobody));
    assert_eq!(value(Magnitude::Given(tag("Data.Damage"))), Ok(7.0));
    let missing = tag("Data.Nothing");
    assert_eq!(value(Magnitude::Given(missing)), Err(MagnitudeError::NotGiven(missing)));
    let nowhere = EffectSpec::default().level(f32::NAN);
    assert_eq!(
        Magnitude::Levels(vec![5.0, 6.0]).evaluate(&nowhere, None, None),
        Ok(5.0)
    );
}
