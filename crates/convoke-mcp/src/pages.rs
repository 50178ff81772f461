//! Lists that come in pages.

use std::future::Future;

use rmcp::model::PaginatedRequestParams;
use rmcp::service::ServiceError;

/// The most pages that are turned: a server that always has another one must not keep us for ever.
const MAX_PAGES: usize = 1000;

/// Everything of a list, page by page.
pub(crate) async fn all<T, F>(
    mut page: impl FnMut(Option<PaginatedRequestParams>) -> F,
) -> Result<Vec<T>, ServiceError>
where
    F: Future<Output = Result<(Vec<T>, Option<String>), ServiceError>>,
{
    let mut everything = Vec::new();
    let mut cursor: Option<String> = None;
    for _ in 0..MAX_PAGES {
        let params = cursor.take().map(|at| PaginatedRequestParams::default().with_cursor(Some(at)));
        let (items, next) = page(params).await?;
        everything.extend(items);
        match next {
            Some(next) => cursor = Some(next),
            None => return Ok(everything),
        }
    }
    Err(ServiceError::UnexpectedResponse)
}
