//! Packs from the files they are authored in: one manifest per prompt and tool, and one that names them and has the workflow.
//!
//! Where files are is known to whoever calls. What comes of them is a document like any other, to be [read](super::read).

use super::document::{Content, Entry, Node, parse};

/// The reason why files do not make a pack.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {message}")]
#[non_exhaustive]
pub struct ImportError {
    /// The file.
    pub file: String,
    /// What is wrong with it.
    pub message: String,
}

/// Fields of a prompt that are the same in both forms.
const SAME: [&str; 9] = [
    "description",
    "system_template",
    "tool_policy",
    "parameters",
    "evals",
    "model_overrides",
    "media",
    "tested_models",
    "pipeline",
];

/// Makes a pack of a file and those it names, which `open` reads. A file that is a pack already stays as it is.
///
/// # Errors
/// Everything that is wrong with the files.
pub fn import(
    id: &str,
    file: &str,
    text: &str,
    open: &dyn Fn(&str) -> Result<String, String>,
) -> Result<Node, Vec<ImportError>> {
    let mut import = Import {
        open,
        errors: Vec::new(),
        prompts: Vec::new(),
        tools: Vec::new(),
        fragments: Vec::new(),
        engine: None,
    };
    let pack = import.main(id, file, text);
    match pack {
        Some(pack) if import.errors.is_empty() => Ok(pack),
        _ => Err(import.errors),
    }
}

struct Import<'a> {
    open: &'a dyn Fn(&str) -> Result<String, String>,
    errors: Vec<ImportError>,
    prompts: Vec<Entry>,
    tools: Vec<Entry>,
    fragments: Vec<Entry>,
    engine: Option<Node>,
}

impl Import<'_> {
    fn main(&mut self, id: &str, file: &str, text: &str) -> Option<Node> {
        let main = self.parsed(file, text)?;
        let Some(kind) = main.get("kind").and_then(Node::text) else { return Some(main) };
        match kind {
            "PromptConfig" => self.prompt(file, &main),
            "Arena" => {
                let spec = main.get("spec");
                for (list, wanted) in [("prompt_configs", "PromptConfig"), ("tools", "Tool")] {
                    let named = spec.and_then(|spec| spec.get(list)).into_iter().flat_map(Node::items);
                    for name in named.filter_map(|item| item.get("file").and_then(Node::text)) {
                        self.manifest(name, wanted);
                    }
                }
            }
            other => {
                let message = format!(
                    "this is a manifest of kind `{other}`; a pack is made of an Arena or a PromptConfig"
                );
                self.wrong(file, message);
                return None;
            }
        }
        let count = self.prompts.len();
        let description = format!("{count} prompt{}", if count == 1 { "" } else { "s" });
        let engine = self.engine.take().unwrap_or_else(|| {
            map(vec![
                entry("version", text_node("v1")),
                entry("syntax", text_node("{{variable}}")),
                entry("features", list(vec![text_node("basic_substitution")])),
            ])
        });
        let mut fields = vec![
            entry("id", text_node(id)),
            entry("name", text_node(id)),
            entry("version", text_node("v1.0.0")),
            entry("description", text_node(&description)),
            entry("template_engine", engine),
            entry("prompts", map(std::mem::take(&mut self.prompts))),
        ];
        for (name, entries) in [("fragments", &mut self.fragments), ("tools", &mut self.tools)] {
            if !entries.is_empty() {
                fields.push(entry(name, map(std::mem::take(entries))));
            }
        }
        let spec = main.get("spec").into_iter();
        let parts = ["evals", "workflow", "compositions", "agents", "skills"];
        fields.extend(spec.flat_map(|spec| parts.into_iter().filter_map(|name| copy(spec, name, name))));
        Some(map(fields))
    }

    /// A file that another one names.
    fn manifest(&mut self, file: &str, wanted: &str) {
        let Some(text) = self.opened(file) else { return };
        let Some(node) = self.parsed(file, &text) else { return };
        match node.get("kind").and_then(Node::text) {
            Some(kind) if kind != wanted => self.wrong(file, format!("this is a `{kind}`, not a `{wanted}`")),
            None => self.wrong(file, format!("write `kind: {wanted}`")),
            Some("Tool") => self.tool(file, &node),
            Some(_) => self.prompt(file, &node),
        }
    }

    fn prompt(&mut self, file: &str, node: &Node) {
        for needed in ["apiVersion", "metadata", "spec"] {
            if node.get(needed).is_none() {
                self.wrong(file, format!("there is no `{needed}`"));
            }
        }
        let Some(spec) = node.get("spec") else { return };
        let Some(task) = spec.get("task_type").and_then(Node::text) else {
            return self.wrong(
                file,
                "there is no `spec.task_type`, the name by which the prompt is used".to_owned(),
            );
        };
        let Some(name) = name_of(node) else {
            return self.wrong(file, "there is no `metadata.name`".to_owned());
        };
        let version = spec.get("version").cloned().unwrap_or_else(|| text_node("v1.0.0"));
        let mut fields =
            vec![entry("id", text_node(task)), entry("name", text_node(name)), entry("version", version)];
        fields.extend(SAME.into_iter().filter_map(|field| copy(spec, field, field)));
        let items = |field: &str| spec.get(field).map(Node::items);
        if let Some(variables) = items("variables") {
            fields.push(entry("variables", list(variables.iter().map(variable).collect())));
        }
        fields.extend(copy(spec, "allowed_tools", "tools"));
        if let Some(validators) = items("validators") {
            fields.push(entry("validators", list(validators.iter().map(validator).collect())));
        }
        let uses: Vec<Node> =
            items("fragments").into_iter().flatten().filter_map(|used| self.fragment(used)).collect();
        if !uses.is_empty() {
            fields.push(entry("fragments", list(uses)));
        }
        if self.engine.is_none() {
            self.engine = spec.get("template_engine").cloned();
        }
        if self.prompts.iter().any(|other| other.name == task) {
            self.wrong(file, format!("there is another prompt for `{task}`"));
        }
        self.prompts.push(entry(task, map(fields)));
    }

    /// Takes up the text of a fragment. One whose name depends on values is only known when the prompt is written.
    fn fragment(&mut self, used: &Node) -> Option<Node> {
        let name = used.get("name").and_then(Node::text)?;
        if let Some(path) = used.get("path").and_then(Node::text).filter(|path| !path.contains("{{")) {
            let text = self.opened(path)?;
            if !self.fragments.iter().any(|other| other.name == name) {
                self.fragments.push(entry(name, text_node(text.trim_end())));
            }
        }
        let is_dynamic = name.contains("{{");
        let fields = ["name", "required"].into_iter().filter_map(|field| copy(used, field, field));
        is_dynamic.then(|| map(fields.collect()))
    }

    fn tool(&mut self, file: &str, node: &Node) {
        let (Some(name), Some(spec)) = (name_of(node), node.get("spec")) else {
            return self.wrong(file, "a tool needs `metadata.name` and `spec`".to_owned());
        };
        let mut fields = vec![entry("name", text_node(name))];
        fields.extend(copy(spec, "description", "description"));
        fields.extend(copy(spec, "input_schema", "parameters"));
        self.tools.push(entry(name, map(fields)));
    }

    fn opened(&mut self, file: &str) -> Option<String> {
        (self.open)(file).map_err(|message| self.wrong(file, message)).ok()
    }

    fn parsed(&mut self, file: &str, text: &str) -> Option<Node> {
        let mut findings = Vec::new();
        let node = parse(text, &mut findings);
        for finding in findings {
            self.wrong(file, finding.message);
        }
        node
    }

    fn wrong(&mut self, file: &str, message: String) {
        self.errors.push(ImportError { file: file.to_owned(), message });
    }
}

