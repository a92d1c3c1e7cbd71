//! Each operation of a migration, at the top and inside other values.

use bevy_platform::collections::HashMap;

use super::*;
use crate::codec::Fields;

mod was {
    use super::*;

    #[derive(Reflect, Clone, Debug, PartialEq, Default)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    pub struct Widget {
        pub visiblity: u8,
        pub shape: Shape,
        pub inner: Vec<Binding>,
        pub by_name: HashMap<String, Binding>,
        pub boxed: Slot<Binding>,
        pub sound: Handle<Sound>,
    }

    #[derive(Reflect, Clone, Debug, PartialEq, Default)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    pub struct Binding {
        pub property: String,
        pub percent: f32,
    }

    #[derive(Reflect, Clone, Debug, PartialEq, Default)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    pub struct Slot<T>(pub T);

    #[derive(Reflect, Clone, Debug, PartialEq, Default)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    pub enum Shape {
        #[default]
        Point,
        Ball {
            radius: f32,
        },
    }
}

mod is {
    use super::*;

    #[derive(Reflect, Clone, Debug, PartialEq, Default)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    pub struct Widget {
        pub visibility: u8,
        pub shape: Shape,
        pub inner: Vec<Link>,
        pub by_name: HashMap<String, Link>,
        pub boxed: Slot<Link>,
        pub sound: Handle<Sound>,
        pub title: String,
    }

    #[derive(Reflect, Clone, Debug, PartialEq, Default)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    pub struct Link {
        pub property: String,
        pub points: f32,
    }

    #[derive(Reflect, Clone, Debug, PartialEq, Default)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    pub struct Slot<T>(pub T);

    #[derive(Reflect, Clone, Debug, PartialEq, Default)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    pub enum Shape {
        #[default]
        Point,
        Sphere {
            diameter: f32,
            steps: u32,
        },
    }
}

fn history() -> Migrations {
    Migrations::game()
        .entry("initial")
        .entry("rename Visiblity")
        .rename_field("game::Widget", "visiblity", "visibility")
        .patch("game::Binding", |binding| {
            if binding.get::<String>("property")? == "Visiblity" {
                binding.set("property", "Visibility".to_owned());
            }
            Ok(())
        })
        .entry("bindings are links")
        .rename_type("game::Binding", "game::Link")
        .entry("points, not percent")
        .patch("game::Link", |link| {
            let percent: f32 = link.get("percent")?;
            link.take("percent")?;
            link.set("points", percent * 10.0);
            Ok(())
        })
        .entry("shapes")
        .rename_variant("game::Shape", "Ball", "Sphere")
        .rename_field("game::Shape::Sphere", "radius", "diameter")
        .patch("game::Shape::Sphere", |sphere| {
            let radius: f32 = sphere.get("diameter")?;
            sphere.set("diameter", radius * 2.0);
            Ok(())
        })
        .default_field("game::Shape::Sphere", "steps", 12_u8)
        .entry("titles")
        .default_field("game::Widget", "title", "untitled".to_owned())
}

#[test]
fn a_whole_history_runs() {
    let binding = |percent| was::Binding {
        property: "Visiblity".into(),
        percent,
    };
    let link = |points| is::Link {
        property: "Visibility".into(),
        points,
    };
    let sound: Handle<Sound> = bevy_asset::uuid_handle!("b2f2b1a6-58f4-4f66-8a8c-0d5c2f1b7a12");
    let old = was::Widget {
        visiblity: 3,
        shape: was::Shape::Ball { radius: 2.0 },
        inner: vec![binding(1.0), binding(2.0)],
        by_name: [("a".to_owned(), binding(3.0))].into_iter().collect(),
        boxed: was::Slot(binding(4.0)),
        sound: sound.clone(),
    };
    let read: is::Widget = cook(&old).load(&game(history())).expect("it can be read");
    let expected = is::Widget {
        visibility: 3,
        shape: is::Shape::Sphere {
            diameter: 4.0,
            steps: 12,
        },
        inner: vec![link(10.0), link(20.0)],
        by_name: [("a".to_owned(), link(30.0))].into_iter().collect(),
        boxed: is::Slot(link(40.0)),
        sound,
        title: "untitled".into(),
    };
    assert_eq!(read, expected);
}

