// What both releases compile; each binary says which one it is.

use std::sync::Arc;

use rmcp::model::{ListToolsResult, ServerCapabilities, ServerInfo, Tool};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};

struct Calculator;

impl ServerHandler for Calculator {
    fn get_info(&self) -> ServerInfo {
        let mut info = ServerInfo::default();
        info.capabilities = ServerCapabilities::builder().enable_tools().build();
        info
    }

    async fn list_tools(&self, _: Option<Page>, _: RequestContext<RoleServer>) -> Result<ListToolsResult, ErrorData> {
        let schema = serde_json::Map::from_iter([("type".to_owned(), serde_json::json!("object"))]);
        let mut page = ListToolsResult::default();
        page.tools = ["add", "echo"].map(|name| Tool::new(name, name, Arc::new(schema.clone()))).to_vec();
        Ok(page)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    Calculator.serve(rmcp::transport::io::stdio()).await?.waiting().await?;
    Ok(())
}
