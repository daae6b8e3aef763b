//! Parameters: those that a plugin declares, and those that it is given.

use oxiblosc_core::plugin_params::{ParamInfo, Params};

use super::Slice;
use super::description::Invalid;

/// A parameter that a plugin declares: the fields of [`ParamInfo`].
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Declared {
    name: Slice<u8>,
    help: Slice<u8>,
    recorded: bool,
}

impl Declared {
    pub(crate) const EMPTY: Self = Self { name: Slice::NONE, help: Slice::NONE, recorded: false };

    pub(crate) const fn new(info: &'static ParamInfo) -> Self {
        let (name, help) = (Slice::new(info.name.as_bytes()), Slice::new(info.help.as_bytes()));
        Self { name, help, recorded: info.recorded }
    }

    /// # Safety
    /// The texts are there for good: the library is never unloaded.
    pub(crate) unsafe fn info(self) -> Result<ParamInfo, Invalid> {
        let text = |bytes| str::from_utf8(bytes).map_err(|_| "the name or help of a parameter is not UTF-8");
        // SAFETY: by the contract.
        let (name, help) = unsafe { (self.name.get(), self.help.get()) };
        Ok(ParamInfo { name: text(name)?, help: text(help)?, recorded: self.recorded })
    }
}

/// A parameter with its value.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Given {
    name: Slice<u8>,
    value: Slice<u8>,
}

impl Given {
    /// Pointers into `params`.
    pub(crate) fn list(params: &Params) -> Vec<Self> {
        let slice = |text: &str| Slice::new(text.as_bytes());
        params.iter().map(|(name, value)| Self { name: slice(name), value: slice(value) }).collect()
    }

    /// The parameters of a list; `None` if it is not text.
    ///
    /// # Safety
    /// What the list was made from is still there.
    pub(crate) unsafe fn params(list: &[Self]) -> Option<Params> {
        list.iter().try_fold(Params::default(), |params, given| {
            // SAFETY: by the contract.
            let (name, value) = unsafe { (given.name.get(), given.value.get()) };
            Some(params.with(str::from_utf8(name).ok()?, str::from_utf8(value).ok()?))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_arrive_as_they_were_sent() {
        static INFO: ParamInfo = ParamInfo::recorded("delta", "0 to 7");
        // SAFETY: string constants.
        assert_eq!(unsafe { Declared::new(&INFO).info() }, Ok(INFO));
        for sent in [Params::default(), Params::default().with("a", "x,y=z").with("b", "").with("ö", "é")] {
            let list = Given::list(&sent);
            // SAFETY: `sent` is still there.
            assert_eq!(unsafe { Given::params(&list) }, Some(sent));
        }
        let odd = Given { name: Slice::new(&[0xff]), value: Slice::NONE };
        // SAFETY: constants.
        assert_eq!(unsafe { Given::params(&[odd]) }, None);
    }
}