#[test]
fn a_class_is_found_under_its_new_name() {
    let plan = game(history());
    assert_eq!(plan.renamed("game::Binding"), "game::Link");
    assert_eq!(plan.renamed("game::Slot<game::Binding>"), "game::Slot<game::Link>");
    assert_eq!(
        plan.renamed("(game::Binding, my::game::Binding, game::BindingTwo)"),
        "(game::Link, my::game::Binding, game::BindingTwo)"
    );
    let old = was::Binding {
        property: "x".into(),
        percent: 5.0,
    };
    let read: is::Link = cook(&old).load(&plan).expect("it can be read");
    assert_eq!(read.points, 50.0);
}

#[derive(Reflect, Clone, Debug, PartialEq, Default)]
#[reflect(no_auto_register)]
#[type_path = "game"]
struct Coin {
    value: u8,
    note: String,
}

fn coin(value: u8) -> Coin {
    Coin {
        value,
        note: "new".into(),
    }
}

fn migrate(value: &Coin, list: Migrations) -> Result<Coin, DecodeError> {
    cook(value).load(&game(list))
}

#[test]
fn fields_are_dropped_and_get_their_default() {
    let list = Migrations::game()
        .entry("no notes")
        .drop_field("game::Coin", "note")
        .drop_field("game::Coin", "nothing")
        .entry("notes again")
        .default_field("game::Coin", "note", "none".to_owned())
        .default_field("game::Coin", "value", 99_u8);
    assert_eq!(
        migrate(&coin(7), list).expect("it can be read"),
        Coin {
            note: "none".into(),
            ..coin(7)
        }
    );
    let error = error_of(migrate(
        &coin(7),
        Migrations::game().entry("no notes").drop_field("game::Coin", "note"),
    ));
    assert!(matches!(error, MigrateError::MissingField { field, .. } if field == "note"));
}

#[derive(Reflect, Clone, Debug, PartialEq, Default)]
#[reflect(no_auto_register)]
#[type_path = "game"]
struct Purse {
    coins: Vec<Coin>,
    by_name: HashMap<String, Coin>,
    #[reflect(default)]
    best: Coin,
    name: String,
}

#[test]
fn values_of_a_dropped_type_are_left_out() {
    let purse = Purse {
        coins: vec![coin(1), coin(2)],
        by_name: [("a".to_owned(), coin(3))].into_iter().collect(),
        best: coin(4),
        name: "mine".into(),
    };
    let plan = game(Migrations::game().entry("no coins").drop_type("game::Coin"));
    let read: Purse = cook(&purse).load(&plan).expect("it can be read");
    let expected = Purse {
        name: "mine".into(),
        ..Purse::default()
    };
    assert_eq!(read, expected);
    let left = cook(&coin(1))
        .load_with(&plan, &registry::<Coin>())
        .expect("it can be read");
    assert!(left.is_none());
    // After it is renamed, or before.
    let plan = game(
        Migrations::game()
            .entry("a")
            .rename_type("game::Coin", "game::Penny")
            .entry("b")
            .drop_type("game::Penny"),
    );
    assert!(matches!(plan.fate("game::Coin"), super::super::Fate::Dropped));
    let plan = game(
        Migrations::game()
            .entry("a")
            .drop_type("game::Penny")
            .entry("b")
            .rename_type("game::Coin", "game::Penny"),
    );
    assert!(matches!(plan.fate("game::Coin"), super::super::Fate::Is(path) if path == "game::Penny"));
}

#[test]
fn a_patch_reads_writes_and_moves() {
    let list = Migrations::game()
        .entry("all that a patch can do")
        .patch("game::Purse", |purse| {
            assert_eq!((purse.type_path(), purse.variant()), ("game::Purse", None));
            assert_eq!(purse.names().collect::<Vec<_>>(), ["coins", "by_name", "best", "name"]);
            let coins: Vec<Coin> = purse.get("coins")?;
            let value = coins.iter().map(|coin| coin.value).sum::<u8>();
            let best = purse.inner("best")?;
            best.set("value", value);
            let note = best.take("note")?;
            purse.put("name", note);
            purse.inner("best")?.set("note", "moved".to_owned());
            // A value of today may be set whole.
            purse.set("coins", vec![coins[0].clone()]);
            let by_name: HashMap<String, Coin> = purse.get("by_name")?;
            purse.set("by_name", by_name);
            Ok(())
        });
    let purse = Purse {
        coins: vec![coin(1), coin(2)],
        by_name: [("a".to_owned(), coin(3))].into_iter().collect(),
        best: coin(4),
        name: "old".into(),
    };
    let read: Purse = cook(&purse).load(&game(list)).expect("it can be read");
    let expected = Purse {
        coins: vec![coin(1)],
        by_name: [("a".to_owned(), coin(3))].into_iter().collect(),
        best: Coin {
            value: 3,
            note: "moved".into(),
        },
        name: "new".into(),
    };
    assert_eq!(read, expected);
}

