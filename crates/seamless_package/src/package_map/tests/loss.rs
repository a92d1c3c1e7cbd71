//! Many more objects than may be unacknowledged, most of them mentioned once, over a network that loses and reorders.

use super::*;
use proptest::prelude::*;
use std::sync::LazyLock;

const PACKAGES: u32 = 40;
const OBJECTS: u32 = PACKAGES * EXPORTS;

static MAP: LazyLock<PackageMap> = LazyLock::new(|| full(PACKAGES));

fn place(at: u32) -> (u32, u32) {
    (at / EXPORTS, at % EXPORTS)
}

/// What is under way.
enum Packet {
    Mention { of: u32, bytes: Vec<u8> },
    Acknowledgement(Vec<u8>),
}

struct Line {
    of_sender: Handshake,
    of_receiver: Handshake,
    encoder: RefEncoder,
    decoder: RefDecoder,
    network: Vec<Packet>,
    random: u64,
    /// Of 256 packets, so many are lost.
    loss: u64,
}

impl Line {
    fn new(random: u64, loss: u64) -> Self {
        let (of_sender, of_receiver) = agreed(&MAP, &MAP);
        Self {
            of_sender,
            of_receiver,
            encoder: RefEncoder::new(),
            decoder: RefDecoder::new(),
            network: Vec::new(),
            random,
            loss,
        }
    }

    fn random(&mut self) -> u64 {
        // Knuth's generator; its upper bits are the good ones.
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.random >> 40
    }

    fn encode(&mut self, of: u32) -> Vec<u8> {
        let (package, export) = place(of);
        let mut bytes = Vec::new();
        let id = Some(object(package, export));
        self.encoder.encode(&MAP, &self.of_sender, id, &mut bytes).unwrap();
        bytes
    }

    fn acknowledgement(&mut self) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        self.decoder.acknowledge(&mut bytes).then_some(bytes)
    }

    fn arrive(&mut self, packet: Packet) {
        match packet {
            Packet::Mention { of, bytes } => {
                let (package, export) = place(of);
                let reference = self.decoder.decode(&MAP, &self.of_receiver, &mut &bytes[..]);
                assert_eq!(reference, Ok(Some(index(package, export))));
            }
            Packet::Acknowledgement(bytes) => self.encoder.acknowledged(&mut &bytes[..]).unwrap(),
        }
    }

    /// Lets packets arrive, in any order, until so many are under way.
    fn carry(&mut self, under_way: usize) {
        while self.network.len() > under_way {
            let at = self.random() as usize % self.network.len();
            let packet = self.network.swap_remove(at);
            if self.random() % 256 >= self.loss {
                self.arrive(packet);
            }
        }
    }

    /// Mentions objects one after the other, with an acknowledgement now and then.
    fn mention(&mut self, objects: impl IntoIterator<Item = u32>, under_way: usize) {
        for of in objects {
            let bytes = self.encode(of);
            self.network.push(Packet::Mention { of, bytes });
            self.carry(under_way);
            if of % 20 == 19
                && let Some(bytes) = self.acknowledgement()
            {
                self.network.push(Packet::Acknowledgement(bytes));
            }
            assert!(self.encoder.unacknowledged() <= UNACKNOWLEDGED);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn numbers_never_stop_for_good(random in any::<u64>(), loss in 0..100_u64, under_way in 0..100_usize) {
        let mut line = Line::new(random, loss);
        line.mention(0..OBJECTS, under_way);
        if loss <= 25 {
            // With one packet in ten lost, most got one at their only mention; the rest waited for repetitions.
            prop_assert!(line.encoder.exported() > OBJECTS / 2, "{} numbers", line.encoder.exported());
        }
        // The network gets better, and what had no luck is mentioned again.
        line.carry(0);
        line.loss = 0;
        line.mention(0..OBJECTS, 0);
        line.carry(0);
        line.mention(0..OBJECTS, 0);
        line.carry(0);
        prop_assert_eq!((line.encoder.exported(), line.encoder.unacknowledged()), (OBJECTS, 0));
        let longest = (0..OBJECTS).map(|of| line.encode(of).len()).max();
        prop_assert_eq!(longest, Some(2));
    }
}

#[test]
fn one_lost_acknowledgement_does_not_end_it() {
    let mut line = Line::new(0, 0);
    line.mention(0..UNACKNOWLEDGED, usize::MAX);
    while let Some(packet) = line.network.pop() {
        line.arrive(packet);
    }
    assert!(line.acknowledgement().is_some(), "and this is the one that is lost");
    let bytes = line.encode(UNACKNOWLEDGED);
    line.arrive(Packet::Mention {
        of: UNACKNOWLEDGED,
        bytes,
    });
    let again = line.acknowledgement().expect("a repeated export asks for another one");
    line.arrive(Packet::Acknowledgement(again));
    assert_eq!(line.encoder.unacknowledged(), 0);
    line.encode(UNACKNOWLEDGED);
    assert_eq!(line.encoder.exported(), UNACKNOWLEDGED + 1);
}

#[test]
fn exports_that_never_arrived_are_repeated_in_turn() {
    let mut line = Line::new(0, 0);
    let lost = [0, 300, UNACKNOWLEDGED - 1];
    for of in 0..UNACKNOWLEDGED {
        let bytes = line.encode(of);
        if !lost.contains(&of) {
            line.arrive(Packet::Mention { of, bytes });
        }
    }
    let bytes = line.acknowledgement().expect("most have arrived");
    line.arrive(Packet::Acknowledgement(bytes));
    assert_eq!(line.encoder.unacknowledged(), 3);
    // Objects that are not mentioned again; the first mention of the three is lost too.
    for (turn, of) in (UNACKNOWLEDGED..).take(4).enumerate() {
        let bytes = line.encode(of);
        if turn > 0 {
            line.arrive(Packet::Mention { of, bytes });
        }
    }
    let bytes = line.acknowledgement().expect("all three have arrived");
    line.arrive(Packet::Acknowledgement(bytes));
    assert_eq!(line.encoder.unacknowledged(), 0);
}
