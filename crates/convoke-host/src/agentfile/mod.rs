//! Agentfiles as a kind of definition, from disks, pipes and packages.

mod kind;
mod package;
mod read;

pub(crate) use kind::NAME;
pub use kind::{AgentfileKind, BUILT_IN_TOOLS};
pub use package::in_words;
pub(crate) use package::{UnpackedPackage, unpacked};
pub(crate) use read::beside;
pub use read::{FileError, LARGEST_FILE, bytes_of, is_standard_input, read_source};
