//! `convoke verify`

use convoke_host::FailureReport;
use convoke_host::view::VerifiedPackage;
use convoke_package::{Package, Verification};

use super::arguments::Verify;
use crate::failure::Failure;
use crate::terminal::Output;

pub(super) fn run(wanted: &Verify, output: &mut Output) -> Result<(), Failure> {
    let package = Package::open(&wanted.file)?;
    let verification = package.verify(&super::trust(wanted.key.as_deref())?);
    output.show(&VerifiedPackage {
        package: &package,
        verification: &verification,
        files: package.list()?,
    })?;
    let failure = FailureReport::failed(format!("{} is not verified", wanted.file.display()));
    Err(match verification {
        Verification::Verified { .. } => return Ok(()),
        Verification::Unsigned => failure.detail("the package is not signed"),
        Verification::UnknownKey { .. } => failure
            .detail("the key it is signed with is not trusted here")
            .hint("`convoke trust KEY --as NAME` trusts a key; `--key KEY` tries one"),
        Verification::Invalid { reason } => {
            failure.detail(format!("signature verification failed: {reason}"))
        }
    }
    .into())
}
