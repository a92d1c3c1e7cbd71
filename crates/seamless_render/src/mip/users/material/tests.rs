use bevy_asset::{AssetId, uuid::Uuid};
use bevy_math::{Affine2, Vec2};
use bevy_pbr::StandardMaterial;

use super::*;
use crate::mip::{DemandRule, Watch, plan::tests::chain};

fn image(number: u128) -> AssetId<Image> {
    AssetId::Uuid {
        uuid: Uuid::from_u128(number),
    }
}

fn material(number: u128) -> UntypedAssetId {
    let id: AssetId<StandardMaterial> = AssetId::Uuid {
        uuid: Uuid::from_u128(number),
    };
    id.untyped()
}

fn at(number: u128, channel: u8, scale: f32) -> MipImage {
    MipImage {
        channel,
        uv: Affine2::from_scale(Vec2::splat(scale)),
        ..MipImage::new(image(number))
    }
}

/// Materials, and textures 0 to 9 that stream for images of the same numbers.
struct Bed {
    materials: Materials,
    demands: MipDemands,
    streaming: u128,
    left: Vec<u32>,
}

impl Bed {
    fn new() -> Self {
        let mut demands = MipDemands::default();
        (0..10).for_each(|texture| demands.insert(texture, chain(), DemandRule::default(), 0.0));
        Self {
            materials: Materials::default(),
            demands,
            streaming: 10,
            left: vec![],
        }
    }

    fn note(&mut self, number: u128, images: &[MipImage]) {
        self.materials.note(material(number), images.iter().copied().collect());
        self.link();
    }

    fn link(&mut self) {
        let Self {
            materials,
            demands,
            streaming,
            left,
        } = self;
        let streamed = |id: AssetId<Image>| {
            let number = (0..*streaming).find(|number| image(*number) == id)?;
            Some(Streamed {
                texture: number as u32,
                is_anisotropic: false,
            })
        };
        left.clear();
        materials.link(demands, streamed, |user| left.push(user));
        demands.update(&Watch::default(), 0.0);
    }

    fn layers(&mut self, number: u128) -> Vec<(u32, u8, f32)> {
        let slot = self.materials.number(material(number));
        let layers = self.materials.layers(slot).iter();
        layers.map(|layer| (layer.number, layer.channel, layer.scale)).collect()
    }

    /// Textures that nobody is known to use.
    fn unlinked(&self) -> Vec<u32> {
        let textures = (0..).zip(self.demands.textures());
        let unlinked = textures.filter(|(texture, of)| of.is_some() && !self.demands.is_linked(*texture));
        unlinked.map(|(texture, _)| texture).collect()
    }
}

#[test]
fn what_is_sampled_alike_is_a_layer() {
    let mut bed = Bed::new();
    bed.note(
        1,
        &[
            at(0, 0, 1.0),
            at(1, 1, 1.0),
            at(2, 0, 8.0),
            at(3, 0, 1.0),
            at(99, 0, 2.0),
        ],
    );
    assert_eq!(
        bed.layers(1),
        [(0, 0, 1.0), (1, 0, 8.0), (2, 1, 1.0)],
        "image 99 does not stream"
    );
    assert_eq!(bed.unlinked(), [4, 5, 6, 7, 8, 9]);
    bed.note(2, &[at(3, 0, 1.0), at(4, 0, 1.0)]);
    assert_eq!(bed.layers(2), [(3, 0, 1.0)]);
    let having: Vec<_> = bed.materials.of_image(image(3)).collect();
    assert_eq!(having, [material(1), material(2)]);
    assert_eq!(bed.materials.of_image(image(7)).count(), 0);
}

#[test]
fn users_leave_when_layers_change_and_only_then() {
    let mut bed = Bed::new();
    bed.note(1, &[at(0, 0, 1.0)]);
    let slot = bed.materials.number(material(1));
    for user in 0..3 {
        assert_eq!(bed.materials.add_user(slot, user), user);
    }
    bed.note(1, &[at(0, 0, 1.0), at(1, 0, 1.0)]);
    assert!(bed.left.is_empty(), "one texture more, sampled alike");
    assert_eq!((bed.unlinked().len(), bed.layers(1)), (8, vec![(0, 0, 1.0)]));
    bed.note(1, &[at(0, 0, 2.0)]);
    assert_eq!((bed.left.clone(), bed.layers(1)), (vec![0, 1, 2], vec![(0, 0, 2.0)]));
    assert_eq!(
        bed.materials.remove_user(slot, 0),
        Some(2),
        "who was last takes the place"
    );
    bed.streaming = 0;
    bed.materials.image_changed(image(0));
    bed.link();
    assert_eq!((bed.left.clone(), bed.layers(1)), (vec![2, 1], vec![]));
    assert_eq!(bed.unlinked().len(), 10);
    bed.streaming = 10;
    bed.materials.image_changed(image(0));
    bed.link();
    assert_eq!(bed.layers(1), [(0, 0, 2.0)]);
}

