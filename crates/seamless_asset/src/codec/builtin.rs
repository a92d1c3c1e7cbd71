//! Records of Bevy's own components that are on almost every entity.

use bevy_animation::AnimationTargetId;
use bevy_camera::{
    CameraMainTextureUsages,
    primitives::Aabb,
    visibility::{InheritedVisibility, ViewVisibility, Visibility},
};
use bevy_ecs::name::Name;
use bevy_math::{Affine3A, Mat3A, Quat, Vec3, Vec3A};
use bevy_transform::components::{GlobalTransform, Transform, TransformTreeChanged};
use seamless_package::Cursor;
use wgpu_types::TextureUsages;

use super::{DecodeError, Record, handle::read_uuid};

fn write_floats(values: &[f32], out: &mut Vec<u8>) {
    for value in values {
        out.extend_from_slice(&value.to_le_bytes());
    }
}

fn read_floats<const N: usize>(cursor: &mut Cursor) -> Result<[f32; N], DecodeError> {
    let bytes = cursor.bytes(N * 4)?;
    let mut values = [0.0; N];
    for (value, chunk) in values.iter_mut().zip(bytes.chunks_exact(4)) {
        *value = f32::from_le_bytes([chunk[0], chunk[1], chunk[2], chunk[3]]);
    }
    Ok(values)
}

impl Record for Transform {
    const VERSION: u32 = 1;

    fn write(&self, out: &mut Vec<u8>) {
        write_floats(&self.translation.to_array(), out);
        write_floats(&self.rotation.to_array(), out);
        write_floats(&self.scale.to_array(), out);
    }

    fn read(cursor: &mut Cursor) -> Result<Self, DecodeError> {
        let v = read_floats::<10>(cursor)?;
        Ok(Self {
            translation: Vec3::new(v[0], v[1], v[2]),
            rotation: Quat::from_xyzw(v[3], v[4], v[5], v[6]),
            scale: Vec3::new(v[7], v[8], v[9]),
        })
    }
}

impl Record for GlobalTransform {
    const VERSION: u32 = 1;

    fn write(&self, out: &mut Vec<u8>) {
        write_floats(&self.affine().to_cols_array(), out);
    }

    fn read(cursor: &mut Cursor) -> Result<Self, DecodeError> {
        let v = read_floats::<12>(cursor)?;
        Ok(Self::from(Affine3A {
            matrix3: Mat3A::from_cols(
                Vec3A::new(v[0], v[1], v[2]),
                Vec3A::new(v[3], v[4], v[5]),
                Vec3A::new(v[6], v[7], v[8]),
            ),
            translation: Vec3A::new(v[9], v[10], v[11]),
        }))
    }
}

impl Record for Aabb {
    const VERSION: u32 = 1;

    fn write(&self, out: &mut Vec<u8>) {
        write_floats(&self.center.to_array(), out);
        write_floats(&self.half_extents.to_array(), out);
    }

    fn read(cursor: &mut Cursor) -> Result<Self, DecodeError> {
        let v = read_floats::<6>(cursor)?;
        Ok(Self {
            center: Vec3A::new(v[0], v[1], v[2]),
            half_extents: Vec3A::new(v[3], v[4], v[5]),
        })
    }
}

impl Record for Visibility {
    const VERSION: u32 = 1;

    fn write(&self, out: &mut Vec<u8>) {
        out.push(match self {
            Self::Inherited => 0,
            Self::Hidden => 1,
            Self::Visible => 2,
        });
    }

    fn read(cursor: &mut Cursor) -> Result<Self, DecodeError> {
        match cursor.u8()? {
            0 => Ok(Self::Inherited),
            1 => Ok(Self::Hidden),
            2 => Ok(Self::Visible),
            other => Err(DecodeError::Malformed(format!("{other} is no visibility"))),
        }
    }
}

fn read_bool(cursor: &mut Cursor) -> Result<bool, DecodeError> {
    match cursor.u8()? {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(DecodeError::Malformed(format!("{other} is no truth value"))),
    }
}

impl Record for InheritedVisibility {
    const VERSION: u32 = 1;

    fn write(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.get()));
    }

    fn read(cursor: &mut Cursor) -> Result<Self, DecodeError> {
        Ok(if read_bool(cursor)? {
            Self::VISIBLE
        } else {
            Self::HIDDEN
        })
    }
}

/// The previous frame's bit is scratch space of Bevy's visibility systems, and is not carried over.
impl Record for ViewVisibility {
    const VERSION: u32 = 1;

    fn write(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.get()));
    }

    fn read(cursor: &mut Cursor) -> Result<Self, DecodeError> {
        Ok(if read_bool(cursor)? {
            Self::VISIBLE
        } else {
            Self::HIDDEN
        })
    }
}

impl Record for Name {
    const VERSION: u32 = 1;

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.as_str().len() as u32).to_le_bytes());
        out.extend_from_slice(self.as_str().as_bytes());
    }

    fn read(cursor: &mut Cursor) -> Result<Self, DecodeError> {
        let length = cursor.u32()? as usize;
        let bytes = cursor.bytes(length)?;
        let text = core::str::from_utf8(bytes)
            .map_err(|error| DecodeError::Malformed(format!("a name is not UTF-8: {error}")))?;
        Ok(Self::new(text.to_owned()))
    }
}

/// On every bone.
impl Record for AnimationTargetId {
    const VERSION: u32 = 1;

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.0.as_bytes());
    }

    fn read(cursor: &mut Cursor) -> Result<Self, DecodeError> {
        Ok(Self(read_uuid(cursor)?))
    }
}

/// A marker of the transform systems; it holds nothing but a change tick.
impl Record for TransformTreeChanged {
    const VERSION: u32 = 1;

    fn write(&self, _: &mut Vec<u8>) {}

    fn read(_: &mut Cursor) -> Result<Self, DecodeError> {
        Ok(Self)
    }
}

/// On every camera, and the only one of its components that reflection cannot write: its type is opaque.
impl Record for CameraMainTextureUsages {
    const VERSION: u32 = 1;

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0.bits().to_le_bytes());
    }

    fn read(cursor: &mut Cursor) -> Result<Self, DecodeError> {
        let bits = cursor.u32()?;
        TextureUsages::from_bits(bits)
            .map(Self)
            .ok_or_else(|| DecodeError::Malformed(format!("{bits:#x} is no set of texture usages")))
    }
}
