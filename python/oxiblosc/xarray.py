"""xarray: `xarray.open_dataset(directory, engine="oxiblosc")`.

A dataset is a directory of arrays, `NAME.b2nd`, or the URL of one with the names given. The names of the dimensions of
an array are in its attribute `dims`; an array of one dimension that has the name of its only dimension is a coordinate.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from xarray import Dataset, Variable
from xarray.backends import BackendArray, BackendEntrypoint
from xarray.core import indexing

from ._array import Array
from ._array import open as _open
from ._writer import save

_SUFFIX = ".b2nd"
_DIMS = "dims"


class _LazyArray(BackendArray):
    """Reads what xarray asks for, when it does."""

    def __init__(self, array: Array) -> None:
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def __getitem__(self, key: Any) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._outer)

    def _outer(self, key: tuple[Any, ...]) -> Any:
        # Lists of several axes are combined here, and not paired as NumPy would.
        lists = [axis for axis, part in enumerate(key) if isinstance(part, np.ndarray)]
        if len(lists) < 2:
            return self.array[key]
        parts: list[Any] = []
        for part, n in zip(key, self.shape, strict=True):
            if isinstance(part, slice):
                start, stop, step = part.indices(n)
                parts.append((start, step, len(range(start, stop, step))))
            elif isinstance(part, np.ndarray):
                parts.append(np.where(part < 0, part + n, part).astype(np.int64))
            else:
                parts.append(int(part) % n)
        return self.array._reader.orthogonal(parts, self.dtype)


class OxibloscBackend(BackendEntrypoint):
    """Directories of Blosc2 arrays as datasets."""

    description = "Directories of Blosc2 arrays (b2nd)"
    open_dataset_parameters = ("filename_or_obj", "drop_variables", "variables", "nthreads")

    def open_dataset(
        self,
        filename_or_obj: Any,
        *,
        drop_variables: str | Iterable[str] | None = None,
        variables: Iterable[str] | None = None,
        nthreads: int | None = None,
    ) -> Dataset:
        """Opens a directory; of a URL, the names of the `variables` must be given, since objects are not listed."""
        base = os.fspath(filename_or_obj).rstrip("/")
        dropped = {drop_variables} if isinstance(drop_variables, str) else set(drop_variables or ())
        if variables is None:
            if "://" in base:
                raise ValueError("give the names of the variables of a URL: open_dataset(..., variables=[...])")
            found = [name for name in os.listdir(base) if name.endswith(_SUFFIX)]
            variables = sorted(name[: -len(_SUFFIX)] for name in found)
        opened: dict[str, Variable] = {}
        for name in variables:
            if name in dropped:
                continue
            array = _open(f"{base}/{name}{_SUFFIX}", nthreads=nthreads)
            if not isinstance(array, Array):
                raise TypeError(f"{name}{_SUFFIX}: there is no array in the frame")
            attributes = dict(array.attrs)
            names = attributes.pop(_DIMS, None)
            if names is None:
                names = [name] if array.ndim == 1 else [f"{name}_{axis}" for axis in range(array.ndim)]
            encoding = {"preferred_chunks": dict(zip(names, array.chunks, strict=True))}
            data = indexing.LazilyIndexedArray(_LazyArray(array))
            opened[name] = Variable(tuple(names), data, attributes, encoding)
        coordinates = {name for name, variable in opened.items() if variable.dims == (name,)}
        data_vars = {name: variable for name, variable in opened.items() if name not in coordinates}
        coords = {name: opened[name] for name in coordinates}
        dataset = Dataset(data_vars, coords)
        dataset.encoding["source"] = base
        return dataset

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Whether it is a directory of arrays."""
        try:
            path = os.fspath(filename_or_obj)
            return os.path.isdir(path) and any(name.endswith(_SUFFIX) for name in os.listdir(path))
        except (TypeError, OSError):
            return False


def save_dataset(dataset: Dataset, directory: str | os.PathLike[str], **params: Any) -> None:
    """Writes each variable of a dataset to an array of its own, in a directory or under the URL of one."""
    base = os.fspath(directory).rstrip("/")
    if "://" not in base:
        os.makedirs(base, exist_ok=True)
    for name, variable in dataset.variables.items():
        attributes: Mapping[str, Any] = {**variable.attrs, _DIMS: list(variable.dims)}
        save(f"{base}/{name}{_SUFFIX}", variable.values, attrs=attributes, **params)
