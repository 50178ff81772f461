//! Settles which file holds the runs, alike for every command.
//!
//! What somebody names (`--store`, `CONVOKE_STORE`, `store.path` in the user's own file) takes precedence over the place of the
//! project. Stores where earlier versions had them are still looked at.

mod earlier;

use convoke_config::Config;
use convoke_host::HostError;
use convoke_host::store::must_be_own;

use crate::arguments::Arguments;
use crate::failure::Failure;

pub(crate) use earlier::turn_to_earlier;

/// Settles which file it is, and refuses commands that need one where there is no place for it.
pub(crate) fn settle(arguments: &mut Arguments, config: &Config) -> Result<(), Failure> {
    match config.store() {
        Some(store) => {
            must_be_own(&config.locations().project, &store)?;
            arguments.store = store;
            Ok(())
        }
        None if arguments.command.has_store() => Err(HostError::NoStorePlace.into()),
        None => Ok(()),
    }
}
