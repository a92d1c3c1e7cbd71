//! Routes against their definition, and what is filtered, translated and culled.

use bevy_math::Vec3;
use proptest::prelude::*;

use super::{
    cull::is_culled,
    filter::CueFilter,
    translate::{CueTranslation, translated},
    *,
};

fn tag(name: &str) -> GameplayTag {
    GameplayTag::new(name).expect("a tag")
}

#[test]
fn a_cue_goes_from_the_special_to_the_general_until_one_overrides() {
    let mut routes = Routes::default();
    routes.insert(NotifyId(0), tag("Route.Hit"), false);
    routes.insert(NotifyId(1), tag("Route.Hit.Fire"), false);
    routes.insert(NotifyId(2), tag("Route.Hit.Ice"), true);
    assert_eq!(routes.of(tag("Route.Hit.Fire.Blue"))[..], [NotifyId(1), NotifyId(0)]);
    assert_eq!(routes.of(tag("Route.Hit.Ice"))[..], [NotifyId(2)]);
    assert_eq!(routes.of(tag("Route.Hit"))[..], [NotifyId(0)]);
    assert!(routes.of(tag("Route")).is_empty());
    routes.remove(NotifyId(2), tag("Route.Hit.Ice"));
    assert_eq!(routes.of(tag("Route.Hit.Ice"))[..], [NotifyId(0)]);
    assert!(!routes.has(tag("Route.Hit.Ice")) && routes.has(tag("Route.Hit")));
}

proptest! {
    /// The table against a walk of names, in which notifies come and go.
    #[test]
    fn routes_are_what_a_walk_of_names_finds(
        steps in prop::collection::vec(("[ab](\\.[ab]){0,3}", any::<bool>(), any::<bool>()), 1..20),
        asked in prop::collection::vec("[ab](\\.[ab]){0,3}", 1..6),
    ) {
        let name = |name: &str| format!("RouteModel.{name}");
        let mut routes = Routes::default();
        let mut known: Vec<(u32, String, bool)> = Vec::new();
        for (id, (of, overrides, goes)) in (0..).zip(&steps) {
            routes.insert(NotifyId(id), tag(&name(of)), *overrides);
            known.push((id, name(of), *overrides));
            // Asked in between, so that the table is there to be wrong.
            routes.of(tag(&name(&asked[0])));
            if *goes {
                let (id, of, _) = known.remove(known.len() / 2);
                routes.remove(NotifyId(id), tag(&of));
            }
        }
        for asked in &asked {
            let mut expected = Vec::new();
            let mut rest = Some(name(asked));
            while let Some(of) = rest {
                let here: Vec<_> = known.iter().filter(|(_, name, _)| *name == of).collect();
                expected.extend(here.iter().map(|(id, ..)| NotifyId(*id)));
                let stops = here.iter().any(|(_, _, overrides)| *overrides);
                rest = of.rsplit_once('.').filter(|_| !stops).map(|(parent, _)| parent.to_owned());
            }
            prop_assert_eq!(routes.of(tag(&name(asked))).to_vec(), expected);
        }
    }
}

#[test]
fn filters_take_kinds() {
    let fire = tag("Filter.Hit.Fire");
    let hits = CueFilter::Tags([tag("Filter.Hit")].into_iter().collect());
    assert!(hits.has(fire) && hits.has(tag("Filter.Hit")) && !hits.has(tag("Filter")));
    assert!(CueFilter::All.has(fire) && !CueFilter::None.has(fire));
}

#[test]
fn a_translation_keeps_the_kind_where_there_is_one() {
    let of = |from: &str, to: &str| CueTranslation {
        from: tag(from),
        to: tag(to),
    };
    let all = [
        of("Tongue.Hit", "Tongue.Metal"),
        of("Tongue.Hit.Fire", "Tongue.Melt"),
        of("Tongue.Hit", "Tongue.Never"),
    ];
    tag("Tongue.Metal.Ice");
    assert_eq!(translated(tag("Tongue.Hit"), &all), Some(tag("Tongue.Metal")));
    assert_eq!(translated(tag("Tongue.Hit.Ice"), &all), Some(tag("Tongue.Metal.Ice")));
    assert_eq!(
        translated(tag("Tongue.Hit.Wind"), &all),
        Some(tag("Tongue.Metal")),
        "nobody made Metal.Wind"
    );
    assert_eq!(translated(tag("Tongue.Hit.Fire"), &all), Some(tag("Tongue.Melt")));
    assert_eq!(translated(tag("Tongue.Other"), &all), None);
    // Not in a circle.
    let circle = [of("Tongue.A", "Tongue.B"), of("Tongue.B", "Tongue.A")];
    assert_eq!(translated(tag("Tongue.A"), &circle), Some(tag("Tongue.B")));
    // A name that would be too long is not put together.
    let long = format!("Tongue.{}", "x".repeat(245));
    let (from, to) = (tag("Tongue.S"), tag(&long));
    assert_eq!(
        translated(tag("Tongue.S.kind"), &[CueTranslation { from, to }]),
        Some(to)
    );
}

#[test]
fn what_is_far_from_everybody_is_culled() {
    let listeners = [Vec3::ZERO, Vec3::X * 100.0];
    let at = |x: f32| Some(Vec3::X * x);
    assert!(is_culled(&listeners, at(50.0), Some(49.0)));
    assert!(!is_culled(&listeners, at(50.0), Some(50.0)));
    assert!(!is_culled(&listeners, at(120.0), Some(49.0)));
    assert!(!is_culled(&listeners, at(50.0), None));
    assert!(!is_culled(&listeners, None, Some(1.0)));
    assert!(!is_culled(&[], at(50.0), Some(1.0)), "nobody says who listens");
}
