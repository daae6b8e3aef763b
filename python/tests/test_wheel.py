"""What is installed with the package."""

from __future__ import annotations

import importlib.metadata


def test_licences_are_in_the_wheel():
    found = {path.name: path for path in importlib.metadata.files("oxiblosc") or [] if "licenses" in path.parts}
    assert {"LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY.txt"} <= found.keys()
    text = found["THIRD-PARTY.txt"].read_text("utf-8")
    # Those whose licences ask for a copy with binaries, C sources among them.
    for crate in ("numpy 0.", "zstd-sys ", "libdeflate-sys ", "ring "):
        assert crate in text
    assert text.count("Redistributions in binary form must reproduce") >= 3