/// What has no type is a text; what does not say that it must be given need not be.
fn variable(node: &Node) -> Node {
    let mut fields = node.entries().to_vec();
    // What it is bound to is the authoring tool's.
    fields.retain(|field| field.name != "binding");
    if node.get("type").is_none() {
        fields.push(entry("type", text_node("string")));
    }
    if node.get("required").is_none() {
        fields.push(entry("required", Node::new(Content::Bool(false))));
    }
    map(fields)
}

/// A message belongs to the settings; what is not disabled is enabled.
fn validator(node: &Node) -> Node {
    let mut fields = node.entries().to_vec();
    if let Some(place) = fields.iter().position(|field| field.name == "message") {
        let message = fields.remove(place);
        let mut settings = node.get("params").map(|params| params.entries().to_vec()).unwrap_or_default();
        if !settings.iter().any(|setting| setting.name == "message") {
            settings.push(message);
        }
        fields.retain(|field| field.name != "params");
        fields.push(entry("params", map(settings)));
    }
    if node.get("enabled").is_none() {
        fields.push(entry("enabled", Node::new(Content::Bool(true))));
    }
    map(fields)
}

/// The name of a manifest.
fn name_of(manifest: &Node) -> Option<&str> {
    manifest.get("metadata")?.get("name")?.text()
}

/// A field as it is, under another name.
fn copy(from: &Node, field: &str, name: &str) -> Option<Entry> {
    from.get(field).map(|node| entry(name, node.clone()))
}

fn entry(name: &str, node: Node) -> Entry {
    Entry::new(name, node)
}

fn text_node(text: &str) -> Node {
    Node::new(Content::Text(text.to_owned()))
}

fn list(items: Vec<Node>) -> Node {
    Node::new(Content::List(items))
}

fn map(entries: Vec<Entry>) -> Node {
    Node::new(Content::Map(entries))
}
