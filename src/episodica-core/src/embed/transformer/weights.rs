//! The parameters of a BERT encoder, read from `model.safetensors` and checked against
//! `config.json`.

use std::path::Path;

use ndarray::{Array1, Array2, Axis, concatenate};
use safetensors::{Dtype, SafeTensors};

use super::folder::{TransformerConfig, folder_error};
use crate::error::Result;

/// An affine map: `x · weight + bias`.
pub(super) struct LinearLayer {
    /// Shape (in, out), row-major. The file has it transposed, but a product reads this layout
    /// faster.
    pub weight: Array2<f32>,
    pub bias: Array1<f32>,
}

/// Gain and shift of a layer normalisation.
pub(super) struct LayerNorm {
    pub gain: Array1<f32>,
    pub shift: Array1<f32>,
}

/// One block of the encoder; `hidden` is the width of a state.
pub(super) struct EncoderLayer {
    /// Queries, keys and values in one map: (hidden, 3 hidden).
    pub query_key_value: LinearLayer,
    pub attention_output: LinearLayer,
    pub attention_norm: LayerNorm,
    /// (hidden, intermediate).
    pub expand: LinearLayer,
    /// (intermediate, hidden).
    pub contract: LinearLayer,
    pub output_norm: LayerNorm,
}

/// All parameters of a forward pass; BERT's pooler head is not used.
pub(super) struct EncoderWeights {
    /// (vocabulary, hidden).
    pub words: Array2<f32>,
    /// (positions, hidden); the vector of token type 0 is already added.
    pub positions: Array2<f32>,
    pub embedding_norm: LayerNorm,
    pub layers: Vec<EncoderLayer>,
}

impl EncoderWeights {
    /// Extracts the parameters from the bytes of the file `path`.
    pub(super) fn from_bytes(
        bytes: &[u8],
        path: &Path,
        config: &TransformerConfig,
    ) -> Result<Self> {
        let tensors = SafeTensors::deserialize(bytes)
            .map_err(|error| folder_error("not a safetensors file", path).caused_by(error))?;
        let prefix = if tensors.tensor("bert.embeddings.word_embeddings.weight").is_ok() {
            "bert."
        } else {
            ""
        };
        let source = WeightSource { tensors, prefix, path };
        let hidden = config.hidden_size;
        let types = source.read_matrix(
            "embeddings.token_type_embeddings.weight",
            config.type_vocab_size,
            hidden,
        )?;
        let positions = source.read_matrix(
            "embeddings.position_embeddings.weight",
            config.max_position_embeddings,
            hidden,
        )?;
        Ok(Self {
            words: source.read_matrix(
                "embeddings.word_embeddings.weight",
                config.vocab_size,
                hidden,
            )?,
            positions: positions + types.row(0),
            embedding_norm: source.read_norm("embeddings.LayerNorm", hidden)?,
            layers: (0..config.num_hidden_layers)
                .map(|number| source.read_layer(number, config))
                .collect::<Result<_>>()?,
        })
    }
}

struct WeightSource<'a> {
    tensors: SafeTensors<'a>,
    prefix: &'static str,
    path: &'a Path,
}

impl WeightSource<'_> {
    fn read_layer(&self, number: usize, config: &TransformerConfig) -> Result<EncoderLayer> {
        let (hidden, inner) = (config.hidden_size, config.intermediate_size);
        let name = |part: &str| format!("encoder.layer.{number}.{part}");
        let heads = ["query", "key", "value"]
            .map(|part| self.read_linear(&name(&format!("attention.self.{part}")), hidden, hidden));
        let [query, key, value] = heads;
        let (query, key, value) = (query?, key?, value?);
        let joined = "invariant: the three maps have one shape";
        Ok(EncoderLayer {
            query_key_value: LinearLayer {
                weight: concatenate(
                    Axis(1),
                    &[query.weight.view(), key.weight.view(), value.weight.view()],
                )
                .expect(joined),
                bias: concatenate(
                    Axis(0),
                    &[query.bias.view(), key.bias.view(), value.bias.view()],
                )
                .expect(joined),
            },
            attention_output: self.read_linear(&name("attention.output.dense"), hidden, hidden)?,
            attention_norm: self.read_norm(&name("attention.output.LayerNorm"), hidden)?,
            expand: self.read_linear(&name("intermediate.dense"), hidden, inner)?,
            contract: self.read_linear(&name("output.dense"), inner, hidden)?,
            output_norm: self.read_norm(&name("output.LayerNorm"), hidden)?,
        })
    }

    fn read_linear(&self, name: &str, inputs: usize, outputs: usize) -> Result<LinearLayer> {
        let weight = self.read_matrix(&format!("{name}.weight"), outputs, inputs)?;
        Ok(LinearLayer {
            weight: weight.t().as_standard_layout().into_owned(),
            bias: self.read_vector(&format!("{name}.bias"), outputs)?,
        })
    }

    fn read_norm(&self, name: &str, length: usize) -> Result<LayerNorm> {
        Ok(LayerNorm {
            gain: self.read_vector(&format!("{name}.weight"), length)?,
            shift: self.read_vector(&format!("{name}.bias"), length)?,
        })
    }

    fn read_matrix(&self, name: &str, rows: usize, columns: usize) -> Result<Array2<f32>> {
        let values = self.read_values(name, &[rows, columns])?;
        Ok(Array2::from_shape_vec((rows, columns), values)
            .expect("invariant: the shape was compared"))
    }

    fn read_vector(&self, name: &str, length: usize) -> Result<Array1<f32>> {
        self.read_values(name, &[length]).map(Array1::from)
    }

    fn read_values(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let name = format!("{}{name}", self.prefix);
        let tensor = self.tensors.tensor(&name).map_err(|error| {
            folder_error(format!("no tensor `{name}`"), self.path).caused_by(error)
        })?;
        if tensor.shape() != shape {
            let context = format!(
                "tensor `{name}` has shape {:?}, config.json wants `{shape:?}`",
                tensor.shape()
            );
            return Err(folder_error(context, self.path));
        }
        if tensor.dtype() != Dtype::F32 {
            return Err(folder_error(
                format!("tensor `{name}` must be F32, not `{}`", tensor.dtype()),
                self.path,
            ));
        }
        let (values, _) = tensor.data().as_chunks();
        Ok(values.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
    }
}
