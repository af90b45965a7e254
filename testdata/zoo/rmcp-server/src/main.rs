//! A real server on the Rust SDK with two tools: over stdio, or with `PORT` set over Streamable HTTP at `/mcp`.
//! With `MODERN_ONLY=1` it refuses `initialize` (-32022): only the 2026-07-28 revision, which has no handshake, is served.

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{ProtocolVersion, ServerCapabilities, ServerConfig};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{tool, tool_handler, tool_router, ServerHandler, ServiceExt};

#[derive(Debug, Clone)]
struct Calculator {
    #[allow(dead_code)]
    tool_router: ToolRouter<Self>,
}

#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
struct Echo {
    text: String,
}

#[tool_router]
impl Calculator {
    fn new() -> Self {
        Self { tool_router: Self::tool_router() }
    }

    #[tool(description = "Adds two numbers")]
    async fn add(&self, Parameters(Add { a, b }): Parameters<Add>) -> String {
        (a + b).to_string()
    }

    #[tool(description = "Says it again")]
    async fn echo(&self, Parameters(Echo { text }): Parameters<Echo>) -> String {
        text
    }
}

#[tool_handler]
impl ServerHandler for Calculator {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        let modern_only = std::env::var("MODERN_ONLY").is_ok_and(|value| value == "1");
        Cow::Borrowed(if modern_only { &[ProtocolVersion::V_2026_07_28] } else { ProtocolVersion::KNOWN_VERSIONS })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Ok(port) = std::env::var("PORT") else {
        Calculator::new().serve(rmcp::transport::io::stdio()).await?.waiting().await?;
        return Ok(());
    };
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(|| Ok(Calculator::new()), sessions, StreamableHttpServerConfig::default());
    let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await?;
    axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?;
    Ok(())
}
