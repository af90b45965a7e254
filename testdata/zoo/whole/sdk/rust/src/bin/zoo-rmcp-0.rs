//! Two tools on rmcp 0.8.5, over stdio.

extern crate rmcp_0 as rmcp;
use rmcp::model::PaginatedRequestParam as Page;
include!("../server.rs");
