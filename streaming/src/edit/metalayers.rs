//! Changing metalayers.

use std::sync::Arc;

use oxiblosc_core::nd::ArrayMeta;

use super::{EditError, FrameEditor};

impl FrameEditor {
    /// Adds or replaces a variable-length metalayer of the trailer; msgpack by convention.
    ///
    /// # Errors
    /// When the name has more than 31 bytes or there are 16 others.
    pub async fn set_vlmetalayer(&mut self, name: &str, content: &[u8]) -> Result<(), EditError> {
        self.begin_change().await?;
        match self.options.vlmetalayer_codec {
            Some(codec) => self.editor.set_vlmetalayer_with(name, content, codec)?,
            None => self.editor.set_vlmetalayer(name, content)?,
        }
        Ok(())
    }

    /// Removes a variable-length metalayer of the trailer.
    ///
    /// # Errors
    /// When there is none of that name.
    pub async fn delete_vlmetalayer(&mut self, name: &str) -> Result<(), EditError> {
        self.begin_change().await?;
        Ok(self.editor.delete_vlmetalayer(name)?)
    }

    /// Replaces the content of a metalayer of the header with other content of the same length.
    ///
    /// # Errors
    /// When there is none of that name, or the length differs.
    pub async fn set_metalayer(&mut self, name: &str, content: &[u8]) -> Result<(), EditError> {
        self.begin_change().await?;
        self.editor.set_metalayer(name, content)?;
        // From now on filters and codecs get the new shape of an array. The commit checks that the frame agrees with
        // it.
        if let Some(geometry) = &mut self.geometry
            && let Some(Ok(meta)) = ArrayMeta::find(self.editor.metalayers())
        {
            *geometry = Arc::new(meta.geometry);
        }
        Ok(())
    }
}
