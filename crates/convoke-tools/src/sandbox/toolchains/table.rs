//! The table of known toolchains, and what commands need of them.
//!
//! A chain's parts are named one by one: what is not here is not opened, whatever else a chain keeps in its folder. A part in
//! which there can be credentials must never be here.

/// A tool chain with a folder of its own.
pub(super) struct Toolchain {
    pub(super) name: &'static str,
    /// Where that folder is: the first variable that is set, and what to go to from there.
    pub(super) folder: &'static [(&'static str, &'static str)],
    /// Programs that need it, wherever they are. Without them, some folder of the path must be in it.
    pub(super) programs: &'static [&'static str],
    /// What of it is opened. `*` is every name but those that are [left out](LEFT_OUT).
    pub(super) parts: &'static [&'static str],
    /// Files in it that are opened if no key is in them.
    pub(super) settings: &'static [&'static str],
    /// The variable that tells commands where it is: their home is another one.
    pub(super) told_by: Option<&'static str>,
    /// Variables that are handed on.
    pub(super) kept: &'static [&'static str],
}

const PLAIN: Toolchain =
    Toolchain { name: "", folder: &[], programs: &[], parts: &[], settings: &[], told_by: None, kept: &[] };

/// Settings of installed versions, in which addresses of registries can have keys.
pub(super) const LEFT_OUT: &[&str] =
    &["etc", "envs", "pip.conf", "pipx_metadata.json", "uv-receipt.toml", ".condarc", ".npmrc"];

/// The chains that are known.
pub(super) const CHAINS: &[Toolchain] = &[
    Toolchain {
        name: "rustup",
        folder: &[("RUSTUP_HOME", ""), ("HOME", ".rustup")],
        programs: &["rustup", "cargo", "rustc"],
        parts: &["settings.toml", "toolchains", "update-hashes"],
        told_by: Some("RUSTUP_HOME"),
        kept: &["RUSTUP_TOOLCHAIN"],
        ..PLAIN
    },
    Toolchain {
        name: "cargo",
        folder: &[("CARGO_HOME", ""), ("HOME", ".cargo")],
        programs: &["cargo"],
        parts: &["bin", "registry", "git"],
        settings: &["config.toml", "config"],
        told_by: Some("CARGO_HOME"),
        ..PLAIN
    },
    Toolchain {
        name: "pyenv",
        folder: &[("PYENV_ROOT", ""), ("HOME", ".pyenv")],
        parts: &["bin", "libexec", "plugins", "pyenv.d", "shims", "version", "versions/*/*"],
        told_by: Some("PYENV_ROOT"),
        kept: &["PYENV_VERSION"],
        ..PLAIN
    },
    Toolchain {
        name: "uv",
        folder: &[("XDG_DATA_HOME", "uv"), ("HOME", ".local/share/uv")],
        programs: &["uv"],
        parts: &["python/*/*", "tools/*/*"],
        ..PLAIN
    },
    Toolchain {
        name: "pipx",
        folder: &[("PIPX_HOME", ""), ("HOME", ".local/share/pipx")],
        programs: &["pipx"],
        parts: &["shared/*", "venvs/*/*"],
        ..PLAIN
    },
    Toolchain {
        name: "rbenv",
        folder: &[("RBENV_ROOT", ""), ("HOME", ".rbenv")],
        parts: &["bin", "libexec", "plugins", "rbenv.d", "shims", "version", "versions/*/*"],
        told_by: Some("RBENV_ROOT"),
        kept: &["RBENV_VERSION"],
        ..PLAIN
    },
    Toolchain {
        name: "nvm",
        folder: &[("NVM_DIR", ""), ("HOME", ".nvm")],
        parts: &["versions/node/*/*"],
        ..PLAIN
    },
    Toolchain {
        name: "fnm",
        folder: &[("FNM_DIR", ""), ("XDG_DATA_HOME", "fnm"), ("HOME", ".local/share/fnm")],
        parts: &["node-versions/*/installation/*"],
        ..PLAIN
    },
    Toolchain {
        name: "volta",
        folder: &[("VOLTA_HOME", ""), ("HOME", ".volta")],
        parts: &[
            "bin",
            "layout.v3",
            "layout.v4",
            "tools/image/node/*/*",
            "tools/image/npm",
            "tools/image/packages",
            "tools/image/pnpm",
            "tools/image/yarn",
            "tools/inventory",
            "tools/user",
        ],
        told_by: Some("VOLTA_HOME"),
        ..PLAIN
    },
    Toolchain {
        name: "go modules",
        folder: &[("GOMODCACHE", ""), ("GOPATH", "pkg/mod"), ("HOME", "go/pkg/mod")],
        programs: &["go"],
        parts: &[""],
        told_by: Some("GOMODCACHE"),
        ..PLAIN
    },
];

/// Chains that can be anywhere: what is beside a folder `bin` of the path, what shows it, and what of it is opened.
pub(super) const BESIDE: &[(&str, &str, &[&str])] = &[
    ("go", "pkg/tool", &["VERSION", "go.env", "lib", "pkg", "src"]),
    ("java", "lib/modules", &["conf", "lib", "release"]),
    ("python", "pyvenv.cfg", &["lib", "lib64", "pyvenv.cfg"]),
    ("conda", "conda-meta", &["conda-meta", "lib", "libexec", "share", "ssl"]),
];
