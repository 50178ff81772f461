//! References to what steps are given and give: `${input.text}`, `${classify.output.labels[0]}`.

use serde_json::Value;

use super::super::template::{Part, Path, Template, rendered};

/// Something that looks like a reference and is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`${{{0}}}` is not a reference: write names with dots and indices, as in `${{classify.output.labels[0]}}`"
)]
pub struct ReferenceError(pub String);

/// Everything in a text that is, or looks like, a reference.
///
/// ```
/// use convoke_machine::pack::composition::references;
///
/// let found: Vec<_> = references("about ${classify.output.label} and ${a b}").collect();
/// assert_eq!(found[0].as_ref().unwrap().root(), "classify");
/// assert!(found[1].is_err());
/// ```
pub fn references(text: &str) -> impl Iterator<Item = Result<Path, ReferenceError>> {
    parsed(text).parts().to_vec().into_iter().filter_map(|part| match part {
        Part::Text(_) => None,
        Part::Value(path) => Some(Ok(path)),
        Part::Unknown(inside) => Some(Err(ReferenceError(inside.trim().to_owned()))),
    })
}

/// A value with what `look` finds in the place of its references: a text that is nothing but one becomes what it refers to, with its
/// type; in other texts it is written out.
///
/// # Errors
/// The reference for which there is nothing.
pub(crate) fn resolved<'a>(
    value: &Value,
    look: &dyn Fn(&Path) -> Option<&'a Value>,
) -> Result<Value, NoValue> {
    Ok(match value {
        Value::String(text) => {
            let template = parsed(text);
            if let [Part::Value(path)] = template.parts() {
                return look(path).cloned().ok_or_else(|| NoValue(path.to_string()));
            }
            if let Some(path) = template.paths().find(|path| look(path).is_none()) {
                return Err(NoValue(path.to_string()));
            }
            let text = template.render(&mut |path| look(path).map(rendered));
            Value::String(text.map_err(|unresolved| NoValue(unresolved.0.join(", ")))?)
        }
        Value::Array(items) => {
            Value::Array(items.iter().map(|item| resolved(item, look)).collect::<Result<_, _>>()?)
        }
        Value::Object(fields) => {
            let field = |(name, field): (&String, &Value)| Ok((name.clone(), resolved(field, look)?));
            Value::Object(fields.iter().map(field).collect::<Result<_, _>>()?)
        }
        other => other.clone(),
    })
}

/// There is nothing that a reference refers to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no value for `${{{0}}}`: the step was not run, or its output has no such part")]
pub(crate) struct NoValue(pub(crate) String);

/// A text that is nothing but a reference.
pub(super) fn only_reference(text: &str) -> Option<Path> {
    match parsed(text.trim()).parts() {
        [Part::Value(path)] => Some(path.clone()),
        _ => None,
    }
}

fn parsed(text: &str) -> Template {
    let is_first = |letter: char| letter.is_ascii_alphabetic() || letter == '_';
    Template::delimited(text, "${", "}", |inside| {
        let path = inside.trim();
        let is_plain = !path.contains('-') && path.split('.').all(|name| name.starts_with(is_first));
        Path::parse(path).filter(|_| is_plain)
    })
}
