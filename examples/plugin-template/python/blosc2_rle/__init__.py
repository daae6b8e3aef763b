"""The codec rle for python-blosc2: `blosc2_rle.register()`, and it is there for compressing and decompressing."""

from pathlib import Path

NAME = "rle"
# The same as in the crate `rle`.
ID = 200


def libpath():
    """The path of the shared library."""
    folder = Path(__file__).resolve().parent
    return next(file for file in folder.iterdir() if file.suffix in (".so", ".dylib", ".dll"))


def print_libpath():
    """Prints the path, without a line break: this is how C-Blosc2 asks for it."""
    print(libpath(), end="")


def register():
    """Tells python-blosc2 name and id. The library is loaded when a chunk first needs it."""
    import blosc2

    blosc2.register_codec(NAME, ID)
