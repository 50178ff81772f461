//! Lists of domains.

use url::Host;

use super::WebError;

/// The domains that pages may be read from.
///
/// ```
/// use convoke_tools::web::Domains;
///
/// let domains = Domains::only(["docs.rs", "*.trusted.com"])?;
/// assert!(domains.allow("docs.rs") && !domains.allow("evil.docs.rs"));
/// assert!(domains.allow("a.trusted.com") && domains.allow("trusted.com"));
/// assert!(!domains.allow("untrusted.com") && !domains.allow("trusted.com.evil.org"));
/// # Ok::<(), convoke_tools::web::WebError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Domains {
    allowed: Vec<Pattern>,
}

#[derive(Debug, Clone)]
enum Pattern {
    Exactly(String),
    /// This one and all below it.
    Below(String),
}

impl Domains {
    /// Makes a list of these domains; `*.trusted.com` stands for `trusted.com` and everything below it.
    ///
    /// # Errors
    /// If one of them is not a domain.
    pub fn only<I>(patterns: I) -> Result<Self, WebError>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        let allowed = patterns.into_iter().map(|pattern| Pattern::parse(pattern.as_ref()));
        Ok(Self { allowed: allowed.collect::<Result<_, _>>()? })
    }

    /// Returns whether a host is one of them.
    #[must_use]
    pub fn allow(&self, host: &str) -> bool {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        self.allowed.iter().any(|pattern| match pattern {
            Pattern::Exactly(domain) => host == *domain,
            Pattern::Below(domain) => {
                host.strip_suffix(domain.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            }
        })
    }
}

impl Pattern {
    fn parse(text: &str) -> Result<Self, WebError> {
        let (domain, pattern): (_, fn(String) -> Self) = match text.strip_prefix("*.") {
            Some(domain) => (domain, Self::Below),
            None => (text, Self::Exactly),
        };
        let not_a_domain = || WebError::Domain { pattern: text.to_owned() };
        if domain.is_empty() || domain.contains('*') {
            return Err(not_a_domain());
        }
        match Host::parse(domain).map_err(|_| not_a_domain())? {
            Host::Domain(domain) => Ok(pattern(domain.trim_end_matches('.').to_owned())),
            address => Ok(Self::Exactly(address.to_string())),
        }
    }
}
