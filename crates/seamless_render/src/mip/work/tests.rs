use bevy_ecs::world::World;
use wgpu_types::TextureFormat;

use super::{
    super::{
        MipTextures,
        textures::tests::{apart, id, parts, record},
    },
    *,
};

/// All of mip streaming's books.
struct Books {
    work: MipWork,
    textures: MipTextures,
    ledger: MipLedger,
}

impl Books {
    fn new() -> Self {
        Self {
            work: MipWork::default(),
            textures: MipTextures::new(2),
            ledger: MipLedger::default(),
        }
    }

    fn come(&mut self, number: u32) {
        self.work
            .come(id(number), record(), &mut self.textures, &mut self.ledger);
    }

    fn go(&mut self, number: u32) {
        self.work.go(id(number), &mut self.textures, &mut self.ledger);
    }

    /// Who waits is let in, if there is room or nothing makes any.
    fn frame(&mut self, usable: u64, is_stuck: bool) {
        let Self { work, textures, ledger } = self;
        work.admit(usable, is_stuck, Duration::ZERO, textures, ledger);
        work.waiting.end();
    }

    fn begin(&mut self, texture: u32, to: u8) -> MipSwap {
        let from = self.ledger.get(texture).unwrap().top;
        let change = self.ledger.begin(texture, record().chain(), to).unwrap();
        MipSwap {
            id: change.id,
            texture,
            from,
            to,
        }
    }

    /// The texture has changed, and the GPU has let go of what it was before.
    fn becomes(&mut self, texture: u32, to: u8) {
        let change = self.begin(texture, to).id;
        self.ledger.staged(texture, change);
        self.ledger.sent(texture, change);
        self.ledger.swapped(texture, change);
        self.ledger.retired(change);
    }

    /// What the renderer is told, in words; what has gone has let go of everything then.
    fn orders(&mut self) -> Vec<String> {
        let mut orders = Vec::new();
        self.work.take_orders(&mut orders);
        let ledger = &mut self.ledger;
        let word = |order: MipOrder| match order {
            MipOrder::Come(id, _) => format!("come {id}"),
            MipOrder::Gone(id, left) => {
                ledger.retired(left);
                format!("gone {id}")
            }
            MipOrder::Resample(id, record) => format!("resample {id} {:?}", record.sampler()),
            MipOrder::Swap(command, staged) => {
                let MipCommand { id, from, to, .. } = command;
                format!("swap {id} {from} {to} {}", staged.is_some())
            }
        };
        orders.into_iter().map(word).collect()
    }
}

#[test]
fn a_texture_comes_with_its_tail_and_goes_without_a_rest() {
    let mut books = Books::new();
    books.come(5);
    let floor = record().chain().bytes(2);
    assert_eq!(books.ledger.sums().total(), floor);
    assert_eq!(books.orders(), [format!("come {}", id(5))]);
    books.go(5);
    books.go(5);
    assert_eq!(books.ledger.sums().retiring, floor, "until the GPU has let go of it");
    assert_eq!(books.orders(), [format!("gone {}", id(5))]);
    assert_eq!(books.ledger.sums().total(), 0);
    assert!(books.work.is_idle() && books.textures.is_empty());
}

#[test]
fn one_that_comes_again_is_another() {
    let mut books = Books::new();
    books.come(5);
    let swap = books.begin(0, 1);
    books.work.swap(&swap);
    books.come(5);
    let words = [
        format!("come {}", id(5)),
        format!("gone {}", id(5)),
        format!("come {}", id(5)),
    ];
    assert_eq!(books.orders(), words);
    books.work.send(&books.textures);
    assert_eq!(books.orders(), [""; 0], "what was planned was for the other");
    assert_eq!(books.ledger.sums().total(), record().chain().bytes(2));
}

#[test]
fn what_goes_in_the_frame_of_its_swap_is_not_swapped() {
    let mut books = Books::new();
    books.come(5);
    books.come(6);
    books.orders();
    let swaps = [books.begin(0, 1), books.begin(1, 0)];
    swaps.iter().for_each(|swap| books.work.swap(swap));
    books.work.send(&books.textures);
    books.go(5);
    let words = [format!("swap {} 2 0 false", id(6)), format!("gone {}", id(5))];
    assert_eq!(books.orders(), words);
}

#[test]
fn materials_of_what_comes_anew_are_told_in_the_next_frame() {
    let mut books = Books::new();
    books.come(5);
    books.come(6);
    books.work.send(&books.textures);
    assert_eq!(books.work.renewed().count(), 0, "nothing was drawn before");
    books.come(5);
    books.work.send(&books.textures);
    assert_eq!(books.work.renewed().collect::<Vec<_>>(), [id(5)]);
    let swap = books.begin(1, 0);
    books.work.swap(&swap);
    books.work.send(&books.textures);
    assert_eq!(books.work.renewed().collect::<Vec<_>>(), [id(6)]);
    books.work.send(&books.textures);
    assert_eq!(books.work.renewed().count(), 0);
}

#[test]
fn swaps_are_commands_of_one_frame() {
    let mut books = Books::new();
    books.come(5);
    books.come(6);
    books.orders();
    let swaps = [books.begin(0, 1), books.begin(1, 0)];
    for swap in &swaps {
        books.work.swap(swap);
    }
    books.work.send(&books.textures);
    let told: Vec<_> = books
        .work
        .commands()
        .iter()
        .map(|command| (command.id, command.to))
        .collect();
    assert_eq!(told, [(id(5), 1), (id(6), 0)]);
    assert_eq!(books.orders().len(), 2);
    books.work.send(&books.textures);
    assert!(books.work.commands().is_empty() && books.work.is_idle());
}

