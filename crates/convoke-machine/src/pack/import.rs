//! Packs from the files they are authored in: one manifest per prompt and tool, and one that names them and has the workflow.
//!
//! Where files are is known to whoever calls. What comes of them is a document like any other, to be [read](super::read).

use super::document::{Entry, Node, inexact_numbers, parse_strictly};

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
const SAME: &str =
    "description system_template tool_policy parameters evals model_overrides media tested_models pipeline";

/// Other fields of a prompt that have a place in a pack.
const OTHERS: &str = "task_type version variables allowed_tools validators fragments template_engine";

/// Parts of a pack that are written as they are.
const PARTS: &str = "evals workflow compositions agents skills";

/// What becomes of the files.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Imported {
    /// The pack.
    pub pack: Node,
    /// What the files say that is not in the pack, or otherwise, one line each.
    pub left_out: Vec<String>,
}

/// Makes a pack of a file and those it names, which `open` reads. A file that is a pack already stays as it is.
///
/// # Errors
/// Everything that is wrong with the files.
pub fn import(
    id: &str,
    file: &str,
    text: &str,
    open: &dyn Fn(&str) -> Result<String, String>,
) -> Result<Imported, Vec<ImportError>> {
    let (errors, left_out, prompts, tools, fragments) = Default::default();
    let mut import = Import { open, errors, left_out, prompts, tools, fragments, engine: None };
    let pack = import.main(id, file, text).filter(|_| import.errors.is_empty());
    pack.map(|pack| Imported { pack, left_out: import.left_out }).ok_or(import.errors)
}

