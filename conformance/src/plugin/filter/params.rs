//! Parameters of filters.

use oxiblosc_core::filter::Filter;
use oxiblosc_core::plugin_params::{ParamInfo, Params};

use super::super::case::Case;
use super::super::params::{self, Configurable, Stored};
use super::super::session::Session;
use super::FilterRun;
use super::calls::Direction;

/// Blocks that parameters are tried with.
const CASES: usize = 3;

impl FilterRun {
    pub(super) fn params(&mut self) {
        let cases: Vec<_> = self.samples().into_iter().take(CASES).collect();
        self.taken = params::check(self, &cases);
    }

    fn applied(
        &self,
        filter: &mut dyn Filter,
        direction: Direction,
        case: &Case,
        src: &[u8],
    ) -> Result<Result<Vec<u8>, String>, String> {
        let mut dst = vec![0x55; src.len()];
        let made = self.watch().call(|| direction.apply(filter, case, src, &mut dst))?;
        Ok(made.map(|()| dst).map_err(|error| error.to_string()))
    }
}

impl Configurable for FilterRun {
    type Plugin = Box<dyn Filter>;

    fn session(&self) -> &Session {
        &self.session
    }

    fn declared(&self) -> &'static [ParamInfo] {
        self.entry.info().traits.params
    }

    fn lossy(&self) -> bool {
        self.entry.info().traits.lossy
    }

    fn make(&self) -> Self::Plugin {
        self.instance()
    }

    fn copy(&self, plugin: &Self::Plugin) -> Self::Plugin {
        plugin.clone()
    }

    fn configure(&self, filter: &mut Self::Plugin, params: &Params) -> Result<Result<(), String>, String> {
        self.watch().call(|| filter.configure(params).map_err(|error| error.to_string()))
    }

    fn store(&self, filter: &mut Self::Plugin, case: &Case, src: &[u8]) -> Result<Result<Stored, String>, String> {
        Ok(self.applied(&mut **filter, Direction::Forward, case, src)?.map(Some))
    }

    fn restore(&self, filter: &mut Self::Plugin, case: &Case, stored: &[u8], _: usize) -> Result<Vec<u8>, String> {
        match self.applied(&mut **filter, Direction::Backward, case, stored) {
            Err(panic) => Err(format!("backward panicked: {panic}")),
            Ok(Err(error)) => Err(format!("backward failed: {error}")),
            Ok(Ok(back)) => Ok(back),
        }
    }
}
