//! Two lists that differ somehow, over a network that loses, doubles and reorders: the first difference is named.

use super::*;
use proptest::prelude::*;

/// A change of one side's list.
#[derive(Debug, Clone)]
enum Edit {
    Remove(usize),
    Hash(usize),
    Count(usize),
    Swap(usize, usize),
    Truncate(usize),
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = 0..40_usize;
    prop_oneof![
        at.clone().prop_map(Edit::Remove),
        at.clone().prop_map(Edit::Hash),
        at.clone().prop_map(Edit::Count),
        (at.clone(), at.clone()).prop_map(|(a, b)| Edit::Swap(a, b)),
        at.prop_map(Edit::Truncate),
    ]
}

fn edited(edits: &[Edit]) -> Vec<PackageInfo> {
    let mut packages: Vec<_> = (0..40).map(info).collect();
    for edit in edits {
        let len = packages.len().max(1);
        match *edit {
            Edit::Remove(at) if at < packages.len() => drop(packages.remove(at)),
            Edit::Hash(at) if at < packages.len() => packages[at].content_hash ^= 1,
            Edit::Count(at) if at < packages.len() => packages[at].export_count += 1,
            Edit::Swap(a, b) if !packages.is_empty() => packages.swap(a % len, b % len),
            Edit::Truncate(to) => packages.truncate(to),
            _ => {}
        }
    }
    packages
}

/// The first difference, the slow way.
fn difference(here: &[PackageInfo], there: &[PackageInfo]) -> Option<Mismatch> {
    let listed = |list: &[PackageInfo], info: &PackageInfo| list.iter().any(|other| other.path == info.path);
    let at = (0..here.len().max(there.len())).find(|at| here.get(*at) != there.get(*at))?;
    let missing_here = |info: &PackageInfo| Mismatch::MissingHere {
        path: info.path.clone(),
        content_hash: info.content_hash,
    };
    let missing_there = |info: &PackageInfo| Mismatch::MissingThere {
        path: info.path.clone(),
        content_hash: info.content_hash,
    };
    let (ours, theirs) = match (here.get(at), there.get(at)) {
        (Some(ours), Some(theirs)) => (ours, theirs),
        (Some(ours), None) => return Some(missing_there(ours)),
        (None, theirs) => return theirs.map(missing_here),
    };
    let path = ours.path.clone();
    Some(if ours.path != theirs.path && !listed(here, theirs) {
        missing_here(theirs)
    } else if ours.path != theirs.path && !listed(there, ours) {
        missing_there(ours)
    } else if ours.path != theirs.path {
        Mismatch::Order {
            position: at as u32,
            here: path,
            there: theirs.path.clone(),
        }
    } else if ours.content_hash != theirs.content_hash {
        let (here, there) = (ours.content_hash, theirs.content_hash);
        Mismatch::Content { path, here, there }
    } else {
        Mismatch::ExportCount {
            path,
            content_hash: ours.content_hash,
            here: ours.export_count,
            there: theirs.export_count,
        }
    })
}

/// Messages under way, each with the side that it goes to.
struct Wire<'a> {
    sides: [Side<'a>; 2],
    messages: Vec<(usize, Vec<u8>)>,
}

impl Wire<'_> {
    fn offer(&mut self, from: usize) {
        let message = offer(&mut self.sides[from].handshake, self.sides[from].map);
        self.messages.push((1 - from, message));
    }

    fn arrive(&mut self, at: usize, keep: bool) {
        let (to, message) = self.messages[at].clone();
        if !keep {
            self.messages.remove(at);
        }
        match self.sides[to].receive(&message) {
            Ok((_, reply)) if !reply.is_empty() => self.messages.push((1 - to, reply)),
            Ok(_) | Err(HandshakeError::Mismatch(_)) => {}
            Err(error) => panic!("the peer is honest: {error}"),
        }
    }
}

proptest! {
    #[test]
    fn the_first_difference_is_named(
        here in prop::collection::vec(edit(), 0..3),
        there in prop::collection::vec(edit(), 0..3),
        steps in prop::collection::vec((0..5_u8, any::<prop::sample::Index>()), 0..60),
    ) {
        let (here, there) = (edited(&here), edited(&there));
        // Room for two or three packages a message.
        let limits = MapLimits { path_bytes: 30, message_bytes: 0, ..MapLimits::default() };
        let maps = [of(here.clone(), limits.clone()), of(there.clone(), limits)];
        let sides = [Side::new(&maps[0]), Side::new(&maps[1])];
        let mut wire = Wire { sides, messages: Vec::new() };
        for (step, at) in steps {
            let len = wire.messages.len();
            match step {
                0 => wire.offer(at.index(2)),
                _ if len == 0 => wire.offer(0),
                1 => drop(wire.messages.remove(at.index(len))),
                2 => wire.arrive(at.index(len), true),
                _ => wire.arrive(at.index(len), false),
            }
        }
        // The network gets better.
        wire.messages.clear();
        for from in [0, 1] {
            wire.offer(from);
            while !wire.messages.is_empty() {
                wire.arrive(0, false);
            }
        }
        let [a, b] = wire.sides;
        prop_assert_eq!(a.handshake.difference(&maps[0]), difference(&here, &there));
        prop_assert_eq!(b.handshake.difference(&maps[1]), difference(&there, &here));
        let same = here.iter().zip(&there).take_while(|(a, b)| a == b).count() as u32;
        for handshake in [a.handshake, b.handshake] {
            prop_assert!(handshake.accepted() <= same && handshake.verified() <= same);
            if here == there {
                prop_assert_eq!((handshake.accepted(), handshake.verified()), (same, same));
            }
        }
    }
}
