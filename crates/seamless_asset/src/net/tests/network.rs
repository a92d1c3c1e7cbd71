//! A network that loses, doubles and reorders packets.

use std::collections::{BTreeMap, HashMap};

use super::*;

/// Numbers that look random and are the same for the same seed (`SplitMix64`).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }
}

struct Bad {
    random: Random,
    frame: u64,
    /// By direction and the frame of arrival.
    under_way: BTreeMap<(bool, u64), Vec<Vec<u8>>>,
    lost: u32,
    doubled: u32,
}

impl Wire for Bad {
    /// One of four is lost, one of four comes twice, and each takes one to eight frames.
    fn carry(&mut self, to_client: bool, packets: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        self.frame += 1;
        for packet in packets {
            let copies = match self.random.below(4) {
                0 => 0,
                1 => 2,
                _ => 1,
            };
            self.lost += u32::from(copies == 0);
            self.doubled += u32::from(copies == 2);
            for _ in 0..copies {
                let at = self.frame + 2 * self.random.below(8);
                let arriving = self.under_way.entry((to_client, at)).or_default();
                let place = self.random.below(arriving.len() as u64 + 1);
                arriving.insert(place as usize, packet.clone());
            }
        }
        self.under_way.remove(&(to_client, self.frame)).unwrap_or_default()
    }
}

/// What message `number` refers to.
fn refs_of(number: u64) -> Vec<Option<ObjectId>> {
    let mut random = Random(number);
    let count = random.below(5);
    let mut object = |_| match random.below(8) {
        0 => None,
        1 => Some(mesh("a.pkg")),
        2 => Some(mesh("b.pkg")),
        at => Some(row(["a.pkg", "b.pkg"][at as usize % 2], random.below(20) as u32)),
    };
    (0..count).map(&mut object).collect()
}

/// 200 messages; the client's levels come while they arrive. What arrives resolves to what was meant, in the order of arrival.
fn talk(seed: u64) {
    let good = Pair::new();
    let wire = Bad {
        random: Random(seed),
        frame: 0,
        under_way: BTreeMap::new(),
        lost: 0,
        doubled: 0,
    };
    let mut pair = Pair {
        server: good.server,
        client: good.client,
        wire,
    };
    pair.chain("a.pkg", 20);
    pair.chain("b.pkg", 20);
    let levels = ["a.pkg", "b.pkg"].map(|package| pair.server.reveal(package));
    pair.agree();
    pair.run_until(|pair| levels.iter().all(|id| pair.server.is_live(*id)));
    pair.update();
    let sent = 200_u64;
    for number in 0..sent {
        pair.server
            .send(number as u32 % 3, &refs_of(number), &number.to_le_bytes())
            .unwrap();
        pair.update();
        match number {
            60 => drop(pair.client.reveal("b.pkg")),
            120 => drop(pair.client.reveal("a.pkg")),
            _ => {}
        }
    }
    pair.run_until(|pair| {
        let is_quiet = pair.wire.under_way.is_empty() && pair.client.peer().waiting() == 0;
        is_quiet && pair.client.peer().inbox_is_empty()
    });
    let mut seen: HashMap<u64, u32> = HashMap::new();
    for message in &pair.client.got {
        let number = u64::from_le_bytes(message.body[..].try_into().unwrap());
        assert_eq!(ids(message), refs_of(number), "message {number}, seed {seed}");
        assert_eq!(message.channel, number as u32 % 3);
        *seen.entry(number).or_default() += 1;
    }
    assert!(pair.wire.lost > 40 && pair.wire.doubled > 40, "the network is bad");
    assert!(
        seen.len() > 100 && seen.values().any(|times| *times == 2),
        "{} arrived",
        seen.len()
    );
    // By now the peer has most references.
    let encoder = pair.server.peer().link().encoder();
    assert!(encoder.exported() > 30 && encoder.unacknowledged() < encoder.exported());
    for side in [&mut pair.server, &mut pair.client] {
        assert!(!side.peer().has_failed());
        assert_eq!(side.messages::<PackageFault>().len(), 0);
    }
}

#[test]
fn every_message_that_arrives_means_what_was_sent() {
    for seed in 0..6 {
        talk(seed);
    }
}