#[test]
fn a_material_that_is_gone_keeps_its_number_while_it_has_users() {
    let mut bed = Bed::new();
    bed.note(1, &[at(0, 0, 1.0)]);
    bed.note(2, &[at(1, 0, 1.0)]);
    let slots = [1, 2].map(|number| bed.materials.number(material(number)));
    bed.materials.add_user(slots[0], 7);
    [1, 2].iter().for_each(|number| bed.materials.forget(material(*number)));
    bed.link();
    assert_eq!(bed.left, [7]);
    assert!(bed.materials.of_image.is_empty());
    assert_eq!(bed.materials.number(material(1)), slots[0]);
    assert_eq!(
        bed.materials.number(material(3)),
        slots[1],
        "the second one's number is free"
    );
    bed.note(1, &[at(0, 0, 1.0)]);
    assert_eq!(bed.layers(1).len(), 1, "it has come again");
    bed.materials.forget(material(1));
    bed.materials.remove_user(slots[0], 0);
    bed.link();
    assert!(bed.materials.by_id.is_empty(), "and nobody has asked for the third");
    assert_eq!(bed.unlinked().len(), 10);
}

#[test]
fn what_is_the_same_is_not_linked_again() {
    let mut bed = Bed::new();
    bed.note(1, &[at(0, 0, 1.0)]);
    bed.materials.note(material(1), [at(0, 0, 1.0)].into_iter().collect());
    assert!(bed.materials.listed.is_empty());
    bed.materials.image_changed(image(5));
    assert!(bed.materials.listed.is_empty());
    // One that scrolls and turns, and swells in small steps.
    let moved = |scale: f32, angle: f32, to: f32| MipImage {
        uv: Affine2::from_scale_angle_translation(Vec2::splat(scale), angle, Vec2::splat(to)),
        ..MipImage::new(image(0))
    };
    for step in 0..9 {
        let moved = moved(1.0 + step as f32 / 500.0, step as f32, step as f32);
        bed.materials.note(material(1), [moved].into_iter().collect());
        assert!(bed.materials.listed.is_empty());
    }
    bed.note(1, &[moved(1.05, 0.0, 0.0)]);
    assert_eq!(bed.layers(1), [(0, 0, 1.05)]);
    bed.materials.note(material(1), [at(0, 1, 1.05)].into_iter().collect());
    assert_eq!(bed.materials.listed.len(), 1);
}

#[test]
fn wholes_are_counted() {
    let mut bed = Bed::new();
    let mut whole = at(0, 0, 1.0);
    whole.is_whole = true;
    bed.note(1, &[whole]);
    bed.note(2, &[whole, at(1, 0, 1.0)]);
    let mut others = vec![];
    bed.materials
        .take_other_wholes(|materials, texture| others.push((texture, materials.is_whole(texture))));
    assert_eq!(others, [(0, true), (0, true)]);
    bed.note(1, &[at(0, 0, 1.0)]);
    assert!(bed.materials.is_whole(0));
    bed.materials.forget(material(2));
    bed.link();
    assert!(!bed.materials.is_whole(0) && !bed.materials.is_whole(1) && !bed.materials.is_whole(99));
    let slot = bed.materials.number(material(1));
    for (is_unknown, is_whole) in [(true, true), (true, true), (false, true), (false, false)] {
        bed.materials.set_unknown(slot, is_unknown);
        bed.link();
        assert_eq!(
            bed.materials.is_whole(0),
            is_whole,
            "some of its users are not looked at"
        );
    }
    let early = bed.materials.number(material(3));
    bed.materials.set_unknown(early, true);
    bed.link();
    bed.note(3, &[at(2, 0, 1.0)]);
    assert!(bed.materials.is_whole(2), "it had such users before it came");
    bed.materials.forget(material(3));
    bed.materials.set_unknown(early, false);
    bed.link();
    assert!(!bed.materials.is_whole(2) && !bed.materials.by_id.contains_key(&material(3)));
}