struct Import<'a> {
    open: &'a dyn Fn(&str) -> Result<String, String>,
    errors: Vec<ImportError>,
    left_out: Vec<String>,
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
                self.leave_out(file, "an Arena", &main, &["prompt_configs tools", PARTS]);
                for (list, wanted) in [("prompt_configs", "PromptConfig"), ("tools", "Tool")] {
                    let named = spec.and_then(|spec| spec.get(list)).into_iter().flat_map(Node::items);
                    for name in named.filter_map(|item| item.get("file").and_then(Node::text)) {
                        self.manifest(file, name, wanted);
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
        let description = convoke_text::human::count(self.prompts.len() as u64, "prompt");
        let engine = self.engine.take().unwrap_or_else(|| {
            Node::from(vec![
                Entry::new("version", "v1"),
                Entry::new("syntax", "{{variable}}"),
                Entry::new("features", vec![Node::from("basic_substitution")]),
            ])
        });
        let mut fields = vec![
            Entry::new("id", id),
            Entry::new("name", id),
            Entry::new("version", "v1.0.0"),
            Entry::new("description", description.as_str()),
            Entry::new("template_engine", engine),
            Entry::new("prompts", std::mem::take(&mut self.prompts)),
        ];
        for (name, entries) in [("fragments", &mut self.fragments), ("tools", &mut self.tools)] {
            if !entries.is_empty() {
                fields.push(Entry::new(name, std::mem::take(entries)));
            }
        }
        let spec = main.get("spec").into_iter();
        fields.extend(spec.flat_map(|spec| PARTS.split(' ').filter_map(|name| copy(spec, name, name))));
        Some(fields.into())
    }

    /// A file that another one names.
    fn manifest(&mut self, by: &str, file: &str, wanted: &str) {
        let Some(text) = self.opened(by, file) else { return };
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
        // One that stands alone may have the parts of a pack too.
        self.leave_out(file, "a PromptConfig", node, &[SAME, OTHERS, PARTS]);
        let Some(task) = spec.get("task_type").and_then(Node::text) else {
            return self.wrong(
                file,
                "there is no `spec.task_type`, the name by which the prompt is used".to_owned(),
            );
        };
        let Some(name) = name_of(node) else {
            return self.wrong(file, "there is no `metadata.name`".to_owned());
        };
        let version = spec.get("version").cloned().unwrap_or_else(|| "v1.0.0".into());
        let mut fields =
            vec![Entry::new("id", task), Entry::new("name", name), Entry::new("version", version)];
        fields.extend(SAME.split(' ').filter_map(|field| copy(spec, field, field)));
        let each = |name: &str, change: fn(&Node) -> Node| {
            let items = spec.get(name)?.items();
            Some(Entry::new(name, items.iter().map(change).collect::<Vec<_>>()))
        };
        fields.extend(each("variables", variable));
        let variables = spec.get("variables").into_iter().flat_map(Node::items).enumerate();
        for (index, _) in variables.filter(|(_, variable)| variable.get("binding").is_some()) {
            let field = format!("spec.variables[{index}].binding");
            self.left_out.push(no_place(file, &field, "a PromptConfig"));
        }
        fields.extend(copy(spec, "allowed_tools", "tools"));
        fields.extend(each("validators", validator));
        let used = spec.get("fragments").into_iter().flat_map(Node::items);
        let uses: Vec<Node> = used.filter_map(|used| self.fragment(file, used)).collect();
        if !uses.is_empty() {
            fields.push(Entry::new("fragments", uses));
        }
        if self.engine.is_none() {
            self.engine = spec.get("template_engine").cloned();
        }
        if self.prompts.iter().any(|other| other.name == task) {
            self.wrong(file, format!("there is another prompt for `{task}`"));
        }
        self.prompts.push(Entry::new(task, fields));
    }

    /// Takes up the text of a fragment. One whose name depends on values is only known when the prompt is written.
    fn fragment(&mut self, by: &str, used: &Node) -> Option<Node> {
        let name = used.get("name").and_then(Node::text)?;
        if let Some(path) = used.get("path").and_then(Node::text).filter(|path| !path.contains("{{")) {
            let text = self.opened(by, path)?;
            if !self.fragments.iter().any(|other| other.name == name) {
                self.fragments.push(Entry::new(name, text.trim_end()));
            }
        }
        let is_dynamic = name.contains("{{");
        let fields = ["name", "required"].into_iter().filter_map(|field| copy(used, field, field));
        is_dynamic.then(|| fields.collect::<Vec<_>>().into())
    }

    fn tool(&mut self, file: &str, node: &Node) {
        let (Some(name), Some(spec)) = (name_of(node), node.get("spec")) else {
            return self.wrong(file, "a tool needs `metadata.name` and `spec`".to_owned());
        };
        self.leave_out(file, "a Tool", node, &["description input_schema"]);
        let mut fields = vec![Entry::new("name", name)];
        fields.extend(copy(spec, "description", "description"));
        fields.extend(copy(spec, "input_schema", "parameters"));
        self.tools.push(Entry::new(name, fields));
    }

    /// The text of a file that another one names.
    fn opened(&mut self, by: &str, file: &str) -> Option<String> {
        (self.open)(file).map_err(|message| self.wrong(file, format!("{by} names it: {message}"))).ok()
    }

    fn parsed(&mut self, file: &str, text: &str) -> Option<Node> {
        let node = parse_strictly(text).map_err(|message| self.wrong(file, message)).ok()?;
        let mut inexact = Vec::new();
        inexact_numbers(&node, text, &mut inexact);
        self.left_out
            .extend(inexact.into_iter().map(|number| format!("{file}, {}: {}", number.path, number.message)));
        Some(node)
    }

    /// Says which fields of a manifest, and of its `metadata` and `spec`, have no place in a pack.
    fn leave_out(&mut self, file: &str, kind: &str, manifest: &Node, spec: &[&str]) {
        let parts = [
            ("", Some(manifest), &["apiVersion kind metadata spec"][..]),
            ("metadata.", manifest.get("metadata"), &["name"]),
            ("spec.", manifest.get("spec"), spec),
        ];
        for (part, node, known) in parts {
            let known: Vec<&str> = known.iter().flat_map(|names| names.split(' ')).collect();
            let names = node.into_iter().flat_map(Node::entries).map(|entry| &*entry.name);
            for name in names.filter(|name| !known.contains(name)) {
                // What is there as well was not meant.
                let others =
                    known.iter().copied().filter(|other| node.is_none_or(|node| node.get(other).is_none()));
                let meant = convoke_text::nearest(name, others);
                let meant = meant.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
                self.left_out.push(no_place(file, &format!("{part}{name}"), kind) + &meant);
            }
        }
    }

    fn wrong(&mut self, file: &str, message: String) {
        self.errors.push(ImportError { file: file.to_owned(), message });
    }
}

fn no_place(file: &str, field: &str, kind: &str) -> String {
    format!("{file}: `{field}` of {kind} has no place in a pack and is left out")
}

/// What has no type is a text; what does not say that it must be given need not be.
fn variable(node: &Node) -> Node {
    let mut fields = node.entries().to_vec();
    // What it is bound to is the authoring tool's.
    fields.retain(|field| field.name != "binding");
    fields.extend(node.get("type").is_none().then(|| Entry::new("type", "string")));
    fields.extend(node.get("required").is_none().then(|| Entry::new("required", false)));
    fields.into()
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
        fields.push(Entry::new("params", settings));
    }
    fields.extend(node.get("enabled").is_none().then(|| Entry::new("enabled", true)));
    fields.into()
}

/// The name of a manifest.
fn name_of(manifest: &Node) -> Option<&str> {
    manifest.get("metadata")?.get("name")?.text()
}

/// A field as it is, under another name.
fn copy(from: &Node, field: &str, name: &str) -> Option<Entry> {
    from.get(field).map(|node| Entry::new(name, node.clone()))
}
