//! Arrays that grow and change their shape.

use std::path::Path;

use oxiblosc_core::nd::Selection;
use oxiblosc_streaming::edit::EditOptions;
use oxiblosc_streaming::{Pool, blocking};

use super::super::{Schedule, Session, Subject};
use super::RACE;
use crate::peer::{c, name};
use crate::race::Lane;
use crate::workload::Workload;
use crate::{Error, Result};

fn open(path: &Path) -> Result<blocking::NdEditor> {
    let options = EditOptions::new().pool(&Pool::inline()).durable(false);
    let editor = blocking::FrameEditor::with_options(path, options).map_err(Error::new)?;
    blocking::NdEditor::new(editor).map_err(Error::new)
}

/// Rows are appended to an array and cut off again; each of the two is committed. Then the shape of the whole grows and
/// shrinks along its last axis.
pub(super) fn run(
    session: &mut Session,
    subject: &dyn Fn(&str) -> Subject,
    path: &Path,
    shape: &[u64],
    workload: &Workload,
    schedule: &mut Schedule,
) -> Result<()> {
    let [our_path, c_path] = ["our-changes", "c-changes"].map(|name| path.with_extension(name));
    for copy in [&our_path, &c_path] {
        std::fs::copy(path, copy).map_err(Error::new)?;
    }
    let row = shape[1..].iter().product::<u64>() as usize * workload.typesize;
    let items = &workload.bytes[..row];
    {
        let (mut ours, mut c) = (open(&our_path)?, session.c.open_array(&c_path)?);
        let mut lanes = [
            Lane::new(name::OURS, |_| {
                ours.append(0, items).map_err(Error::new)?;
                ours.commit().map_err(Error::new)?;
                ours.resize(shape).map_err(Error::new)?;
                ours.commit().map_err(Error::new)
            }),
            Lane::new(name::C, |_| {
                c.append(0, items)?;
                c.resize(shape)
            }),
        ];
        session.measure(&subject("a row appended and cut off"), row, schedule.next(RACE), &mut lanes, |_| 1.0)?;
    }
    {
        let (mut ours, mut c) = (open(&our_path)?, session.c.open_array(&c_path)?);
        let mut wide = shape.to_vec();
        if let Some(last) = wide.last_mut() {
            *last += *last / 2;
        }
        let mut lanes = [
            Lane::new(name::OURS, |_| {
                for shape in [&wide, shape] {
                    ours.resize(shape).map_err(Error::new)?;
                    ours.commit().map_err(Error::new)?;
                }
                Ok(())
            }),
            Lane::new(name::C, |_| [&wide, shape].into_iter().try_for_each(|shape| c.resize(shape))),
        ];
        session.measure(&subject("resized there and back"), row, schedule.next(RACE), &mut lanes, |_| 1.0)?;
    }
    same(session, &our_path, &c_path, shape, workload)
}

/// Both files hold the array that was there before.
fn same(session: &Session, ours: &Path, c: &Path, shape: &[u64], workload: &Workload) -> Result<()> {
    let whole: Vec<_> = shape.iter().map(|&len| 0..len).collect();
    let mut buffer = vec![0; workload.bytes.len()];
    let mut array: c::Array = session.c.open_array(ours)?;
    array.read(&whole, &mut buffer)?;
    let read = blocking::NdArray::open(c).map_err(Error::new)?.read(&Selection::all()).map_err(Error::new)?;
    if buffer != workload.bytes || read.bytes()[..] != workload.bytes {
        return Err(Error::new("an array that was changed there and back differs"));
    }
    Ok(())
}
