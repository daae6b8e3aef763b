"""What can go wrong. Every exception of this package is an `OxibloscError`, and what Python expects besides."""

from __future__ import annotations


class OxibloscError(Exception):
    """An error of the library, with its text."""


class NotFoundError(OxibloscError, FileNotFoundError):
    """There is no such file, object or bucket."""


class AccessError(OxibloscError, PermissionError):
    """The file system or the store denies access."""


class AlreadyExistsError(OxibloscError, FileExistsError):
    """What was to be created is there already: another writer has written or committed it."""


class ConflictError(OxibloscError):
    """Others have committed a change since this one was begun: open it again and repeat the change."""


class ReplacedError(OxibloscError, OSError):
    """The object was replaced while it was read: `refresh()` or open it again."""


class StorageError(OxibloscError, OSError):
    """The place is full, too busy or cannot be reached; trying again may help."""


class StorageTimeoutError(StorageError, TimeoutError):
    """No response came in time; trying again may help."""


class UnsupportedError(OxibloscError, NotImplementedError):
    """The place cannot do this."""


class InvalidInputError(OxibloscError, ValueError):
    """A parameter makes no sense, or contradicts the frame."""


class DamagedError(OxibloscError, ValueError):
    """The bytes are not a frame, or the frame is damaged."""


class UnfinishedError(DamagedError):
    """The writer of the frame has not finished it: see `seal` and `recover`."""


class LimitError(OxibloscError):
    """More memory or work would be needed than a file may ask for."""


class OutOfMemoryError(OxibloscError, MemoryError):
    """There is not enough memory."""


class MissingPluginError(OxibloscError, LookupError):
    """A codec or filter is not registered: see `load_plugin`, `register_codec` and `register_filter`."""


class PluginPanicError(OxibloscError, RuntimeError):
    """A codec or filter has panicked."""


class ClosedError(OxibloscError, ValueError):
    """The writer or editor is closed."""


class CancelledError(OxibloscError):
    """The work was cancelled."""


class ForkError(OxibloscError, RuntimeError):
    """It was made before this process was forked, and cannot be used here: start workers with `spawn`."""


__all__ = [name for name, value in list(globals().items()) if isinstance(value, type)]
