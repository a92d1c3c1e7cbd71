//! Values of the app's own types on their way: parts of what reads itself, and what patches read and set.

use bevy_reflect::{ReflectDeserialize, ReflectSerialize, std_traits::ReflectDefault};
use serde::{Deserialize, Serialize};

use super::*;
use crate::codec::Fields;

mod own_was {
    use super::*;
    #[derive(Reflect, Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
    #[reflect(Serialize, Deserialize)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    pub struct Outer {
        pub inner: OldInner,
        pub state: OldState,
    }
    #[derive(Reflect, Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    pub struct OldInner {
        pub value: u32,
    }
    #[derive(Reflect, Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
    #[reflect(Serialize, Deserialize)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    pub enum OldState {
        #[default]
        Idle,
        Goes {
            value: u32,
        },
    }
}
mod own_is {
    use super::*;
    #[derive(Reflect, Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
    #[reflect(Serialize, Deserialize)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    pub struct Outer {
        pub inner: Inner,
        pub state: State,
    }
    #[derive(Reflect, Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    pub struct Inner {
        pub value: u32,
    }
    #[derive(Reflect, Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
    #[reflect(Serialize, Deserialize)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    pub enum State {
        #[default]
        Idle,
        Goes {
            value: u32,
        },
    }
}

/// What a type that serialises itself holds has the app's own types: entries speak of them by the names of their time.
#[test]
fn a_part_of_a_type_that_reads_itself_is_found_under_its_former_name() {
    let tenfold = |fields: &mut Fields| {
        let value: u32 = fields.get("value")?;
        fields.set("value", value * 10);
        Ok(())
    };
    let list = Migrations::game()
        .entry("tenfold")
        .patch("game::OldInner", tenfold)
        .patch("game::OldState::Goes", tenfold)
        .entry("new names")
        .rename_type("game::OldInner", "game::Inner")
        .rename_type("game::OldState", "game::State")
        .entry("another of the old name")
        .patch("game::OldInner", |_| Err("nothing is called so any more".into()))
        .entry("tenfold again")
        .patch("game::Inner", tenfold)
        .patch("game::State::Goes", tenfold);
    let plan = game(list);
    let old = own_was::Outer {
        inner: own_was::OldInner { value: 1 },
        state: own_was::OldState::Goes { value: 2 },
    };
    let expected = own_is::Outer {
        inner: own_is::Inner { value: 100 },
        state: own_is::State::Goes { value: 200 },
    };
    assert_eq!(
        cook(&old).load::<own_is::Outer>(&plan).expect("it can be read"),
        expected
    );
    // The enum on its own reads itself whole.
    let read: own_is::State = cook(&old.state).load(&plan).expect("it can be read");
    assert_eq!(read, expected.state);
}

#[test]
fn a_patch_reads_tuples_and_what_holds_them() {
    #[derive(Reflect, Clone, Debug, PartialEq, Default)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    struct Part(u8, u8);
    #[derive(Reflect, Clone, Debug, PartialEq, Default)]
    #[reflect(Default)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    struct Inner {
        part: Part,
        pair: (u8, u8),
    }
    #[derive(Reflect, Clone, Debug, PartialEq, Default)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    struct Outer {
        part: Part,
        inner: Inner,
    }
    let inner = Inner {
        part: Part(3, 4),
        pair: (5, 6),
    };
    let old = Outer {
        part: Part(1, 2),
        inner: inner.clone(),
    };
    let list = Migrations::game()
        .entry("read and set")
        .patch("game::Outer", move |outer| {
            assert_eq!(outer.get::<Part>("part")?, Part(1, 2));
            // Put back in another order, they are still told by their numbers.
            let part = outer.inner("part")?;
            let first = part.take("0")?;
            part.put("0", first);
            assert_eq!(outer.get::<Part>("part")?, Part(1, 2));
            let read: Inner = outer.get("inner")?;
            assert_eq!(read, inner);
            outer.set("inner", read);
            Ok(())
        });
    assert_eq!(cook(&old).load::<Outer>(&game(list)).expect("it can be read"), old);
}

/// A type that has a default takes it for what does not fit, and says nothing.
#[test]
fn a_patch_does_not_read_defaults_for_values() {
    mod was {
        use super::*;
        #[derive(Reflect, Clone, Debug, PartialEq, Default)]
        #[reflect(no_auto_register)]
        #[type_path = "game"]
        pub struct Holder {
            pub coin: Held,
        }
        #[derive(Reflect, Clone, Debug, PartialEq, Default)]
        #[reflect(no_auto_register)]
        #[type_path = "game"]
        pub struct Held {
            pub value: u8,
        }
    }
    mod is {
        use super::*;
        #[derive(Reflect, Clone, Debug, PartialEq, Default)]
        #[reflect(no_auto_register)]
        #[type_path = "game"]
        pub struct Holder {
            pub coin: Held,
        }
        #[derive(Reflect, Clone, Debug, PartialEq, Default)]
        #[reflect(Default)]
        #[reflect(no_auto_register)]
        #[type_path = "game"]
        pub struct Held {
            pub value: u32,
        }
    }
    let list = Migrations::game().entry("read").patch("game::Holder", |holder| {
        let coin: is::Held = holder.get("coin")?;
        holder.set("coin", coin);
        Ok(())
    });
    let old = was::Holder {
        coin: was::Held { value: 7 },
    };
    let error = error_of(cook(&old).load::<is::Holder>(&game(list)));
    assert!(error.to_string().contains("one by one, by `inner`"), "{error}");
}

#[test]
fn what_cannot_be_taken_apart_is_not_passed_over() {
    #[derive(Reflect, Debug, Default)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    struct Byte {
        value: u8,
    }
    let list = Migrations::game().entry("all numbers").patch("u8", |_| Ok(()));
    let error = error_of(cook(&Byte { value: 1 }).load::<Byte>(&game(list)));
    assert!(error.to_string().contains("a `u8` cannot be taken apart"), "{error}");
}
