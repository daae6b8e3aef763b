//! Checks that recovered chunks are what the frame held.

use bytes::Bytes;
use oxiblosc::block_on;
use oxiblosc::blocking::FrameReader;
use oxiblosc::frame::FrameLayout;
use oxiblosc::recover::{Found, Recovered};
use oxiblosc::target::MemoryTarget;

use crate::bound::Setup;
use crate::place::Place;
use crate::reading::{Content, open};

/// Recovers the frame in `place`. `reader` and `content` belong to it if it opens and is not too long.
///
/// # Panics
/// When an intact frame does not come back as a whole, a sound chunk of a damaged one is lost or changed, or what was
/// saved does not decode.
pub(crate) fn check<P: Place>(place: &P, reader: Option<&FrameReader<P>>, content: Option<&Content>, setup: &Setup) {
    let mut target = MemoryTarget::new();
    let recovered = block_on(setup.recover().recover_into(place.clone(), &mut target));
    // A chunk that decodes, and is not what its checksum says, is none to be saved.
    let vouched = |reader: &FrameReader<P>| {
        reader.frame().checksums().valid().is_none() || reader.verify().is_ok_and(|r| r.bad_chunks().next().is_none())
    };
    let intact = content.is_some_and(|content| content.whole.is_some()) && reader.is_some_and(vouched);
    let recovered = match recovered {
        Ok(recovered) => recovered,
        Err(e) => {
            assert!(!intact, "an intact frame cannot be recovered: {e}");
            return;
        }
    };
    let frame = Bytes::from(target.into_bytes());
    let Some(copy) = open(&frame, setup.read()) else { panic!("the recovered frame does not open: {recovered:?}") };
    check_saved(&copy, &recovered, setup);
    // Frames of 2019 are encoded again, in chunks that may be others.
    if reader.is_none_or(|reader| reader.header().layout == FrameLayout::Current) {
        let chunks = recovered.chunks + recovered.replaced.len();
        assert_eq!(copy.nchunks(), chunks, "saved and lost chunks");
    }
    let (Some(reader), Some(content)) = (reader, content) else { return };
    let Some(found) = Content::of(&copy, setup) else {
        assert!(!intact, "the copy of an intact frame is too long to be read");
        return;
    };
    if intact {
        assert_eq!(recovered.found, Found::Whole, "of an intact frame");
        assert!(recovered.replaced.is_empty(), "chunks of an intact frame were lost: {recovered:?}");
        assert_eq!(recovered.nbytes, reader.nbytes(), "bytes of an intact frame");
        assert_eq!(recovered.lost_nbytes.unwrap_or_default(), 0, "lost bytes of an intact frame");
        assert!(found.whole == content.whole, "the bytes of an intact frame have changed");
        // New checksums are made, unless the old ones were out of date. One whose name is not text cannot be requested.
        let own = |name: &String| name.starts_with("oxiblosc") || name.contains(char::REPLACEMENT_CHARACTER);
        for name in reader.vlmetalayer_names().into_iter().filter(|name| !own(name)) {
            if let Ok(expected) = reader.vlmetalayer(&name) {
                assert!(copy.vlmetalayer(&name).ok() == Some(expected), "metalayer {name:?} was not recovered");
            }
        }
    } else if reader.frame().checksums().valid().is_none()
        && recovered.found == Found::Whole
        && recovered.in_order
        && found.chunks.len() == content.chunks.len()
    {
        for (i, (old, new)) in content.chunks.iter().zip(&found.chunks).enumerate() {
            if old.is_some() {
                assert!(old == new, "chunk {i} decodes, but its bytes have changed");
                assert!(!recovered.replaced.contains(&(i as u64)), "chunk {i} decodes, but is listed as lost");
            }
        }
    }
}

/// Checks that every chunk decodes that is not listed as lost.
fn check_saved(copy: &FrameReader<Bytes>, recovered: &Recovered, setup: &Setup) {
    assert_eq!(copy.nchunks(), recovered.summary.chunks, "chunks of the new frame");
    assert_eq!(copy.nbytes(), recovered.summary.nbytes, "bytes of the new frame");
    let Some(found) = Content::of(copy, setup) else { return };
    for (i, chunk) in (0..).zip(&found.chunks).filter(|(i, _)| !recovered.unchecked.contains(i)) {
        assert!(chunk.is_some(), "chunk {i} was recovered, but does not decode: {recovered:?}");
    }
}

/// Seals the frame in `place`, and checks that it then holds what a reader of open-ended frames finds in it.
///
/// # Panics
/// When it does not, or when a refused seal has changed the frame.
pub fn check_seal(place: &Bytes, setup: &Setup) {
    let reader = open(place, setup.read().open_ended(true));
    let content = reader.as_ref().and_then(|reader| Content::of(reader, setup));
    let mut store = place.to_vec();
    if let Err(e) = setup.recover().seal(&mut store) {
        assert!(store == place[..], "sealing was refused, but the frame has changed: {e}");
        return;
    }
    // Whatever it is, sealing it once more changes nothing.
    let once = Bytes::from(store.clone());
    assert!(setup.recover().seal(&mut store).is_ok() && store == once[..], "sealing a sealed frame changes it");
    let (Some(reader), Some(content)) = (reader, content) else { return };
    let Some(sealed) = open(&once, setup.read()) else {
        panic!("there were {} chunks, but the sealed frame does not open", reader.nchunks())
    };
    let Some(after) = Content::of(&sealed, setup) else { return };
    for (i, (old, new)) in content.chunks.iter().zip(&after.chunks).enumerate() {
        assert!(old.is_none() || old == new, "chunk {i} differs after sealing");
    }
}
