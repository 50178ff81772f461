//! The tools that a server lists. One that cannot be read does not take the others with it.

use rmcp::model::{
    ClientRequest, CustomResult, ListToolsRequest, PaginatedRequestParams, ServerResult, Tool,
};
use rmcp::service::ServiceError;
use rmcp::{Peer, RoleClient};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::pages;

/// The tools of a server, and the names of those that cannot be read.
#[derive(Default)]
pub(crate) struct ListedTools {
    pub(crate) tools: Vec<Tool>,
    pub(crate) unreadable: Vec<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum ListedTool {
    Readable(Box<Tool>),
    Unreadable(Value),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolPage {
    tools: Vec<ListedTool>,
    next_cursor: Option<String>,
}

impl ListedTools {
    /// Asks for all of them.
    pub(crate) async fn of(peer: &Peer<RoleClient>) -> Result<Self, ServiceError> {
        let mut listed = Self::default();
        for tool in pages::all(async |at| page(peer, at).await).await? {
            match tool {
                ListedTool::Readable(tool) => listed.tools.push(*tool),
                ListedTool::Unreadable(tool) => {
                    let name = tool["name"]
                        .as_str()
                        .map_or_else(|| "without a name".to_owned(), |name| format!("`{name}`"));
                    listed.unreadable.push(name);
                }
            }
        }
        Ok(listed)
    }
}

async fn page(
    peer: &Peer<RoleClient>,
    at: Option<PaginatedRequestParams>,
) -> Result<(Vec<ListedTool>, Option<String>), ServiceError> {
    let readable =
        |tools: Vec<Tool>| tools.into_iter().map(|tool| ListedTool::Readable(Box::new(tool))).collect();
    match peer.list_tools(at.clone()).await {
        Ok(list) => return Ok((readable(list.tools), list.next_cursor)),
        Err(ServiceError::UnexpectedResponse) => {}
        Err(error) => return Err(error),
    }
    // Asked as it is, it gives what it was answered, whatever that is.
    let request = ListToolsRequest { method: Default::default(), params: at, extensions: Default::default() };
    match peer.send_request(ClientRequest::ListToolsRequest(request)).await? {
        ServerResult::ListToolsResult(list) => Ok((readable(list.tools), list.next_cursor)),
        ServerResult::CustomResult(CustomResult(answer)) => {
            let page: ToolPage =
                serde_json::from_value(answer).map_err(|_| ServiceError::UnexpectedResponse)?;
            Ok((page.tools, page.next_cursor))
        }
        _ => Err(ServiceError::UnexpectedResponse),
    }
}
