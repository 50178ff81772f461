//! The name of the user that this process runs for.

/// The name of whoever runs this: the one they are logged in with, or else the one that their user id has. Nothing here
/// proves it; it is empty where nobody says it.
#[must_use]
pub fn user_name() -> String {
    let said = |variable| std::env::var(variable).ok().filter(|name| !name.trim().is_empty());
    said("USER").or_else(|| said("LOGNAME")).or_else(of_process).unwrap_or_default()
}

#[cfg(unix)]
fn of_process() -> Option<String> {
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    name_of(&users, rustix::process::getuid().as_raw())
}

#[cfg(not(unix))]
fn of_process() -> Option<String> {
    None
}

/// The name of a user in the lines of `/etc/passwd`: name, password, id, and more.
#[cfg(unix)]
fn name_of(users: &str, id: u32) -> Option<String> {
    let mut users = users.lines().map(|line| line.split(':'));
    users.find_map(|mut fields| {
        let (name, own) = (fields.next()?, fields.nth(1)?);
        (own.parse() == Ok(id) && !name.is_empty()).then(|| name.to_owned())
    })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_id() {
        let users = "root:x:0:0:root:/root:/bin/sh\nbroken\nann:x:1000:1000::/home/ann:/bin/sh\n";
        assert_eq!(name_of(users, 1000).as_deref(), Some("ann"));
        assert_eq!(name_of(users, 7), None);
    }
}
