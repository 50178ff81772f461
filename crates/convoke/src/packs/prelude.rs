//! The prelude for programs that talk with packs: `use convoke::packs::prelude::*;`
//!
//! ```
//! use std::sync::Arc;
//!
//! use convoke::packs::prelude::*;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (pack, findings) = pack::read(r#"
//! id: greeter
//! name: Greeter
//! version: 1.0.0
//! template_engine: {version: v1, syntax: "{{variable}}"}
//! prompts:
//!   hello: {id: hello, name: Hello, version: 1.0.0, system_template: "Greet {{name}}.",
//!     variables: [{name: name, type: string, required: true}]}
//! "#);
//! let pack = Arc::new(pack.ok_or_else(|| format!("{findings:?}"))?);
//! let model = ScriptedModel::replies(["Hello, Ada."]);
//! let machine = PackStage::new(pack, Toolset::new(), Some(Arc::new(model))).machine()?;
//! let talk = MachineState::saying("Good morning.").variable("name", "Ada").talk(Talk::Once);
//! let talk = Runtime::new().start(&machine.workflow(), talk).await?.completed()?;
//! assert_eq!(talk.last.as_deref(), Some("Hello, Ada."));
//! # Ok(()) }
//! ```

pub use convoke_core::{Answer, Error, Limits, Outcome, Question, RunId, RunStatus, Runtime, Store, Toolset};
pub use convoke_machine::conversation::{Machine, MachineState, Situation, Stage, Talk};
pub use convoke_machine::pack::{self, CompiledPack};
pub use convoke_machine::stage::PackStage;
pub use convoke_machine::workflow::{Act, Command, Compiled, Context, Status, advance};
pub use convoke_models::{Match, Reply, ScriptedModel};
pub use convoke_store::MemoryStore;
#[cfg(feature = "sqlite")]
pub use convoke_store::SqliteStore;
