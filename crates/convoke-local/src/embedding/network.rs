//! The network: tokens in, a state for every token out.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use rten::{Model, ModelOptions, NodeId, RunOptions, ThreadPool, Value, ValueOrView};
use rten_tensor::prelude::*;
use rten_tensor::{NdTensor, Tensor};

use super::file;
use super::tokenizer::Token;
use crate::LocalError;

/// A network out of an ONNX file.
pub(super) struct Network {
    model: Model,
    inputs: Vec<(NodeId, Input)>,
    output: NodeId,
    pool: Arc<ThreadPool>,
}

/// What a network is told of a batch of texts.
#[derive(Clone, Copy, PartialEq)]
enum Input {
    Tokens,
    /// Which places have a token, and which are padding.
    Mask,
    /// Which of two texts a token belongs to; there is only one.
    Kinds,
}

/// The states that a network computes for a batch of texts: for every text and place, so many numbers, one after the other.
pub(super) struct States {
    pub(super) numbers: Vec<f32>,
    /// How many places every text has: as many as the longest.
    pub(super) places: usize,
    /// How many numbers a state has.
    pub(super) width: usize,
}

impl Network {
    /// Loads a network.
    pub(super) fn open(path: &Path, threads: usize) -> Result<Self, LocalError> {
        let refused = |reason: String| LocalError::Refused { path: path.to_owned(), reason };
        let bytes =
            fs::read(path).map_err(|source| LocalError::Unreadable { path: path.to_owned(), source })?;
        file::check(&bytes).map_err(|reason| refused(reason.to_owned()))?;
        let mut options = ModelOptions::with_all_ops();
        // Takes 40 MB more, and a short text is computed three times faster.
        options.prepack_weights(true);
        let model = options
            .load(bytes)
            .map_err(|error| refused(format!("the engine cannot make a network of it ({error})")))?;
        let inputs = inputs(&model).map_err(refused)?;
        let output = model.output_ids().first().copied();
        let output = output.ok_or_else(|| refused("it has no output".to_owned()))?;
        Ok(Self { model, inputs, output, pool: Arc::new(ThreadPool::with_num_threads(threads)) })
    }

    /// Computes a batch. It must have at least one text.
    pub(super) fn compute(&self, batch: &[Vec<Token>]) -> Result<States, String> {
        let places = batch.iter().map(Vec::len).max().unwrap_or_default();
        let shape = [batch.len(), places];
        let inputs = self.inputs.iter().map(|(node, input)| {
            let tensor = NdTensor::from_fn(shape, |[text, place]| match (input, batch[text].get(place)) {
                (Input::Tokens, Some(token)) => *token,
                (Input::Mask, Some(_)) => 1,
                // Padding is masked: any token will do, and zero always is one.
                (Input::Tokens | Input::Mask, None) | (Input::Kinds, _) => 0,
            });
            (*node, ValueOrView::Value(Value::from(tensor)))
        });
        let options = RunOptions::default().with_thread_pool(Some(Arc::clone(&self.pool)));
        let outputs = self.model.run(inputs.collect(), &[self.output], Some(options));
        let output = outputs.map_err(|error| error.to_string())?.into_iter().next();
        let output: Tensor<f32> = output
            .ok_or("it gave nothing")?
            .try_into()
            .map_err(|_| "it gave something other than numbers")?;
        match *output.shape() {
            [texts, of, width] if [texts, of] == shape && width > 0 => {
                Ok(States { numbers: output.into_data(), places, width })
            }
            ref other => {
                Err(format!("it gave {other:?} numbers for {shape:?} tokens, and not a state for each"))
            }
        }
    }
}

fn inputs(model: &Model) -> Result<Vec<(NodeId, Input)>, String> {
    let input = |node: &NodeId| {
        let info = model.node_info(*node);
        let name = info.as_ref().and_then(|info| info.name()).unwrap_or_default();
        let input = match name {
            "input_ids" => Input::Tokens,
            "attention_mask" => Input::Mask,
            "token_type_ids" => Input::Kinds,
            _ => return Err(format!("it wants `{name}`, and texts have none: it embeds something else")),
        };
        Ok((*node, input))
    };
    let inputs: Vec<_> = model.input_ids().iter().map(input).collect::<Result<_, _>>()?;
    for (wanted, name) in [(Input::Tokens, "input_ids"), (Input::Mask, "attention_mask")] {
        if !inputs.iter().any(|(_, input)| *input == wanted) {
            return Err(format!("it does not take `{name}`: it embeds something other than texts"));
        }
    }
    Ok(inputs)
}
