//! Arrays cut into equal chunks, as HDF5 and Zarr store them: those at the edges are padded to full size.

/// Shape of an array and its chunks, and bytes of an item.
#[derive(Debug, Clone)]
pub(crate) struct Grid {
    pub(crate) shape: Vec<usize>,
    pub(crate) chunks: Vec<usize>,
    pub(crate) item_size: usize,
}

impl Grid {
    pub(crate) fn nbytes(&self) -> usize {
        self.shape.iter().product::<usize>() * self.item_size
    }

    fn chunk_bytes(&self) -> usize {
        self.chunks.iter().product::<usize>() * self.item_size
    }

    /// The first item of every chunk, in C order.
    pub(crate) fn offsets(&self) -> Vec<Vec<usize>> {
        let mut offsets = vec![Vec::new()];
        for (&extent, &chunk) in self.shape.iter().zip(&self.chunks) {
            let starts = || (0..extent).step_by(chunk);
            offsets = offsets.iter().flat_map(|o| starts().map(move |s| [&o[..], &[s]].concat())).collect();
        }
        offsets
    }

    /// The bytes of the chunk at `offset`, padded with zeros.
    pub(crate) fn cut(&self, array: &[u8], offset: &[usize]) -> Vec<u8> {
        let mut chunk = vec![0; self.chunk_bytes()];
        self.each_row(offset, |in_array, in_chunk, len| {
            chunk[in_chunk..][..len].copy_from_slice(&array[in_array..][..len]);
        });
        chunk
    }

    /// Puts the bytes of the chunk at `offset` where they belong.
    pub(crate) fn place(&self, array: &mut [u8], offset: &[usize], chunk: &[u8]) {
        assert_eq!(chunk.len(), self.chunk_bytes(), "chunks are stored at full size");
        self.each_row(offset, |in_array, in_chunk, len| {
            array[in_array..][..len].copy_from_slice(&chunk[in_chunk..][..len]);
        });
    }

    /// Calls `copy` with the byte offsets in array and chunk, and the length, of every run along the last axis.
    fn each_row(&self, offset: &[usize], mut copy: impl FnMut(usize, usize, usize)) {
        let last = self.shape.len() - 1;
        let extent = |axis: usize| self.chunks[axis].min(self.shape[axis] - offset[axis]);
        let rows: usize = (0..last).map(extent).product();
        for row in 0..rows {
            // The position of the row within the chunk, from the innermost axis outwards.
            let (mut rest, mut in_array, mut in_chunk) = (row, offset[last], 0);
            let (mut array_stride, mut chunk_stride) = (self.shape[last], self.chunks[last]);
            for axis in (0..last).rev() {
                let at = rest % extent(axis);
                rest /= extent(axis);
                in_array += (offset[axis] + at) * array_stride;
                in_chunk += at * chunk_stride;
                array_stride *= self.shape[axis];
                chunk_stride *= self.chunks[axis];
            }
            let size = self.item_size;
            copy(in_array * size, in_chunk * size, extent(last) * size);
        }
    }
}

#[test]
fn what_is_cut_can_be_placed() {
    let array: Vec<u8> = (0..5 * 7 * 3 * 2).map(|i| i as u8).collect();
    let grid = Grid { shape: vec![5, 7, 3], chunks: vec![2, 4, 3], item_size: 2 };
    let mut back = vec![0; grid.nbytes()];
    for offset in grid.offsets() {
        grid.place(&mut back, &offset, &grid.cut(&array, &offset));
    }
    assert_eq!(back, array);
    assert_eq!(grid.offsets().len(), 3 * 2);
    assert_eq!(grid.cut(&array, &[4, 4, 0])[..6], array[(4 * 7 + 4) * 6..][..6]);
}
