//! Views of other things than runs: each as a document for programs, and as lines for people.
//!
//! A file for each kind of thing. Nothing here finds anything out: what is shown is made by whoever knows it.

mod download;
mod eval_report;
mod knowledge;
mod lists;
mod model_files;
mod packages;
mod places;
mod policy;
mod servers;
mod settings;

use convoke_history::lines::Rich;
use serde_json::Value;

pub use download::download_line;
pub use eval_report::{ComparedReport, scenario_line};
pub use knowledge::{AddedDocuments, path_from_here};
pub use lists::Listed;
pub use model_files::ModelFiles;
pub use packages::VerifiedPackage;
pub use places::Places;
pub use policy::ExplainedCall;
pub use servers::{NO_SERVERS, ServerList};
pub use settings::Settings;

/// Something to be shown.
pub trait View {
    /// The document of it. Fields are added, never renamed.
    fn document(&self) -> Value;

    /// The same for people, in lines no wider than this.
    fn lines(&self, width: Option<usize>) -> Vec<Rich>;

    /// What people should know beside that.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}
