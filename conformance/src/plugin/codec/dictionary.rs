//! Dictionaries.

use std::sync::Arc;

use super::super::case::Case;
use super::super::input::{Kind, noise};
use super::super::promise::{Broken, Promise, Verdict};
use super::CodecRun;
use super::calls::{Buffers, compress, decompress};
use crate::data::Random;

/// Samples to train with: their number and length, as the encoder of chunks chooses them.
const SAMPLES: [(usize, usize); 3] = [(64, 512), (8, 4096), (16, 128)];
/// Limits on the length of a dictionary; 32 KiB is that of the format.
const MAX_LENS: [usize; 4] = [32 << 10, 4096, 1000, 256];

impl CodecRun {
    pub(super) fn dictionaries(&self) {
        let declared = self.entry.info().traits.dict;
        let mut used = Dictionaries::default();
        for kind in [Kind::Text, Kind::Integers, Kind::Mixed] {
            for (count, len) in SAMPLES {
                for max_len in MAX_LENS {
                    let verdict = self.train(kind, count, len, max_len, declared, &mut used);
                    self.session.verdict(Promise::Dictionary, verdict);
                }
            }
        }
        let never = match used {
            _ if !declared => return,
            Dictionaries { trained: 0, .. } => "declared, but no dictionary was ever trained",
            Dictionaries { differs: false, .. } if self.entry.info().traits.encode => {
                "declared, but no stream is another one with a dictionary"
            }
            _ => return,
        };
        self.session.breaks(Broken::new(Promise::Dictionary, never));
    }

    fn train(
        &self,
        kind: Kind,
        count: usize,
        sample_len: usize,
        max_len: usize,
        declared: bool,
        used: &mut Dictionaries,
    ) -> Verdict {
        let samples = kind.fill(count * sample_len, 4, self.session.settings.seed);
        let what = format!("{count} samples of {sample_len} bytes of {}, at most {max_len} bytes", kind.name());
        let broken = |detail: String| Broken::new(Promise::Dictionary, format!("{detail}\n  with: {what}"));
        self.watch().expect_bytes(samples.len());
        self.watch().says(Promise::Dictionary, what.clone());
        let train = || {
            let mut codec = self.instance();
            let trained = self.watch().call(|| codec.train_dict(&samples, sample_len, count, max_len));
            trained
                .map_err(|panic| broken(format!("train_dict panicked: {panic}")))?
                .map_err(|error| broken(format!("train_dict failed: {error}")))
        };
        let Some(dict) = train()? else { return Ok(()) };
        if !declared {
            return Err(broken("not declared, but train_dict returns a dictionary".into()));
        }
        if !(1..=max_len).contains(&dict.len()) {
            return Err(broken(format!("the dictionary has {} bytes", dict.len())));
        }
        if train()?.as_ref() != Some(&dict) {
            return Err(broken("the same samples make another dictionary the second time".into()));
        }
        used.trained += 1;
        // More of the same kind, and something else.
        let mut random = Random::new(self.session.settings.seed);
        let other = kind.fill(sample_len + 7, 4, random.next_u64());
        let dict: Arc<[u8]> = dict.into();
        for src in [&samples[..sample_len.max(300).min(samples.len())], &other, &noise(&mut random, 500)] {
            for &level in &self.levels {
                let mut case = self.with_version(Case::new(kind.name(), 4, self.session.settings.metas[0]));
                case.stream.level = level;
                let plain = compress(self.watch(), &mut *self.instance(), &case, src, src.len(), Buffers::holding(0));
                case.stream.dict = Some(Arc::clone(&dict));
                let described = |b: Broken| broken(format!("{}, level {level}, a stream of {}", b.detail, src.len()));
                let packed = self.quick_trip(&case, src).map_err(described)?;
                if plain.is_ok_and(|plain| plain != packed) {
                    used.differs = true;
                }
                if let Some(packed) = packed {
                    self.wrong_dictionaries(&case, &packed, src.len())?;
                }
            }
        }
        Ok(())
    }

    /// Dictionaries come from files: a wrong one is damage.
    fn wrong_dictionaries(&self, case: &Case, packed: &[u8], len: usize) -> Verdict {
        let mut random = Random::new(len as u64);
        let dict = case.stream.dict.as_deref().unwrap_or_default();
        let half = dict[..dict.len() / 2].to_vec();
        for wrong in [None, Some(half), Some(vec![]), Some(vec![0xff]), Some(noise(&mut random, 700))] {
            let mut case = case.clone();
            case.stream.dict = wrong.map(Arc::from);
            // An error is fine, and so are other bytes.
            let result = decompress(self.watch(), &mut *self.instance(), &case, packed, len, Buffers::holding(0));
            let described = |b: Broken| Broken::new(b.promise, format!("{}\n  with: {case}", b.detail));
            let _ = result.map_err(described)?;
        }
        Ok(())
    }
}

#[derive(Default)]
struct Dictionaries {
    trained: usize,
    differs: bool,
}
