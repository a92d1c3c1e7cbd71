//! Any effects in any order, against a simple model that passes a millisecond at a time and works everything out anew.

use bevy_asset::Handle;
use bevy_ecs::entity::Entity;
use proptest::prelude::*;

use super::*;

const KINDS: usize = 8;

#[derive(Clone, Debug)]
enum Deed {
    Apply { kind: usize, source: u32 },
    Remove { nth: usize, stacks: Option<u32> },
    RemoveDots,
    Arm,
    Disarm,
    Pass(u64),
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        6 => (0..KINDS, 1u32..3).prop_map(|(kind, source)| Deed::Apply { kind, source }),
        1 => (0usize..6, prop::option::of(1u32..3)).prop_map(|(nth, stacks)| Deed::Remove { nth, stacks }),
        1 => Just(Deed::RemoveDots),
        1 => Just(Deed::Arm),
        1 => Just(Deed::Disarm),
        5 => (1u64..40).prop_map(Deed::Pass),
    ]
}

/// The effects that are applied, by kind.
fn kinds() -> [Effect; KINDS] {
    let dot = tags(&["Effect.Dot"]);
    let stacking = |by, limit, restart, expires| {
        Some(Stacking {
            by,
            limit,
            duration: restart,
            period: restart,
            expires,
        })
    };
    let cues = || FiredCues {
        active: vec![tag("Cue.Active")],
        executed: vec![tag("Cue.Executed")],
    };
    let works_if = |require: &[&str], forbid: &[&str]| TagRequirements {
        require: tags(require),
        forbid: tags(forbid),
    };
    [
        Effect {
            modifiers: adds(-3.0),
            ..Effect::default()
        },
        Effect {
            tags: tags(&["Effect.Buff"]),
            modifiers: adds(10.0),
            ..lasting(50)
        },
        Effect {
            tags: dot.clone(),
            stacking: stacking(StackBy::Target, 3, Restart::Restart, Expiry::OneStack),
            cues: cues(),
            ..periodic(30, 10, false)
        },
        Effect {
            grants: dot.clone(),
            stacking: stacking(StackBy::Source, 2, Restart::Keep, Expiry::All),
            ..periodic(25, 10, true)
        },
        Effect {
            duration: EffectDuration::Infinite,
            modifiers: vec![modifier(Operation::Multiply, Magnitude::Constant(2.0))],
            grants: tags(&["Model.Shielded"]),
            works_if: works_if(&["Model.Armed"], &[]),
            cues: cues(),
            ..Effect::default()
        },
        Effect {
            grants: tags(&["Model.Quiet"]),
            works_if: works_if(&[], &["Model.Shielded"]),
            cues: cues(),
            ..periodic(40, 7, false)
        },
        Effect {
            removes: dot,
            apply_if: works_if(&[], &["Model.Shielded"]),
            ..Effect::default()
        },
        Effect {
            blocks: tags(&["Effect.Buff"]),
            ..lasting(20)
        },
    ]
}

const SHIELD: usize = 4;
const QUIET: usize = 5;

/// An effect of the model.
#[derive(Clone, Debug, PartialEq)]
struct Plain {
    id: u64,
    kind: usize,
    source: u32,
    stacks: u32,
    remaining: Option<u64>,
    to_period: Option<u64>,
}

#[derive(Default)]
struct Model {
    list: Vec<Plain>,
    next: u64,
    armed: u32,
    base: i64,
    executed: usize,
}

impl Model {
    fn works(&self, one: &Plain) -> bool {
        let is_shielded = self.armed > 0 && self.list.iter().any(|one| one.kind == SHIELD);
        match one.kind {
            SHIELD => self.armed > 0,
            QUIET => !is_shielded,
            _ => true,
        }
    }

    fn has(&self, kind: usize) -> bool {
        self.list.iter().any(|one| one.kind == kind)
    }

    fn full(kind: usize) -> (Option<u64>, Option<u64>) {
        match kind {
            1 => (Some(50), None),
            2 => (Some(30), Some(10)),
            3 => (Some(25), Some(10)),
            QUIET => (Some(40), Some(7)),
            7 => (Some(20), None),
            _ => (None, None),
        }
    }

    /// Whether it was applied.
    fn apply(&mut self, kind: usize, source: u32) -> bool {
        let is_shielded = self.armed > 0 && self.has(SHIELD);
        match kind {
            0 => self.base -= 3,
            1 if self.has(7) => return false,
            6 if is_shielded => return false,
            6 => self.remove_dots(),
            _ => self.start(kind, source),
        }
        true
    }

