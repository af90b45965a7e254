//! Nothing hides from a job object.

use crate::observed::LeftRunning;

/// What has to be known before the first server is started: nothing.
#[derive(Debug)]
pub(in crate::probe) struct Strays;

impl Strays {
    /// Nothing to be done.
    pub(in crate::probe) fn watch() -> Self {
        Self
    }

    /// There are none.
    #[expect(clippy::unused_self, reason = "on other systems there is something to know")]
    pub(in crate::probe) fn end(&self) -> Vec<LeftRunning> {
        Vec::new()
    }
}
