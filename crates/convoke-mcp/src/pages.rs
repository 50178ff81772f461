//! Reads paginated lists.

use std::future::Future;
use std::io;

use rmcp::model::PaginatedRequestParams;
use rmcp::service::ServiceError;
use serde::Serialize;

/// The most pages that are turned: a server that always has another one must not keep us for ever.
const MAX_PAGES: usize = 1000;

/// The most bytes that a list may have, written down: nor may it fill our memory.
const MAX_BYTES: usize = 16 << 20;

/// Everything of a list, page by page.
pub(crate) async fn all<T, F>(
    mut page: impl FnMut(Option<PaginatedRequestParams>) -> F,
) -> Result<Vec<T>, ServiceError>
where
    T: Serialize,
    F: Future<Output = Result<(Vec<T>, Option<String>), ServiceError>>,
{
    let mut everything = Vec::new();
    let mut cursor: Option<String> = None;
    let mut left = ByteBudget(MAX_BYTES);
    for _ in 0..MAX_PAGES {
        let params = cursor.take().map(|at| PaginatedRequestParams::default().with_cursor(Some(at)));
        let (items, next) = page(params).await?;
        serde_json::to_writer(&mut left, &items).map_err(|_| ServiceError::UnexpectedResponse)?;
        everything.extend(items);
        match next {
            Some(next) => cursor = Some(next),
            None => return Ok(everything),
        }
    }
    Err(ServiceError::UnexpectedResponse)
}

/// Room for so many bytes, which are not kept.
struct ByteBudget(usize);

impl io::Write for ByteBudget {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_list_that_does_not_end_is_given_up() {
        for (size, most) in [(1, MAX_PAGES), (1 << 20, MAX_BYTES >> 20)] {
            let mut pages = 0;
            let listed = all(|_| {
                pages += 1;
                std::future::ready(Ok((vec!["x".repeat(size)], Some("more".to_owned()))))
            });
            assert!(listed.await.is_err());
            assert_eq!(pages, most, "pages of {size} bytes");
        }
    }
}
