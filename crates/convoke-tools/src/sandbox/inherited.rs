//! Handles that this process was started with and that commands would inherit.
//!
//! One on a folder was opened before a command's namespace was made, and leads past whatever is mounted there.

/// Whether one of them is a folder's. What cannot be found out is taken for a yes.
pub(super) fn has_folder() -> bool {
    /// The flag of handles that end when another program begins.
    const ENDS: u32 = 0o2_000_000;
    let Ok(handles) = std::fs::read_dir("/proc/self/fdinfo") else { return true };
    handles.flatten().any(|handle| {
        let number: Option<u32> = handle.file_name().to_str().and_then(|name| name.parse().ok());
        // One that is gone meanwhile was ours.
        let info = std::fs::read_to_string(handle.path()).unwrap_or_default();
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
        let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
        let is_folder = |number: u32| {
            std::fs::metadata(format!("/proc/self/fd/{number}")).is_ok_and(|metadata| metadata.is_dir())
        };
        flags.is_some_and(|flags| flags & ENDS == 0)
            && number.is_some_and(|number| number > 2 && is_folder(number))
    })
}
