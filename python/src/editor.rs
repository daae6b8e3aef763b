//! Changing a frame or an array.

use std::process;

use bytes::Bytes;
use futures::lock::Mutex;
use numpy::PyReadonlyArray1;
use oxiblosc::IoMode;
use oxiblosc::edit::{EditError, EditOptions, FrameEditor};
use oxiblosc::nd::{ArrayError, ArrayMeta, NdEditor, Selection};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::cancel::Cancel;
use crate::drive::{Watch, drive};
use crate::location::{Place, prefix};
use crate::selection::{AxisPart, orthogonal};
use crate::{buffers, error, process as this_process, registry};

enum Kind {
    Array(Box<NdEditor>),
    Frame(Box<FrameEditor>),
}

/// The shape, the dtype as stored, and the bytes of an item.
type Layout<'py> = (Bound<'py, PyTuple>, Option<String>, usize);

/// Changes a frame in a file, in a directory, in memory or under a prefix of objects. Nothing is visible before a
/// commit.
#[pyclass(frozen, module = "oxiblosc._oxiblosc")]
pub(crate) struct Editor {
    process: u32,
    editor: Mutex<Option<Kind>>,
}

impl Editor {
    /// Does `work` with the editor, which no other thread uses meanwhile.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        cancel: Option<&Bound<'_, Cancel>>,
        work: impl AsyncFnOnce(&mut Kind) -> Result<T, ArrayError> + Send,
    ) -> PyResult<T> {
        if self.process != process::id() {
            return Err(error::after_fork(py, "an editor"));
        }
        let done = drive(py, &Watch::cancelled_by(cancel), || async {
            match &mut *self.editor.lock().await {
                Some(editor) => work(editor).await.map(Some),
                None => Ok(None),
            }
        })?;
        done.ok_or_else(|| error::closed(py, "the editor"))
    }
}

#[pymethods]
impl Editor {
    #[new]
    fn new(py: Python<'_>, place: &Bound<'_, PyAny>, nthreads: Option<usize>) -> PyResult<Self> {
        let place = Place::new(place)?;
        place.check_process(py)?;
        let options = EditOptions::new()
            .registry(&registry::registry(py)?)
            .pool(&this_process::pool(nthreads))
            .io_mode(IoMode::Inline);
        let editor = drive(py, &Watch::default(), || async {
            let editor = match &place {
                Place::Path(path) => options.open(path).await?,
                Place::Object(object) => options.edit_sparse(prefix(object).map_err(EditError::from)?).await?,
                Place::Bytes(bytes) => options.edit(bytes.to_vec()).await?,
                Place::File(_) => return Err(EditError::from(unsupported()).into()),
            };
            match ArrayMeta::find(editor.metalayers()) {
                Some(_) => NdEditor::new(editor).map(|editor| Kind::Array(Box::new(editor))),
                None => Ok(Kind::Frame(Box::new(editor))),
            }
        })?;
        Ok(Self { process: process::id(), editor: Mutex::new(Some(editor)) })
    }

