//! `convoke compile`

use convoke_host::{compile_pack, counted};

use crate::arguments::{Arguments, Compile};
use crate::diagnostics::tell;
use crate::failure::Failure;
use crate::files;
use crate::terminal::{Output, Rich, Tone};

pub(crate) fn run(arguments: &Arguments, wanted: &Compile, output: &mut Output) -> Result<(), Failure> {
    let path = wanted.output.as_deref().filter(|path| !files::is_standard_output(path));
    path.map(files::check_place).transpose()?;
    let compiled = compile_pack(&wanted.file)?;
    output.notes(&compiled.left_out);
    tell(&compiled.source, &compiled.diagnostics, output);
    if compiled.diagnostics.errors() > 0 {
        let problems = counted(compiled.diagnostics.errors(), compiled.diagnostics.warnings());
        return Err(Failure::failed(format!("no pack was written: {problems}")));
    }
    let Some(path) = path else { return output.block(compiled.source.text()) };
    if compiled.is_made_of(path) {
        let path = path.display();
        return Err(Failure::usage(format!("{path} is what the pack is made of: it would be written over"))
            .hint("write it somewhere else: `-o NAME.pack.json`"));
    }
    files::replace(path, compiled.source.text())?;
    if !arguments.json {
        output.line(&Rich::new(Tone::Good, "✓ Written").with(Tone::Plain, format!(" {}", path.display())))?;
    }
    Ok(())
}
