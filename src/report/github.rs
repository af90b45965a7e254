//! For GitHub Actions: an annotation for each finding, on the line it is about. The summary of the step is `markdown.rs`.

use std::io::{self, Write};

use super::lines::{from_root, texts};
use crate::error::Error;
use crate::finding::{Finding, Severity};
use crate::server::Location;
use crate::text::{escape_workflow, escape_workflow_property};
use crate::verdict::Verdict;

/// One command a finding (`::error file=F,line=L,col=C,title=T::TEXT`).
pub(super) fn verdict(out: &mut dyn Write, verdict: &Verdict, root: &str) -> io::Result<()> {
    verdict.findings.iter().try_for_each(|finding| annotation(out, finding, root))
}

fn annotation(out: &mut dyn Write, finding: &Finding, root: &str) -> io::Result<()> {
    let command = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    };
    let server = finding.server.as_ref().map(|server| format!(": {}", server.as_str())).unwrap_or_default();
    let title = format!("{}{server}", finding.code);
    let lines: Vec<String> = texts(finding).iter().map(|text| escape_workflow(text)).collect();
    let place = place(finding.location.as_ref(), root);
    writeln!(out, "::{command} {place}title={}::{}", escape_workflow_property(&title), lines.join("%0A"))
}

fn place(location: Option<&Location>, root: &str) -> String {
    location.map_or_else(String::new, |Location { file, line, column }| {
        format!("file={},line={line},col={column},", escape_workflow_property(&from_root(root, file)))
    })
}

/// Why no gate was performed.
pub(super) fn error(out: &mut dyn Write, error: &Error, root: &str) -> io::Result<()> {
    let texts = std::iter::once(error.to_string()).chain(error.help().map(|help| format!("help: {help}")));
    let lines: Vec<String> = texts.map(|text| escape_workflow(&text)).collect();
    writeln!(out, "::error {}title=MCP preflight::{}", place(error.location(), root), lines.join("%0A"))
}
