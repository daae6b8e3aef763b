//! Frames whose plugins are missing say so, instead of passing for good or for damaged.

use std::sync::{Arc, Mutex};

use futures::AsyncWriteExt;
use oxiblosc_core::frame::Checksums;
use oxiblosc_core::plugin::{PluginId, PluginKind};
use oxiblosc_core::registry::RegistryError;
use oxiblosc_core::{CodecId, FilterId, Registry};
use oxiblosc_streaming::nd::{ArrayOptions, NdArray};
use oxiblosc_streaming::recover::{Found, RecoverOptions};
use oxiblosc_streaming::target::{MemoryTarget, OpenTarget, SparseTarget};
use oxiblosc_streaming::{Finding, FrameReader, ReadOptions, block_on, blocking};

use crate::{CHUNK, RUNS, SHIFT, damage, frame, options, registry};

const NO_FILTER: &str = "no provider for filter 220 (user-defined, 160..255)";
const NO_CODEC: &str = "no provider for codec 221 (user-defined, 160..255)";

fn reader(frame: &[u8], registry: &Registry) -> FrameReader<Vec<u8>> {
    block_on(ReadOptions::new().registry(registry).open(frame.to_vec())).unwrap()
}

#[test]
fn a_frame_says_what_it_needs_and_what_is_missing() {
    let all = registry();
    let linked = Registry::linked().unwrap();
    let frame = frame(3, options(&all));
    let needed = [PluginId::from(SHIFT), PluginId::from(RUNS)];
    for (registry, expected) in [(&all, &[][..]), (linked, &[NO_FILTER, NO_CODEC])] {
        let reader = reader(&frame, registry);
        assert_eq!(reader.plugins(), needed);
        let missing = reader.missing_plugins();
        assert_eq!(missing.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
        assert!(missing.iter().all(|missing| matches!(missing.reason, RegistryError::Unknown { .. })));
        let in_chunks = block_on(reader.chunk_plugins(0..3)).unwrap();
        assert_eq!(in_chunks.into_iter().collect::<Vec<_>>(), needed);
        assert!(block_on(reader.chunk_plugins(1..4)).is_err());
        let twin = blocking::FrameReader::from(reader);
        assert_eq!(twin.plugins(), needed);
        assert_eq!((twin.missing_plugins(), twin.chunk_plugins(1..2).unwrap().len()), (missing, 2));
    }
}

#[test]
fn chunks_name_what_the_header_does_not() {
    let all = registry();
    let mut editor = blocking::FrameEditor::with_file(
        frame(2, options(&all)),
        oxiblosc_streaming::edit::EditOptions::new().registry(&all).params(Default::default()),
    )
    .unwrap();
    editor.append(&crate::content(1)).unwrap();
    editor.commit().unwrap();
    let reader = reader(&editor.frame_bytes().unwrap(), &all);
    let of = |chunks| block_on(reader.chunk_plugins(chunks)).unwrap().into_iter().collect::<Vec<_>>();
    assert_eq!(reader.plugins(), [SHIFT.into(), RUNS.into()]);
    assert_eq!(of(0..2), [SHIFT.into(), RUNS.into()]);
    assert_eq!(of(2..3), [FilterId::SHUFFLE.into(), CodecId::BLOSCLZ.into()]);
    assert_eq!(of(0..3).len(), 4);
    assert_eq!(of(1..1), []);
}

#[test]
fn an_array_says_it_too() {
    let array = ArrayOptions::new([4, 50], "|u1").chunks([2, 50]).frame(options(&registry()));
    let (target, _) = block_on(array.write(vec![7; 200], MemoryTarget::new())).unwrap();
    let array = NdArray::new(reader(&target.into_bytes(), Registry::linked().unwrap())).unwrap();
    let missing: Vec<PluginKind> =
        array.reader().missing_plugins().into_iter().map(|missing| missing.plugin.kind).collect();
    assert_eq!(missing, [PluginKind::Filter, PluginKind::Codec]);
}

#[test]
fn a_plugin_that_cannot_be_used_is_named() {
    let mut registry = Registry::linked().unwrap().clone();
    let missing = registry.missing([RUNS.into(), SHIFT.into(), RUNS.into()]);
    assert_eq!(
        missing.iter().map(|missing| missing.plugin.kind).collect::<Vec<_>>(),
        [PluginKind::Filter, PluginKind::Codec]
    );
    registry = crate::registry();
    assert!(registry.missing([RUNS.into(), SHIFT.into()]).is_empty());
    let name = registry.plugin(RUNS.into()).unwrap().to_string();
    assert_eq!(name, concat!("codec \"runs\" (id 221) of oxiblosc-streaming ", env!("CARGO_PKG_VERSION")));
    let empty = Registry::empty().missing([CodecId::ZSTD.into()]);
    assert_eq!(empty[0].to_string(), "no provider for codec 5 (Blosc-defined, 0..31)");
}

#[test]
fn verification_without_the_plugin_is_neither_good_nor_bad() {
    let all = registry();
    let linked = Registry::linked().unwrap();
    for checksums in [false, true] {
        let good = frame(3, options(&all).checksums(checksums).vlmetalayer("v", &b"\x01"[..]));
        let report = block_on(reader(&good, &all).verify()).unwrap();
        assert!(report.is_good() && report.is_verified(), "{report}");

        let report = block_on(reader(&good, linked).verify()).unwrap();
        assert!(!report.is_good() && !report.is_verified() && report.findings.is_empty(), "{report}");
        assert_eq!(report.unverified, [0, 1, 2]);
        assert_eq!((report.nbytes, report.bad_chunks().count(), report.unverified_metalayers.len()), (0, 0, 0));
        let said = report.to_string();
        assert!(said.contains(NO_FILTER) && said.contains(NO_CODEC), "{said}");
        assert!(said.contains("3 of 3 chunks are not verified"), "{said}");

        // What can be verified is: a checksum, and the place and length of each chunk.
        let mut bad = good.clone();
        damage(&mut bad, 1, &all);
        let report = block_on(reader(&bad, linked).verify()).unwrap();
        match checksums {
            true => {
                assert!(matches!(report.findings[..], [Finding::Chunk { chunk: 1, .. }]), "{report}");
                assert_eq!(report.unverified, [0, 2]);
            }
            false => assert!(report.findings.is_empty() && report.unverified == [0, 1, 2], "{report}"),
        }
        let report = block_on(reader(&bad, &all).verify()).unwrap();
        assert_eq!(report.bad_chunks().collect::<Vec<_>>(), [1]);
        assert!(report.is_verified() && report.missing.is_empty());
    }
}

#[test]
fn metalayers_that_cannot_be_decoded_are_not_verified_either() {
    let all = registry();
    // One repeated byte would be stored without the codec.
    let options = options(&all).vlmetalayer("notes", crate::content(2)).vlmetalayer_codec(RUNS).checksums(true);
    let frame = frame(1, options);
    let report = block_on(reader(&frame, Registry::linked().unwrap()).verify()).unwrap();
    assert_eq!(report.unverified_metalayers, ["notes"]);
    assert_ne!(report.unverified_metalayers, [Checksums::NAME]);
    assert!(report.to_string().contains("variable-length metalayer \"notes\" is not verified"), "{report}");
    assert!(block_on(reader(&frame, &all).verify()).unwrap().is_good());
}

#[test]
fn recovery_without_the_plugin_does_not_say_that_nothing_is_lost() {
    let all = registry();
    let linked = Registry::linked().unwrap();
    let mut whole = frame(3, options(&all).sequential(true));
    damage(&mut whole, 1, &all);
    // One that opens, and one whose end is missing.
    for bytes in [whole.clone(), whole[..whole.len() - 30].to_vec()] {
        let recover = |registry: &Registry| {
            let mut target = MemoryTarget::new();
            let options = RecoverOptions::new().registry(registry);
            let recovered = block_on(options.recover_into(bytes.clone(), &mut target)).unwrap();
            (recovered, target.into_bytes())
        };
        let (recovered, _) = recover(&all);
        assert!(recovered.is_verified() && recovered.missing.is_empty(), "{recovered:?}");
        assert_eq!((recovered.chunks, recovered.lost_nbytes), (2, Some(CHUNK as u64)));
        assert_eq!(recovered.replaced, [1]);
        let (recovered, copy) = recover(linked);
        assert!(!recovered.is_verified() && recovered.unchecked == [0, 1, 2], "{recovered:?}");
        assert_eq!((recovered.chunks, recovered.lost_nbytes), (3, Some(0)));
        let missing: Vec<String> = recovered.missing.iter().map(ToString::to_string).collect();
        assert_eq!(missing, [NO_FILTER, NO_CODEC]);
        // Nothing has been done to the chunks.
        assert_eq!(block_on(reader(&copy, &all).verify()).unwrap().bad_chunks().collect::<Vec<_>>(), [1]);
    }
}

#[test]
fn recovery_of_a_directory_says_it_too() {
    let directory = tempfile::tempdir().unwrap();
    let [old, new] = ["old", "new"].map(|name| directory.path().join(name));
    let target = SparseTarget::create(&old).unwrap();
    let mut writer = blocking::FrameWriter::with_target(target, options(&registry())).unwrap();
    writer.push(crate::content(2).into()).unwrap();
    writer.finish().unwrap();
    std::fs::remove_file(old.join(oxiblosc_core::frame::INDEX_FILE)).unwrap();
    let recovered = RecoverOptions::new().recover(&old, &new).unwrap();
    assert!(recovered.unchecked == [0, 1] && recovered.missing.len() == 2, "{recovered:?}");
}

#[test]
fn sealing_says_it_too() {
    let all = registry();
    let mut sink = options(&all).sequential(true).sink(OpenTarget::new(Vec::new())).unwrap();
    block_on(sink.write_all(&crate::content(3))).unwrap();
    block_on(sink.flush()).unwrap();
    // Its writer dies here.
    let open = sink.target().get_ref().clone();
    for (registry, unchecked) in [(&all, 0), (Registry::linked().unwrap(), 3)] {
        let mut store = Arc::new(Mutex::new(open.clone()));
        let sealed = RecoverOptions::new().registry(registry).seal(&mut store).unwrap();
        assert_eq!((sealed.found, sealed.chunks, sealed.unchecked.len()), (Found::Unfinished, 3, unchecked));
        assert_eq!(sealed.missing.len(), if unchecked > 0 { 2 } else { 0 });
    }
}
