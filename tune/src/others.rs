//! Filters that are not usual: those that somebody has added.

use oxiblosc::Chain;
use oxiblosc::registry::{CodecInfo, FilterInfo};

use crate::choice::{Chooser, unfit};
use crate::filters::Filters;
use crate::skipped::{Skipped, Subject};
use crate::steps::Stopped;

/// The most combinations with such filters: each takes as long as a usual one.
pub(crate) const MOST_OTHERS: usize = 12;

/// Combinations with filters that are not usual, the best first. Nothing says where in a pipeline such a filter belongs,
/// so it is tried alone, and before and behind each filter that groups the bytes of items.
pub(crate) fn others(
    chooser: &Chooser<'_>,
    codec: &CodecInfo,
    skipped: &mut Vec<Skipped>,
) -> Result<Vec<Filters>, Stopped> {
    let probe = &chooser.probe;
    let infos = || probe.registry.filters().map(|entry| entry.info());
    let fits = |info: &&FilterInfo| unfit(info.traits.lossy, info.traits.needs_array).is_none();
    // On single bytes there is nothing to group.
    let grouping: Vec<&FilterInfo> = match probe.typesize {
        1 => Vec::new(),
        _ => infos().filter(fits).filter(|info| info.traits.groups_bytes).collect(),
    };
    let mut found = Vec::new();
    for info in infos().filter(|info| !Filters::is_usual(info.id)) {
        chooser.steps.check()?;
        if let Some(reason) = unfit(info.traits.lossy, info.traits.needs_array) {
            skipped.push(Skipped::plugin(info.plugin(), reason.text()));
            continue;
        }
        if !chooser.has_time() {
            skipped.extend(chooser.out_of_time(Subject::Plugin(info.plugin())));
            continue;
        }
        let mut ways = vec![(vec![], vec![info])];
        if !info.traits.groups_bytes {
            ways.extend(
                grouping
                    .iter()
                    .flat_map(|&group| [vec![info, group], vec![group, info]].map(|with| (vec![group], with))),
            );
        }
        let mut reason = "it does not make this data smaller".to_owned();
        let before = found.len();
        for (without, with) in ways {
            let with = Filters::new(&with, probe.typesize);
            match (probe.encoded_len(codec, &Filters::new(&without, probe.typesize)), probe.encoded_len(codec, &with)) {
                (Ok(without), Ok(len)) if len < without => found.push((len, with)),
                (_, Err(error)) => reason = Chain(&error).to_string(),
                _ => {}
            }
        }
        if found.len() == before {
            skipped.push(Skipped::plugin(info.plugin(), reason));
        }
    }
    found.sort_by_key(|(len, _)| *len);
    Ok(found.into_iter().map(|(_, filters)| filters).take(MOST_OTHERS).collect())
}
