//! Parameters of codecs.

use oxiblosc_core::codec::Codec;
use oxiblosc_core::plugin_params::{ParamInfo, Params};

use super::super::case::Case;
use super::super::params::{self, Configurable, Stored};
use super::super::session::Session;
use super::CodecRun;

/// Blocks that parameters are tried with.
const CASES: usize = 3;

impl CodecRun {
    pub(super) fn params(&mut self) {
        let mut cases = Vec::new();
        self.session.sample_cases(|case, src| {
            let case = self.with_version(case);
            // What is not compressed shows nothing.
            if cases.len() < CASES && matches!(self.quick_trip(&case, &src), Ok(Some(_))) {
                cases.push((case, src));
            }
        });
        self.taken = params::check(self, &cases);
    }
}

impl Configurable for CodecRun {
    type Plugin = Box<dyn Codec>;

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

    fn configure(&self, codec: &mut Self::Plugin, params: &Params) -> Result<Result<(), String>, String> {
        self.watch().call(|| codec.configure(params).map_err(|error| error.to_string()))
    }

    fn store(&self, codec: &mut Self::Plugin, case: &Case, src: &[u8]) -> Result<Result<Stored, String>, String> {
        let mut dst = vec![0; src.len()];
        let made = self.watch().call(|| codec.compress(&case.encoding(src.len()), src, &mut dst))?;
        Ok(match made {
            Ok(Some(n)) if n > dst.len() => Err(format!("compress claims {n} bytes in a buffer of {}", dst.len())),
            Ok(written) => Ok(written.map(|n| dst[..n].to_vec())),
            Err(error) => Err(error.to_string()),
        })
    }

    fn restore(&self, codec: &mut Self::Plugin, case: &Case, stored: &[u8], len: usize) -> Result<Vec<u8>, String> {
        let mut dst = vec![0x55; len];
        match self.watch().call(|| codec.decompress(&case.decoding(len), stored, &mut dst)) {
            Err(panic) => Err(format!("decompress panicked: {panic}")),
            Ok(Err(error)) => Err(format!("decompress failed: {error}")),
            Ok(Ok(n)) if n != len => Err(format!("{n} bytes decoded, expected {len}")),
            Ok(Ok(_)) => Ok(dst),
        }
    }
}