    fn remove_dots(&mut self) {
        self.list.retain(|one| one.kind != 2 && one.kind != 3);
    }

    fn start(&mut self, kind: usize, source: u32) {
        let (remaining, to_period) = Self::full(kind);
        let joins = |one: &&mut Plain| one.kind == kind && (kind == 2 || kind == 3 && one.source == source);
        match self.list.iter_mut().find(joins) {
            Some(one) if kind == 2 => {
                one.stacks = (one.stacks + 1).min(3);
                (one.remaining, one.to_period, one.source) = (remaining, to_period, source);
            }
            Some(one) => one.stacks = (one.stacks + 1).min(2),
            None => {
                let id = self.next;
                self.next += 1;
                let stacks = 1;
                self.list.push(Plain {
                    id,
                    kind,
                    source,
                    stacks,
                    remaining,
                    to_period,
                });
                if kind == 3 {
                    self.execute(self.list.len() - 1);
                }
            }
        }
    }

    fn execute(&mut self, at: usize) {
        if self.works(&self.list[at]) {
            self.base -= i64::from(self.list[at].stacks);
            self.executed += 1;
        }
    }

    fn pass_one(&mut self) {
        for one in &mut self.list {
            one.remaining = one.remaining.map(|time| time - 1);
            one.to_period = one.to_period.map(|time| time - 1);
        }
        let mut at = 0;
        while at < self.list.len() {
            if self.list[at].to_period == Some(0) {
                self.list[at].to_period = Self::full(self.list[at].kind).1;
                self.execute(at);
            }
            let one = &mut self.list[at];
            match one.remaining {
                Some(0) if one.kind == 2 && one.stacks > 1 => {
                    one.stacks -= 1;
                    one.remaining = Some(30);
                    at += 1;
                }
                Some(0) => {
                    self.list.remove(at);
                }
                _ => at += 1,
            }
        }
    }

    fn current(&self) -> i64 {
        let working = |kind| {
            self.list
                .iter()
                .filter(move |one| one.kind == kind && self.works(one))
                .count()
        };
        (self.base + 10 * working(1) as i64) << working(SHIELD)
    }

    fn tags(&self) -> Vec<(String, u32)> {
        let granted = |kind| {
            self.list
                .iter()
                .filter(|one| one.kind == kind && self.works(one))
                .count() as u32
        };
        let all = [
            ("Effect.Dot", granted(3)),
            ("Model.Armed", self.armed),
            ("Model.Quiet", granted(QUIET)),
            ("Model.Shielded", granted(SHIELD)),
        ];
        let all = all.into_iter().filter(|(_, count)| *count > 0);
        all.map(|(name, count)| (name.to_owned(), count)).collect()
    }
}

fn millis(time: Option<Duration>) -> Option<u64> {
    time.map(|time| time.as_millis() as u64)
}

/// What the model knows of the effects that are there.
fn plain(bench: &Bench, handles: &[Handle<Effect>]) -> Vec<Plain> {
    let plain = |active: &ActiveEffect| Plain {
        id: active.id().0,
        kind: handles
            .iter()
            .position(|handle| *handle == active.spec().effect)
            .expect("a kind"),
        source: active.spec().source.map_or(0, |source| source.index_u32()),
        stacks: active.stacks(),
        remaining: millis(active.remaining()),
        to_period: millis(active.to_period()),
    };
    bench.effects.iter().map(plain).collect()
}

/// What was told so far must fit to what is there.
#[derive(Default)]
struct Ledger {
    there: i64,
    /// By tag and source, as who plays them finds them again.
    cues: std::collections::BTreeMap<(GameplayTag, Option<Entity>), i64>,
    executed: usize,
}

impl Ledger {
    fn read(&mut self, told: &[Output]) {
        for output in told {
            match output {
                Output::Applied(_) => self.there += 1,
                Output::Removed { .. } => self.there -= 1,
                Output::Periodic { .. } => self.executed += 1,
                Output::Cue { tag, kind, origin } => {
                    let change = match kind {
                        CueAct::Add => 1,
                        CueAct::Remove => -1,
                        CueAct::Execute | CueAct::Join => 0,
                    };
                    *self.cues.entry((*tag, origin.source)).or_default() += change;
                }
                _ => {}
            }
        }
    }
}

