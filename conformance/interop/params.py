"""From the parameters of a test case to those of python-blosc2."""

import blosc2

SPLIT = {
    "always": blosc2.SplitMode.ALWAYS_SPLIT,
    "never": blosc2.SplitMode.NEVER_SPLIT,
    "auto": blosc2.SplitMode.AUTO_SPLIT,
    "forward": blosc2.SplitMode.FORWARD_COMPAT_SPLIT,
}


def cparams(case):
    """Keyword arguments for `blosc2.compress2` and `blosc2.CParams`.

    `case` has codec (id), level, typesize, filters (list of [id, meta]), and optionally codec_meta, blocksize (0 for
    automatic), split and dict.
    """
    slots = case["filters"] + [[0, 0]] * (6 - len(case["filters"]))
    return {
        "codec": enum_or_int(blosc2.Codec, case["codec"]),
        "codec_meta": case.get("codec_meta", 0),
        "clevel": case["level"],
        "typesize": case["typesize"],
        "filters": [enum_or_int(blosc2.Filter, id) for id, _ in slots],
        "filters_meta": [meta for _, meta in slots],
        "blocksize": case.get("blocksize", 0),
        "splitmode": SPLIT[case.get("split", "forward")],
        "use_dict": case.get("dict", False),
        "nthreads": 1,
    }


def enum_or_int(enum, value):
    """Ids that python-blosc2 has no name for are passed as they are."""
    try:
        return enum(value)
    except ValueError:
        return value
