//! Follows redirects, as far as they are safe.
//!
//! File hosts keep files elsewhere and send everybody there. A password that is part of an address goes along only where
//! nothing but the path changes; the headers of a pull (what is wanted, and from which byte) are no secrets.

use convoke_http::HttpReply;
use convoke_http::address::{is_local, shown};
use http::StatusCode;
use http::header::LOCATION;
use url::Url;

use crate::WeightsError;

/// Where this reply to a request for this address sends us, if it does.
///
/// # Errors
/// [`WeightsError::Redirected`] if nobody should go there.
pub(super) fn target(asked: &Url, reply: &HttpReply) -> Result<Option<Url>, WeightsError> {
    let sends_on = matches!(
        reply.status,
        StatusCode::MOVED_PERMANENTLY
            | StatusCode::FOUND
            | StatusCode::SEE_OTHER
            | StatusCode::TEMPORARY_REDIRECT
            | StatusCode::PERMANENT_REDIRECT
    );
    let Some(location) = reply.headers.get(LOCATION).filter(|_| sends_on) else { return Ok(None) };
    let refused = |reason: &str| WeightsError::Redirected { what: shown(asked), reason: reason.to_owned() };
    let location = location.to_str().map_err(|_| refused("its location is not a valid address"))?;
    let mut target = asked.join(location).map_err(|_| refused("its location is not a valid address"))?;
    let is_same = target.origin() == asked.origin();
    let is_safe = target.scheme() == "https" && (is_local(asked) || !is_local(&target));
    let stays_local = target.scheme() == "http" && is_local(asked) && is_local(&target);
    if !is_same && !is_safe && !stays_local {
        return Err(refused("that is not reached by https, or is on this machine"));
    }
    // Both can only fail for addresses without a host, which are not asked.
    let (user, password) = if is_same { (asked.username(), asked.password()) } else { ("", None) };
    let _ = target.set_username(user);
    let _ = target.set_password(password);
    target.set_fragment(None);
    Ok(Some(target))
}

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use http::{HeaderMap, HeaderValue};

    use super::*;

    fn sent(asked: &str, status: u16, location: &str) -> Result<Option<String>, WeightsError> {
        let reply = HttpReply {
            status: StatusCode::from_u16(status).unwrap(),
            headers: HeaderMap::from_iter([(LOCATION, HeaderValue::from_str(location).unwrap())]),
            body: Box::pin(stream::empty()),
        };
        Ok(target(&Url::parse(asked).unwrap(), &reply)?.map(String::from))
    }

    #[test]
    fn a_password_stays_with_its_own_server() {
        let asked = "https://me:secret@files.example/a/x.gguf?y=1";
        for (location, expected) in [
            ("/b", "https://me:secret@files.example/b"),
            ("https://files.example/b?c#d", "https://me:secret@files.example/b?c"),
            ("//cdn.example/b", "https://cdn.example/b"),
            ("https://you:other@cdn.example/b?signed=1", "https://cdn.example/b?signed=1"),
        ] {
            assert_eq!(sent(asked, 302, location).unwrap().as_deref(), Some(expected));
        }
        assert_eq!(sent(asked, 200, "/b").unwrap(), None);
        assert_eq!(sent(asked, 304, "/b").unwrap(), None);
    }

    #[test]
    fn nobody_is_sent_where_the_connection_is_not_safe_or_to_this_machine() {
        let public = "https://files.example/x.gguf";
        for location in [
            "http://files.example/x",
            "http://127.0.0.1/x",
            "https://localhost/x",
            "https://x.localhost/x",
            "ftp://h/x",
            "file:///x",
        ] {
            let error = sent(public, 307, location).unwrap_err();
            assert!(matches!(error, WeightsError::Redirected { .. }), "{location}: {error}");
        }
        assert!(sent("http://127.0.0.1:1/x", 308, "http://localhost:2/x").unwrap().is_some());
        assert!(sent("http://intern.example/x", 301, "/x/").unwrap().is_some());
    }
}
