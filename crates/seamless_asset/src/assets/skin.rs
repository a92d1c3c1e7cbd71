//! Inverse bind poses of skinned meshes. See [`InverseBindposesCodec`].

use bevy_math::Mat4;
use bevy_mesh::skinning::SkinnedMeshInverseBindposes;
use seamless_package::Cursor;

use crate::codec::{AssetCodec, DecodeContext, DecodeError};
#[cfg(feature = "write")]
use crate::codec::{EncodeContext, EncodeError, EncodedAsset};

/// The codec of [`SkinnedMeshInverseBindposes`]: 16 floats a joint, column by column.
pub struct InverseBindposesCodec;

const MATRIX_BYTES: usize = 64;

impl AssetCodec for InverseBindposesCodec {
    type Asset = SkinnedMeshInverseBindposes;
    const VERSION: u32 = 1;

    #[cfg(feature = "write")]
    fn encode(asset: &Self::Asset, _: &mut EncodeContext) -> Result<EncodedAsset, EncodeError> {
        let mut encoded = EncodedAsset::default();
        for matrix in asset.iter() {
            for value in matrix.to_cols_array() {
                encoded.data.extend_from_slice(&value.to_le_bytes());
            }
        }
        Ok(encoded)
    }

    fn decode(data: &[u8], _: Vec<Vec<u8>>, _: &DecodeContext) -> Result<Self::Asset, DecodeError> {
        if !data.len().is_multiple_of(MATRIX_BYTES) {
            return Err(DecodeError::Malformed(format!(
                "{} bytes are no whole matrices",
                data.len()
            )));
        }
        let mut cursor = Cursor::new(data);
        let mut matrices = Vec::with_capacity(data.len() / MATRIX_BYTES);
        for _ in 0..data.len() / MATRIX_BYTES {
            let mut values = [0.0; 16];
            for value in &mut values {
                *value = cursor.f32()?;
            }
            matrices.push(Mat4::from_cols_array(&values));
        }
        Ok(SkinnedMeshInverseBindposes::from(matrices))
    }
}
