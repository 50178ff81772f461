//! Opens the host as the command line says.

use convoke_config::Config;
use convoke_host::Host;

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::{configuration, weights};

/// The host for what is configured.
pub(crate) fn load(arguments: &Arguments) -> Result<Host, Failure> {
    of(arguments, configuration::load(arguments)?)
}

/// The host for this configuration.
pub(crate) fn of(arguments: &Arguments, config: Config) -> Result<Host, Failure> {
    let host = Host::builder(config).store_file(&arguments.store).downloads(weights::bar());
    Ok(host.build()?)
}
