//! What is drawn for a picture: what the camera sees, as it was in one frame. See [`TruthJob`].

use core::any::TypeId;

use bevy_asset::AssetId;
use bevy_camera::{
    Camera,
    visibility::{NoCpuCulling, VisibleEntities},
};
use bevy_ecs::{prelude::*, system::SystemParam};
use bevy_math::{Mat2, Mat4};
use bevy_mesh::{Mesh, Mesh3d, morph::MeshMorphWeights, skinning::SkinnedMesh};
use bevy_platform::collections::{HashMap, HashSet};
use bevy_render::camera::MipBias;
use bevy_transform::components::GlobalTransform;
use smallvec::SmallVec;
use wgpu_types::Face;

use super::picture::{TruthDraw, TruthLayer, TruthPicture, TruthUse};
use crate::mip::{MipPool, MipTextures, Watch, need::MipView, users::MipUsers};

/// The longer side of the code's texture, in texels.
pub(super) const CODE_SIDE: u32 = 256;

/// A picture to be drawn; nothing of it is looked up later but meshes.
#[derive(Debug)]
pub(super) struct TruthJob {
    /// The picture without its pixels.
    pub picture: TruthPicture,
    /// One for each of the picture's draws.
    pub draws: Vec<JobDraw>,
    /// What is added to each mip: the pixels are larger than the camera's.
    pub bias: f32,
}

#[derive(Debug)]
pub(super) struct JobDraw {
    pub mesh: AssetId<Mesh>,
    pub clip_from_local: Mat4,
    pub codes: [JobCode; 2],
    /// The side of its triangles that is not drawn.
    pub culled: Option<Face>,
    /// At most so many texels are taken along a pixel's longer side.
    pub anisotropy: u16,
}

/// How a layer is sampled.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct JobCode {
    /// From the mesh's coordinates to those of the code's texture, columns one after the other.
    pub columns: [f32; 4],
    pub channel: u8,
}

/// All that a picture is of.
#[derive(SystemParam)]
pub(super) struct Pictured<'w, 's> {
    cameras: Query<
        'w,
        's,
        (
            &'static Camera,
            &'static GlobalTransform,
            &'static VisibleEntities,
            Option<&'static MipBias>,
        ),
    >,
    drawn: Query<
        'w,
        's,
        (
            &'static Mesh3d,
            &'static GlobalTransform,
            Has<SkinnedMesh>,
            Has<MeshMorphWeights>,
        ),
    >,
    never_culled: Query<'w, 's, Entity, (With<Mesh3d>, With<NoCpuCulling>)>,
    users: Res<'w, MipUsers>,
    textures: Res<'w, MipTextures>,
    pool: Res<'w, MipPool>,
}

impl Pictured<'_, '_> {
    /// What a camera sees in this frame, at most so many meshes; none if it draws nothing.
    pub fn job(
        &self,
        camera: Entity,
        scale: u32,
        most: usize,
        (watch, views): (&Watch, &[MipView]),
    ) -> Option<TruthJob> {
        let (of, transform, visible, bias) = self.cameras.get(camera).ok()?;
        let size = of.physical_viewport_size()?;
        let scale = scale.max(1);
        if !of.is_active || size.x == 0 || size.y == 0 {
            return None;
        }
        let picture = TruthPicture {
            camera,
            width: size.x.div_ceil(scale),
            height: size.y.div_ceil(scale),
            scale,
            draws: Vec::new(),
            unknown: HashSet::default(),
            pixels: Vec::new(),
        };
        let mut job = TruthJob {
            picture,
            draws: Vec::new(),
            bias: bias.map_or(0.0, |bias| bias.0) - (scale as f32).log2(),
        };
        let drawing = Drawing {
            clip_from_world: of.clip_from_view() * transform.to_matrix().inverse(),
            is_inverted: of.invert_culling,
            most,
        };
        let mut layers = HashMap::default();
        for entity in visible.get(TypeId::of::<Mesh3d>()) {
            if !self.add(&mut job, *entity, &drawing, &mut layers) {
                self.skip(&mut job, *entity);
            }
        }
        self.never_culled.iter().for_each(|entity| self.skip(&mut job, entity));
        let view = views.iter().find(|view| view.key == camera.to_bits());
        self.predict(&mut job.picture, watch, view);
        Some(job)
    }

