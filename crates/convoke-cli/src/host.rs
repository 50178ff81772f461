//! Opens the host as the command line says.

use convoke_host::Host;

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::{configuration, weights};

/// The host for what is configured.
pub(crate) fn load(arguments: &Arguments) -> Result<Host, Failure> {
    let host = Host::builder(configuration::load(arguments)?).store_file(&arguments.store);
    Ok(host.downloads(weights::bar()).build()?)
}