#[test]
fn what_is_cancelled_does_not_come_back() {
    let mut books = Books::new();
    books.come(5);
    let swap = books.begin(0, 1);
    books.work.ready.push((0, swap.id));
    books.work.swap(&swap);
    books.work.cancel(0, swap.id);
    let mut ready = Vec::new();
    books.work.take_ready(&mut ready);
    books.work.send(&books.textures);
    assert!(ready.is_empty() && books.work.commands().is_empty());
}

#[test]
fn more_than_may_stream_are_whole() {
    let mut books = Books::new();
    (0..3).for_each(|number| books.come(number));
    assert_eq!(books.textures.len(), 2);
    let not_streamed: Vec<_> = books.textures.not_streamed().collect();
    assert_eq!(not_streamed, [(id(2), NotStreamed::TooMany)]);
    assert!(books.textures.knows(id(2)) && !books.work.wholes.is_idle());
    books.go(2);
    assert!(!books.textures.knows(id(2)) && books.work.wholes.is_idle());
    // Who comes again in its own place is none too many.
    books.come(1);
    assert_eq!((books.textures.len(), books.textures.not_streamed().count()), (2, 0));
}

#[test]
fn when_the_device_is_lost_what_was_for_it_is_dropped() {
    let mut books = Books::new();
    books.come(5);
    let swap = books.begin(0, 1);
    books.work.swap(&swap);
    books.work.send(&books.textures);
    let swap = MipSwap { to: 0, ..swap };
    books.work.swap(&swap);
    books.work.ready.push((0, swap.id));
    books.work.lost();
    assert_eq!(books.orders(), [format!("come {}", id(5))], "it comes all the same");
    assert!(books.work.is_idle() && books.work.ready.is_empty());
}

#[test]
fn a_world_without_the_books_has_nothing_to_do() {
    let mut world = World::new();
    world.init_resource::<MipWork>();
    MipWork::scope(&mut world, |_, _, _| panic!("there are no textures"));
    world.insert_resource(MipTextures::new(1));
    world.init_resource::<MipPool>();
    MipWork::scope(&mut world, |work, textures, ledger| {
        let image = parts(apart(256, 256, TextureFormat::R8Unorm));
        work.come_whole(id(1), NotStreamed::OneTop, image, textures, ledger);
    });
    assert!(world.resource::<MipTextures>().knows(id(1)));
}

#[test]
fn each_refusal_takes_a_tenth_of_the_pool_until_it_was_quiet() {
    let (mut pool, at) = (MipPool::default(), Duration::from_secs);
    assert_eq!(pool.usable(1000), 1000);
    (0..16).for_each(|_| pool.refused(at(0)));
    assert_eq!(pool.usable(1000), 900, "those of a frame are one");
    pool.refused(at(1));
    assert_eq!(pool.usable(1000), 810);
    for (seconds, usable) in [(10, 810), (11, 900), (20, 900), (21, 1000), (99, 1000)] {
        pool.recover(at(seconds));
        assert_eq!(pool.usable(1000), usable, "after {seconds} s");
    }
    pool.refused(at(100));
    assert_eq!(pool.usable(1000), 900);
    pool.forget_refusals();
    assert_eq!(pool.usable(1000), 1000);
}

/// Of a pool that is full of fine mips, as the plan of an app makes room in it: one texture becomes coarser in a frame.
#[test]
fn textures_wait_until_the_pool_has_room_for_their_tails() {
    let (floor, whole) = (record().chain().bytes(2), record().chain().bytes(0));
    let pool = whole + floor / 2;
    let mut books = Books {
        work: MipWork::of_pool(pool),
        textures: MipTextures::new(9),
        ledger: MipLedger::default(),
    };
    books.come(0);
    assert_eq!(
        (books.textures.len(), books.ledger.room(pool)),
        (1, pool),
        "there is room"
    );
    books.becomes(0, 0);
    books.orders();
    (1..4).for_each(|number| books.come(number));
    assert_eq!(books.orders(), [""; 0]);
    assert_eq!(books.textures.len(), 1);
    assert_eq!(books.ledger.room(pool), pool - 3 * floor, "room is made for them");
    assert!(!books.work.is_idle());
    books.frame(pool, false);
    assert!(books.orders().is_empty() && books.ledger.sums().total() <= pool);
    // One has gone meanwhile; one takes the place of another, which stays until then.
    books.go(2);
    assert_eq!(books.ledger.room(pool), pool - 2 * floor);
    books.come(0);
    assert!(books.textures.number(id(0)).is_some() && books.orders().is_empty());
    // The one that is there becomes coarser.
    books.becomes(0, 2);
    books.frame(pool, false);
    let words = [
        format!("come {}", id(1)),
        format!("come {}", id(3)),
        format!("gone {}", id(0)),
        format!("come {}", id(0)),
    ];
    assert_eq!(books.orders(), words);
    assert_eq!(books.ledger.room(pool), pool);
    assert!(books.work.is_idle() && books.ledger.sums().total() == 3 * floor);
}

#[test]
fn a_pool_that_is_too_small_for_tails_has_them_all_the_same() {
    let floor = record().chain().bytes(2);
    let mut books = Books {
        work: MipWork::of_pool(floor),
        textures: MipTextures::new(3),
        ledger: MipLedger::default(),
    };
    (0..4).for_each(|number| books.come(number));
    assert_eq!(books.textures.len(), 1);
    assert_eq!(
        books.textures.not_streamed().collect::<Vec<_>>(),
        [(id(3), NotStreamed::TooMany)],
        "those that wait have their places"
    );
    books.go(3);
    books.frame(floor, false);
    assert_eq!(books.textures.len(), 1, "something may still become coarser");
    books.frame(floor, true);
    assert_eq!((books.textures.len(), books.ledger.sums().total()), (3, 3 * floor));
    assert_eq!(books.ledger.room(floor), floor);
}
