//! Two tools on rmcp 2.0.0, over stdio.

extern crate rmcp_2 as rmcp;
use rmcp::model::PaginatedRequestParams as Page;
include!("../server.rs");