    /// Shape and dtype of the array, with all changes; `None` for a plain frame.
    fn layout<'py>(&self, py: Python<'py>) -> PyResult<Option<Layout<'py>>> {
        let layout = self.with(py, None, async |kind: &mut Kind| match kind {
            Kind::Array(array) => {
                Ok(Some((array.shape().to_vec(), array.dtype().map(str::to_owned), array.item_size())))
            }
            Kind::Frame(_) => Ok(None),
        })?;
        layout.map(|(shape, dtype, size)| Ok((PyTuple::new(py, shape)?, dtype, size))).transpose()
    }

    /// The bytes of an orthogonal selection, with all changes.
    fn read<'py>(&self, py: Python<'py>, parts: Vec<AxisPart<'py>>) -> PyResult<Bound<'py, numpy::PyArray1<u8>>> {
        let selection = orthogonal(parts);
        let bytes =
            self.with(py, None, async |kind: &mut Kind| Ok(array(kind)?.read(&selection).await?.into_bytes()))?;
        Ok(buffers::array(py, bytes))
    }

    /// Replaces the items of an orthogonal selection.
    #[pyo3(signature = (parts, data, cancel=None))]
    fn write(
        &self,
        py: Python<'_>,
        parts: Vec<AxisPart<'_>>,
        data: PyReadonlyArray1<'_, u8>,
        cancel: Option<&Bound<'_, Cancel>>,
    ) -> PyResult<()> {
        let selection: Selection = orthogonal(parts);
        let data = Bytes::copy_from_slice(buffers::slice(py, &data)?);
        self.with(py, cancel, async |kind: &mut Kind| array(kind)?.write(&selection, data).await)
    }

    /// Appends rows along an axis of an array, or bytes to a frame.
    #[pyo3(signature = (data, axis=0, cancel=None))]
    fn append(
        &self,
        py: Python<'_>,
        data: PyReadonlyArray1<'_, u8>,
        axis: usize,
        cancel: Option<&Bound<'_, Cancel>>,
    ) -> PyResult<()> {
        let data = Bytes::copy_from_slice(buffers::slice(py, &data)?);
        self.with(py, cancel, async |kind: &mut Kind| match kind {
            Kind::Array(array) => array.append(axis, data).await,
            Kind::Frame(frame) => Ok(frame.append(data).await?),
        })
    }

    fn resize(&self, py: Python<'_>, shape: Vec<u64>) -> PyResult<()> {
        self.with(py, None, async |kind: &mut Kind| array(kind)?.resize(&shape).await)
    }

    /// Replaces the items of a chunk of a frame.
    fn update_chunk(&self, py: Python<'_>, number: u64, data: PyReadonlyArray1<'_, u8>) -> PyResult<()> {
        let data = Bytes::copy_from_slice(buffers::slice(py, &data)?);
        self.with(py, None, async |kind: &mut Kind| Ok(frame(kind)?.update(number, data).await?))
    }

    /// Removes a chunk of a frame.
    fn delete_chunk(&self, py: Python<'_>, number: u64) -> PyResult<()> {
        self.with(py, None, async |kind: &mut Kind| Ok(frame(kind)?.delete(number).await?))
    }

    /// Sets a variable-length metalayer, or removes it if there is no content.
    #[pyo3(signature = (name, content=None))]
    fn set_vlmetalayer(&self, py: Python<'_>, name: &str, content: Option<&[u8]>) -> PyResult<()> {
        self.with(py, None, async |kind: &mut Kind| match (kind, content) {
            (Kind::Array(array), Some(content)) => array.set_vlmetalayer(name, content).await,
            (Kind::Array(array), None) => array.delete_vlmetalayer(name).await,
            (Kind::Frame(frame), Some(content)) => Ok(frame.set_vlmetalayer(name, content).await?),
            (Kind::Frame(frame), None) => Ok(frame.delete_vlmetalayer(name).await?),
        })
    }

    /// Makes all changes visible together. Rows that were appended go behind those that others have committed meanwhile;
    /// after any other change that is a conflict.
    #[pyo3(signature = (cancel=None))]
    fn commit(&self, py: Python<'_>, cancel: Option<&Bound<'_, Cancel>>) -> PyResult<()> {
        self.with(py, cancel, async |kind: &mut Kind| {
            loop {
                let committed = match kind {
                    Kind::Array(array) => array.commit().await,
                    Kind::Frame(frame) => frame.commit().await.map_err(ArrayError::from),
                };
                // One of those that commit at the same time wins, so there is an end to this.
                match committed {
                    Err(ArrayError::Edit(EditError::Conflict)) => match kind {
                        Kind::Array(array) => array.rebase().await?,
                        Kind::Frame(frame) => frame.rebase().await?,
                    },
                    result => return result,
                }
            }
        })
    }

    /// The frame as it is committed, when it is one in memory.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.with(py, None, async |kind: &mut Kind| match kind {
            Kind::Array(array) => array.frame_bytes().await,
            Kind::Frame(frame) => Ok(frame.frame_bytes().await?),
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Releases the frame. What is not committed is lost.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        if self.process != process::id() {
            return Ok(());
        }
        drive(py, &Watch::default(), || async {
            drop(self.editor.lock().await.take());
            Ok::<_, ArrayError>(())
        })
    }
}

fn array(kind: &mut Kind) -> Result<&mut NdEditor, ArrayError> {
    match kind {
        Kind::Array(array) => Ok(array),
        Kind::Frame(_) => Err(ArrayError::NotAnArray),
    }
}

fn frame(kind: &mut Kind) -> Result<&mut FrameEditor, EditError> {
    match kind {
        Kind::Frame(frame) => Ok(frame),
        Kind::Array(_) => {
            let message = "the chunks of an array are changed by assigning items";
            Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, message).into())
        }
    }
}

fn unsupported() -> std::io::Error {
    let message = "a file object cannot be changed in place: give a path, a URL or bytes";
    std::io::Error::new(std::io::ErrorKind::Unsupported, message)
}
