//! Codecs with their levels and filters.

use oxiblosc::{CodecId, EncodeParams, FilterId, FilterSlots, Registry};
use oxiblosc_brotli::BROTLI;
use oxiblosc_pco::PCO;

use crate::Result;
use crate::arrays::Column;

/// What a column is compressed with.
pub(crate) struct Setting {
    /// What the table calls it.
    pub(crate) name: &'static str,
    codec: CodecId,
    level: u8,
    filters: FilterSlots,
}

impl Setting {
    pub(crate) fn new(name: &'static str, codec: CodecId, level: u8, filters: &[(FilterId, u8)]) -> Self {
        let filters = FilterSlots::from_list(filters).expect("no more than six filters");
        Self { name, codec, level, filters }
    }

    pub(crate) fn codec_name(&self) -> Result<&'static str> {
        Ok(Registry::linked()?.codec(self.codec)?.info().name)
    }

    /// The parameters for the numbers of `column`, which only pco has to know.
    pub(crate) fn params(&self, column: &Column) -> EncodeParams {
        EncodeParams {
            codec: self.codec,
            codec_meta: if self.codec == PCO { column.kind.of_pco().meta() } else { 0 },
            level: self.level,
            typesize: column.typesize,
            filters: self.filters,
            ..EncodeParams::default()
        }
    }
}

/// The codecs of this folder, each beside the built-in one that is most like it.
pub(crate) fn codecs() -> Vec<Setting> {
    let (shuffle, bytedelta) = ((FilterId::SHUFFLE, 0), (FilterId::BYTEDELTA, 0));
    vec![
        Setting::new("zstd 5, shuffle", CodecId::ZSTD, 5, &[shuffle]),
        Setting::new("zstd 5, shuffle, bytedelta", CodecId::ZSTD, 5, &[shuffle, bytedelta]),
        Setting::new("pco 5", PCO, 5, &[]),
        Setting::new("brotli 5, shuffle", BROTLI, 5, &[shuffle]),
        Setting::new("zstd 9, shuffle", CodecId::ZSTD, 9, &[shuffle]),
        Setting::new("brotli 9, shuffle", BROTLI, 9, &[shuffle]),
    ]
}