    /// What is predicted of each layer for the camera alone, where it is now: truth knows nothing of where it is going.
    fn predict(&self, picture: &mut TruthPicture, watch: &Watch, view: Option<&MipView>) {
        let mut least = HashMap::<u32, f32>::default();
        for (draw, view) in view
            .into_iter()
            .flat_map(|view| picture.draws.iter().map(move |draw| (draw, view)))
        {
            let users = self.users.seats.users(draw.entity);
            for (layer, user) in draw.layers.iter().zip(users) {
                let known = least.entry(layer.number).or_insert(f32::INFINITY);
                *known = known.min(watch.from(*user, view));
            }
        }
        for layer in picture.draws.iter_mut().flat_map(|draw| &mut draw.layers) {
            let known = least.get(&layer.number).copied();
            layer.predicted = known.unwrap_or_else(|| watch.least(layer.number, layer.channel)[0]);
        }
    }

    /// Whether it is drawn, or does not count.
    fn add(&self, job: &mut TruthJob, entity: Entity, drawing: &Drawing, known: &mut HashMap<u32, Layers>) -> bool {
        let (Some(slot), Ok((mesh, transform, is_skinned, is_morphed))) =
            (self.users.seats.material(entity), self.drawn.get(entity))
        else {
            return true;
        };
        // What one looks through hides nothing, and what bends is elsewhere.
        let sides = self.users.materials.sides(slot);
        if !sides.is_opaque || is_skinned || is_morphed || job.draws.len() >= drawing.most {
            return false;
        }
        let of = known.entry(slot).or_insert_with(|| self.layers(slot));
        job.picture.draws.push(TruthDraw {
            entity,
            layers: of.layers.clone(),
            uses: of.uses.clone(),
        });
        job.draws.push(JobDraw {
            mesh: mesh.0.id(),
            clip_from_local: drawing.clip_from_world * transform.to_matrix(),
            codes: of.codes,
            culled: sides.culled[usize::from(drawing.is_inverted)],
            anisotropy: of.anisotropy,
        });
        true
    }

    /// What it shows is not in the picture.
    fn skip(&self, job: &mut TruthJob, entity: Entity) {
        let slot = self.users.seats.material(entity);
        let layers = slot.map(|slot| self.users.materials.layers(slot));
        let numbers = layers.into_iter().flatten().map(|layer| layer.number);
        job.picture.unknown.extend(numbers);
    }

    /// How a material's textures are sampled: by two ways at most.
    fn layers(&self, slot: u32) -> Layers {
        let materials = &self.users.materials;
        let mut found = Layers::default();
        for (at, layer) in materials.layers(slot).iter().take(2).enumerate() {
            let (mut largest, mut uses) = (0, SmallVec::<[(TruthUse, f32); 4]>::new());
            for (image, texture) in materials.images_of_layer(slot, layer.number) {
                let (Some(record), Some(resident)) = (self.textures.get(texture), self.pool.ledger.get(texture)) else {
                    continue;
                };
                let (chain, size) = (record.chain(), record.descriptor().size);
                if chain.side(0) > largest {
                    largest = chain.side(0);
                    let scale = |side: u32| side as f32 / CODE_SIDE as f32;
                    let of_code = Mat2::from_cols_array(&[scale(size.width), 0.0, 0.0, scale(size.height)]);
                    found.codes[at] = JobCode {
                        columns: (of_code * image.uv.matrix2).to_cols_array(),
                        channel: layer.channel,
                    };
                    found.anisotropy = found.anisotropy.max(self.textures.anisotropy(texture));
                }
                let side = (chain.side(0) as f32).log2();
                let of = TruthUse {
                    image: image.id,
                    mips: chain.mips(),
                    top: resident.top,
                    layer: at as u8,
                    offset: 0.0,
                };
                uses.push((of, side));
            }
            let side = (largest.max(1) as f32).log2();
            found.layers.push(TruthLayer {
                number: layer.number,
                channel: layer.channel,
                side,
                predicted: f32::INFINITY,
            });
            let uses = uses.into_iter().map(|(of, own)| TruthUse {
                offset: own - side,
                ..of
            });
            found.uses.extend(uses);
        }
        found
    }
}

/// How a camera draws.
struct Drawing {
    clip_from_world: Mat4,
    /// It culls the other side.
    is_inverted: bool,
    /// So many meshes, no more.
    most: usize,
}

/// How a material's textures are sampled.
#[derive(Debug, Default)]
struct Layers {
    layers: SmallVec<[TruthLayer; 2]>,
    uses: SmallVec<[TruthUse; 4]>,
    codes: [JobCode; 2],
    anisotropy: u16,
}
