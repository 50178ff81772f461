//! Web tools, and the checks that keep them on the public side of the web.
//!
//! [`web_fetch`] reads one page through a [`Fetcher`]. The fetcher goes from hop to hop by itself, and looks at every one
//! before anything is sent: the scheme, the port, the domain, and the address that the name stands for at this moment. What
//! it connects to is the address it has looked at; a name that stands for something else a moment later changes nothing.
//!
//! [`web_tools`] gives both under the policies that hold, with every hop of a redirection judged by them.
//!
//! [`web_search`] asks one search service, with the user's key.
//!
//! **What it must never do.** Connect to an address that [`AddressRules`] forbid; send cookies, credentials or anything
//! else of the user's to a page; go through a proxy because a variable says so; show a key.

mod address_rules;
mod body;
mod charset;
mod content_kind;
mod domains;
mod error;
mod fetch;
mod fetcher;
mod guarded_tools;
mod page;
mod readable;
mod resolver;
mod rules;
mod search;

pub use address_rules::{AddressRules, ForbiddenAddress};
pub use domains::Domains;
pub use error::WebError;
pub use fetch::web_fetch;
pub use fetcher::{Fetcher, FetcherBuilder, WebLimits};
pub use guarded_tools::{SEARCH_SETTINGS, WebTools, WebToolsError, hop_judge, is_ruled_out, web_tools};
pub use page::{Page, html_text};
pub use resolver::{Resolver, SystemResolver};
pub use search::{Search, SearchError, SearchService, web_search};