#[test]
fn a_patch_that_fails_is_named() {
    type Patch = fn(&mut Fields) -> Result<(), String>;
    let cases: [(Patch, &str); 6] = [
        (|_| Err("no".into()), "no"),
        (
            |coin| coin.get::<u8>("worth").map(drop),
            "no field `worth`, only `value`, `note`",
        ),
        (|coin| coin.get::<u16>("value").map(drop), "`value` is u8, not `u16`"),
        (|coin| coin.take("worth").map(drop), "no field `worth`"),
        (|coin| coin.inner("worth").map(drop), "no field `worth`"),
        (|coin| coin.inner("value").map(drop), "`value` is u8 and has no fields"),
    ];
    for (patch, message) in cases {
        let error = error_of(migrate(
            &coin(1),
            Migrations::game().entry("broken").patch("game::Coin", patch),
        ));
        assert!(matches!(&error, MigrateError::Failed { entry, list, .. } if entry == "broken" && list == "game"));
        assert!(error.to_string().contains(message), "{error}");
    }
    let twice = Migrations::game()
        .entry("both")
        .rename_field("game::Coin", "value", "note");
    let error = error_of(migrate(&coin(1), twice));
    assert!(
        error.to_string().contains("a field `value` and a field `note`"),
        "{error}"
    );
}

#[test]
fn handles_are_moved_and_not_read() {
    let list = Migrations::game().entry("read").patch("game::Widget", |widget| {
        assert!(widget.get::<Handle<Sound>>("sound").is_err());
        let sound = widget.take("sound")?;
        widget.put("sound", sound);
        Ok(())
    });
    let sound: Handle<Sound> = bevy_asset::uuid_handle!("b2f2b1a6-58f4-4f66-8a8c-0d5c2f1b7a13");
    let old = was::Widget {
        sound: sound.clone(),
        ..was::Widget::default()
    };
    assert_eq!(
        cook(&old)
            .load::<was::Widget>(&game(list))
            .expect("it can be read")
            .sound,
        sound
    );
}

#[test]
fn a_variant_is_changed_by_a_patch() {
    let list = Migrations::game().entry("no points").patch("game::Shape", |shape| {
        if shape.variant() == Some("Point") {
            shape.set_variant("Ball");
            shape.set("radius", 0.5_f32);
        }
        Ok(())
    });
    let read: was::Shape = cook(&was::Shape::Point).load(&game(list)).expect("it can be read");
    assert_eq!(read, was::Shape::Ball { radius: 0.5 });
}

/// Of an enum that was renamed before, in a layout that is today's but for that.
#[test]
fn a_variant_is_found_under_its_enums_new_name() {
    #[derive(Reflect, Clone, Debug, PartialEq)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    enum Form {
        Ball { radius: f32 },
    }
    let list = Migrations::game()
        .entry("forms")
        .rename_type("game::Shape", "game::Form")
        .entry("larger")
        .patch("game::Form::Ball", |ball| {
            let radius: f32 = ball.get("radius")?;
            ball.set("radius", radius + 1.0);
            Ok(())
        });
    let read: Form = cook(&was::Shape::Ball { radius: 1.0 })
        .load(&game(list))
        .expect("it can be read");
    assert_eq!(read, Form::Ball { radius: 2.0 });
}

fn halves(mut coin: Fields) -> Result<Vec<(String, Fields)>, String> {
    let mut half = Fields::new();
    half.put("value", coin.take("value")?);
    Ok(vec![("game::Half".into(), half)])
}

#[test]
fn only_components_are_split() {
    let list = || Migrations::game().entry("halves").split("game::Coin", halves);
    let purse = Purse {
        coins: vec![coin(1)],
        ..Purse::default()
    };
    let error = error_of(cook(&purse).load::<Purse>(&game(list())));
    assert!(error.to_string().contains("only components can be split"), "{error}");
    let two = Migrations::game().entry("two").split("game::Coin", |coin| {
        let path = coin.type_path().to_owned();
        Ok(vec![(path.clone(), coin), (path, Fields::new())])
    });
    let error = error_of(migrate(&coin(1), two));
    assert!(matches!(&error, MigrateError::Split { type_path, .. } if type_path == "game::Coin"));
    let missing = Migrations::game().entry("none").split("game::Coin", |mut coin| {
        coin.take("worth")?;
        Ok(Vec::new())
    });
    assert!(matches!(
        error_of(migrate(&coin(1), missing)),
        MigrateError::Failed { .. }
    ));
}
