//! `convoke model`

use convoke_host::models::library;
use convoke_host::view::ModelFiles;
use convoke_weights::{PullOptions, WeightsError};
use serde_json::json;

use crate::arguments::ModelCommand;
use crate::failure::Failure;
use crate::terminal::Output;
use crate::weights;

pub(crate) async fn run(command: &ModelCommand, output: &mut Output) -> Result<(), Failure> {
    let library = library()?;
    match command {
        ModelCommand::List => output.show(&ModelFiles::of(&library)?),
        ModelCommand::Pull { what, name } => {
            let wanted = library.pull_source(what)?;
            let options = name.iter().fold(PullOptions::default(), PullOptions::name);
            output.show(&weights::pull(&library, &wanted, options).await?)
        }
        ModelCommand::Rm { name } => {
            library.remove(name).map_err(|error| match error {
                WeightsError::NotInstalled { name } => {
                    Failure::not_found(format!("there is no model `{name}` on this machine"))
                        .hint("`convoke model list` shows those that are")
                }
                other => other.into(),
            })?;
            output.give(&json!({"removed": name}), format!("removed {name}"))
        }
        ModelCommand::Info { name } => {
            let info = library.info(name)?;
            if info.entry.is_none() && info.installed.is_none() {
                let message = format!("there is no model `{name}` here or in the catalogue");
                return Err(Failure::not_found(message).hint("`convoke model list` shows what there is"));
            }
            output.show(&info)
        }
    }
}