fn act(bench: &mut Bench, model: &mut Model, handles: &[Handle<Effect>], deed: &Deed) -> Result<(), TestCaseError> {
    match *deed {
        Deed::Apply { kind, source } => {
            let from = Entity::from_raw_u32(source).expect("an entity");
            let applied = bench.apply_spec(&EffectSpec::new(handles[kind].clone()).from(from));
            prop_assert_eq!(applied.is_ok(), model.apply(kind, source));
        }
        Deed::Remove { nth, stacks } => {
            let Some(one) = model.list.get_mut(nth) else {
                return Ok(());
            };
            prop_assert!(bench.remove(EffectId(one.id), stacks));
            match stacks {
                Some(stacks) if stacks < one.stacks => one.stacks -= stacks,
                _ => {
                    model.list.remove(nth);
                }
            }
        }
        Deed::RemoveDots => {
            let (mut bearer, book, out) = bench.bearer();
            bearer.remove_with(book, &tags(&["Effect.Dot"]), out);
            model.remove_dots();
        }
        Deed::Arm => {
            bench.tags.add(tag("Model.Armed"));
            model.armed += 1;
            bench.tick(0);
        }
        Deed::Disarm => {
            bench.tags.remove(tag("Model.Armed"));
            model.armed = model.armed.saturating_sub(1);
            bench.tick(0);
        }
        Deed::Pass(time) => {
            bench.tick(time);
            (0..time).for_each(|_| model.pass_one());
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn effects_do_what_the_model_does(deeds in prop::collection::vec(deed(), 1..60)) {
        let mut bench = Bench::new();
        let handles: Vec<Handle<Effect>> = kinds().into_iter().map(|effect| bench.book.add(effect)).collect();
        let mut model = Model { base: 100, ..Model::default() };
        let mut ledger = Ledger::default();
        for deed in &deeds {
            act(&mut bench, &mut model, &handles, deed)?;
            prop_assert_eq!(plain(&bench, &handles), model.list.clone(), "after {:?}", deed);
            let found: Vec<_> = bench.tags.iter().map(|(tag, count)| (tag.to_string(), count)).collect();
            prop_assert_eq!(found, model.tags(), "after {:?}", deed);
            prop_assert_eq!(bench.power() as i64, model.current(), "after {:?}", deed);
            prop_assert_eq!(bench.attributes.base(power()), Some(model.base as f32));
            ledger.read(&bench.told());
            prop_assert_eq!(ledger.there, model.list.len() as i64);
            prop_assert_eq!(ledger.executed, model.executed);
            let with_cues = |one: &&Plain| matches!(one.kind, 2 | SHIELD | QUIET) && model.works(one);
            prop_assert!(ledger.cues.values().all(|count| *count >= 0), "after {:?}: {:?}", deed, ledger.cues);
            prop_assert_eq!(ledger.cues.values().sum::<i64>(), model.list.iter().filter(with_cues).count() as i64);
        }
        prop_assert_eq!((bench.out.unsettled, bench.out.periods_dropped), (0, 0));
    }

    /// A frame of 40 ms is 40 frames of 1 ms.
    #[test]
    fn it_does_not_matter_in_how_many_steps_time_passes(
        deeds in prop::collection::vec(deed(), 1..40),
        step in 1u64..20,
    ) {
        let run = |step: u64| {
            let mut bench = Bench::new();
            let handles: Vec<Handle<Effect>> = kinds().into_iter().map(|effect| bench.book.add(effect)).collect();
            let mut model = Model::default();
            let mut told = Vec::new();
            for deed in &deeds {
                match deed {
                    Deed::Pass(time) => {
                        let mut rest = *time;
                        while rest > 0 {
                            bench.tick(rest.min(step));
                            rest -= rest.min(step);
                        }
                        (0..*time).for_each(|_| model.pass_one());
                    }
                    _ => act(&mut bench, &mut model, &handles, deed).expect("it is as in the model"),
                }
                told.extend(bench.told().iter().map(kind_of));
            }
            (plain(&bench, &handles), bench.attributes, told)
        };
        prop_assert_eq!(run(step), run(1000));
    }
}

/// Which output it is, of which effect.
fn kind_of(output: &Output) -> (&'static str, Option<u64>) {
    let id = |info: &EffectInfo| info.id.map(|id| id.0);
    match output {
        Output::Applied(info) => ("applied", id(info)),
        Output::Executed { info, .. } => ("executed", id(info)),
        Output::Periodic { info, .. } => ("periodic", id(info)),
        Output::Stacked { info, .. } => ("stacked", id(info)),
        Output::Removed { info, .. } => ("removed", id(info)),
        Output::Inhibited { info, .. } => ("inhibited", id(info)),
        Output::Cue { .. } => ("cue", None),
        Output::Rejected { .. } => ("rejected", None),
        Output::Ability(_) => ("ability", None),
    }
}
