"""What the page shows is what NumPy says."""

import json
import math
import urllib.request

import numpy as np
import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

# The colours of viridis at eighths of the scale, as matplotlib has them.
VIRIDIS = ["440154", "472d7b", "3b528b", "2c728e", "21918c", "28ae80", "5ec962", "addc30", "fde725"]
MAPS = {"grey": ["000000", "ffffff"], "viridis": VIRIDIS}


def colours(values, name, low=None, high=None):
    """The pixels of a 2-dimensional array."""
    values = np.asarray(values).astype("f8")
    finite = values[np.isfinite(values)]
    low = finite.min() if low is None else low
    high = finite.max() if high is None else high
    anchors = np.array([[int(text[at : at + 2], 16) for at in (0, 2, 4)] for text in MAPS[name]])
    places = np.linspace(0, len(anchors) - 1, 256)
    table = np.stack([np.interp(places, range(len(anchors)), anchors[:, c]) for c in range(3)], -1)
    with np.errstate(invalid="ignore"):
        at = np.clip(np.floor((values - low) / (high - low) * 255 + 0.5), 0, 255)
    pixels = np.zeros((*values.shape, 4))
    known = ~np.isnan(values)
    pixels[known, :3] = table[at[known].astype(int)]
    pixels[known, 3] = 255
    return pixels


def same(found, expected):
    """Whether pixels are the same, but for halves that were rounded the other way."""
    assert found.shape == expected.shape
    difference = np.abs(found.astype("f8") - expected)
    assert difference.max() <= 0.5001, np.argwhere(difference > 0.5001)[:5]


def hover(page, row, column, of):
    """Moves the mouse over an item of the image, which has `of` rows and columns."""
    box = page.find("image").size
    x = (column + 0.5) / of[1] * box["width"] - box["width"] / 2
    y = (row + 0.5) / of[0] * box["height"] - box["height"] / 2
    ActionChains(page.browser, duration=0).move_to_element_with_offset(page.find("image"), round(x), round(y)).perform()


@pytest.mark.parametrize("width", [400, 1200, 1600])
@pytest.mark.parametrize("colour_map", ["grey", "viridis"])
def test_pixels(page, data, width, colour_map):
    waves = data[1]["waves"]
    page.resize(width)
    page.open("waves.b2nd").set("map", colour_map)
    same(page.pixels(), colours(waves, colour_map))
    finite = waves[np.isfinite(waves)]
    assert [float(page.text(f"scale-{end}")) for end in ("low", "high")] == pytest.approx([finite.min(), finite.max()], 1e-5)
    page.set("low", -1).set("high", "2.5")
    same(page.pixels(), colours(waves, colour_map, -1, 2.5))
    # Nothing is cut off at the right.
    assert page.run("return document.documentElement.scrollWidth") <= width
    box = page.find("image").size
    # Items are square.
    assert box["width"] / box["height"] == pytest.approx(1.5, rel=0.02)


@pytest.mark.parametrize("name", ["big", "half", "truth", "exact", "times", "complex"])
def test_types(page, data, name):
    array = data[1][name]
    values = np.abs(array) if name == "complex" else array.astype("f8")
    if name == "times":
        values = np.where(np.isnat(array), np.nan, array.astype("i8"))
    page.open(f"{name}.b2nd").set("map", "grey")
    same(page.pixels(), colours(values, "grey"))
    hover(page, 11, 12, array.shape)
    shown = page.text("status").split("] = ")[1].split(", chunk")[0]
    if name == "truth":
        assert shown == str(array[11, 12]).lower()
    elif name == "complex":
        assert float(shown) == pytest.approx(values[11, 12])
    else:
        # To the last digit.
        assert (int(shown) if array.dtype.kind in "iM" else float(shown)) == (
            int(array[11, 12].astype("i8")) if array.dtype.kind in "iM" else float(array[11, 12])
        )
    if name == "times":
        hover(page, 3, 4, array.shape)
        assert "= NaT" in page.text("status")
    if name == "complex":
        for part, of in [("re", array.real), ("im", array.imag)]:
            same(page.set("part", part).pixels(), colours(of, "grey"))


def test_sliders_and_axes(page, data):
    four = data[1]["four"]
    page.open("four.b2nd").set("map", "grey").set("low", 0).set("high", 255)
    same(page.pixels(), colours(four[0, 0], "grey", 0, 255))
    for axis, index in [(0, 2), (1, 3), (0, 1)]:
        slider = page.browser.find_element("css selector", f"#sliders input[type=range][data-axis='{axis}']")
        # As the keyboard moves it.
        slider.send_keys(Keys.HOME, *[Keys.ARROW_RIGHT] * index)
        page.settle()
        number = page.browser.find_element("css selector", f"#sliders input[type=number][data-axis='{axis}']")
        assert number.get_attribute("value") == str(index)
    same(page.pixels(), colours(four[1, 3], "grey", 0, 255))
    # Other axes, also in the other order.
    page.set("down", 1)
    same(page.pixels(), colours(four[1, :, 0, :], "grey", 0, 255))
    page.set("across", 0)
    same(page.pixels(), colours(four[:, :, 0, 0].T, "grey", 0, 255))
    # An axis that is drawn already changes places with the other.
    page.set("down", 0)
    same(page.pixels(), colours(four[:, :, 0, 0], "grey", 0, 255))
    assert page.find("across").get_attribute("value") == "1"


def test_large_arrays_are_strided(page, data):
    large = data[1]["large"]
    page.open("large.b2nd").set("map", "grey").set("low", 0).set("high", 250)
    rows, columns = page.pixels().shape[:2]
    steps = [math.ceil(5000 / rows), math.ceil(4000 / columns)]
    assert rows <= 1024 and columns <= 1024 and min(steps) >= 4
    same(page.pixels(), colours(large[:: steps[0], :: steps[1]], "grey", 0, 250))
    assert f"every {steps[0]}th row and every {steps[1]}th column is shown" in page.text("note")
    # Closer: by the wheel around the pointer, by keys, and by the button.
    page.find("closer").click()
    page.settle()
    ranges = page.run("return state.view.ranges")
    assert [stop - start for start, stop in ranges] == [2500, 2000]
    stage = page.find("stage")
    for _ in range(3):
        stage.send_keys("+")
        page.settle()
    (top, bottom), (left, right) = page.run("return state.view.ranges")
    assert page.run("return state.view.steps") == [1, 1]
    same(page.pixels(), colours(large[top:bottom, left:right], "grey", 0, 250))
    # The window moves, and stops at the edge.
    stage.send_keys(Keys.SHIFT, Keys.ARROW_RIGHT, Keys.NULL)
    page.settle()
    assert page.run("return state.view.ranges[1][0]") > left
    page.run("state.window = [[4400, 4800], [100, 500]]; show()")
    page.settle()
    for _ in range(4):
        stage.send_keys(Keys.SHIFT, Keys.ARROW_DOWN, Keys.NULL)
        page.settle()
    (top, bottom), (left, right) = page.run("return state.view.ranges")
    assert bottom == 5000
    same(page.pixels(), colours(large[top:bottom, left:right], "grey", 0, 250))
    stage.send_keys("0")
    page.settle()
    assert page.pixels().shape[:2] == (rows, columns)


def test_cursor(page, data):
    noisy = data[1]["noisy"]
    page.open("noisy.b2nd")
    with urllib.request.urlopen(page.served + "noisy.b2nd?chunks") as answer:
        chunks = {tuple(chunk["index"]): chunk for chunk in json.load(answer)["chunks"]}
    for row, column in [(0, 0), (63, 79), (64, 80), (127, 200), (199, 299), (10, 150)]:
        hover(page, row, column, noisy.shape)
        chunk = (row // 64, column // 80)
        text = page.text("status")
        assert text.startswith(f"[{row}, {column}] = {noisy[row, column]}, chunk [{chunk[0]}, {chunk[1]}]: "), text
        assert text.endswith(f"{chunks[chunk]['ratio']:.2f}x"), text
    assert chunks[1, 1]["ratio"] < 1.05 < chunks[0, 0]["ratio"]
    # By keys.
    stage = page.find("stage")
    stage.send_keys(Keys.ARROW_LEFT)
    assert page.text("status").startswith(f"[10, 149] = {noisy[10, 149]}")
    stage.send_keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    assert page.text("status").startswith(f"[12, 149] = {noisy[12, 149]}")


@pytest.mark.parametrize("width", [400, 1600])
def test_grid(page, data, width):
    page.resize(width)
    page.open("noisy.b2nd")
    shown = lambda: {key: int(value) for key, value in page.run("return {...document.getElementById('overlay').dataset}").items()}
    # 200 x 300 in chunks of 64 x 80 and blocks of 32 x 40; a line is where one begins behind the first.
    assert shown() == {"chunkLines": 3 + 3, "blockLines": 0, "ratios": 0}
    box = page.find("image").size

    def marked(row, column):
        """Whether there is ink above the upper left corner of an item."""
        at = [int(row / 200 * box["height"]), int(column / 300 * box["width"])]
        pixels = page.pixels("overlay")
        return pixels[max(0, at[0] - 2) : at[0] + 3, max(0, at[1] - 2) : at[1] + 3, 3].max() > 100

    for row, column, expected in [(64, 20, True), (20, 80, True), (128, 240, True), (32, 20, False), (20, 40, False)]:
        assert marked(row, column) == expected, (row, column)
    page.check("chunks", False)
    assert shown()["chunkLines"] == 0 and not page.pixels("overlay")[..., 3].any()
    page.check("blocks")
    assert shown() == {"chunkLines": 0, "blockLines": 6 + 7, "ratios": 0}
    page.check("blocks", False).check("ratios")
    assert shown()["ratios"] == 4 * 4
    # What compresses badly is red, what compresses well is not.
    pixels = page.pixels("overlay").astype(int)
    place = lambda row, column: pixels[int(row / 200 * box["height"]), int(column / 300 * box["width"])]
    red, other = place(70, 85), place(6, 5)
    assert red[0] > red[1] + 50 and other[1] > other[0]


def test_plot(page, data):
    line = data[1]["line"]
    page.open("line.b2nd")
    assert page.find("mode-plot").is_selected() and not page.find("mode-image").is_enabled()
    view = page.run("return {ranges: state.view.ranges, steps: state.view.steps, values: state.view.values.map(v => Number.isNaN(v) ? null : v)}")
    assert view["ranges"] == [[0, 100_000]]
    expected = line[:: view["steps"][0]]
    found = np.array([math.nan if v is None else v for v in view["values"]], dtype="f4")
    np.testing.assert_array_equal(found, expected)
    assert f"every {view['steps'][0]}" in page.text("note")
    # The line passes through its points.
    pixels = page.pixels().astype(int)
    background = pixels[2, 2]
    points = range(0, len(expected), 97)
    places = page.run(
        "return arguments[0].map(i => [state.view.x(i * state.view.steps[0]), state.view.y(state.view.values[i])])",
        list(points),
    )
    for i, (x, y) in zip(points, places):
        if np.isnan(expected[i]):
            continue
        near = pixels[int(y) - 1 : int(y) + 2, int(x) - 1 : int(x) + 2]
        assert np.abs(near - background).sum(-1).max() > 100, i
    # What is not a number leaves a gap.
    stage = page.find("stage")
    for _ in range(4):
        page.find("closer").click()
        page.settle()
    page.run("state.window = [[400, 700]]; state.grid = null; show()")
    page.settle()
    pixels = page.pixels().astype(int)
    left, right = page.run("return [state.view.x(505), state.view.x(595)]")
    accent = np.array(page.run("const c = document.createElement('canvas').getContext('2d');"
        "c.fillStyle = getComputedStyle(document.body).getPropertyValue('--accent'); c.fillRect(0, 0, 1, 1);"
        "return Array.from(c.getImageData(0, 0, 1, 1).data)"))
    is_line = np.abs(pixels - accent).sum(-1) < 60
    assert not is_line[:, int(left) : int(right)].any() and is_line.any()
    # The grid, and the value under the cursor.
    stage.send_keys("0")
    page.settle()
    assert page.run("return document.getElementById('overlay').dataset.chunkLines") == "3"
    stage.send_keys(Keys.ARROW_RIGHT)
    step = page.run("return state.view.steps[0]")
    at = page.run("return state.cursor[1]") * step
    index, value = page.text("status").split(" = ")
    assert index == f"[{at}]" and np.float32(value.split(",")[0]) == line[at]


def test_plot_of_an_axis(page, data):
    cube = data[1]["cube"]
    page.open("cube.b2nd")
    page.find("mode-plot").click()
    page.settle()
    for axis, expected in [(2, cube[0, 0, :]), (0, cube[:, 0, 0]), (1, cube[0, :, 0])]:
        page.set("across", axis)
        assert page.run("return state.view.values") == expected.tolist()
    assert len(page.browser.find_elements("css selector", "#sliders input[type=range]")) == 2


def test_frames_that_are_no_arrays(page):
    page.open("plain.b2frame")
    values = page.run("return state.view.values")
    step = page.run("return state.view.steps[0]")
    assert values == list(range(0, 50_000, step))
    page.set("type", "u4")
    assert page.run("return state.view.values") == np.arange(50_000, dtype="<f4")[::step].view("<u4").tolist()


def test_odd_arrays(page, data):
    page.open("short.b2nd")
    assert page.run("return state.view.values.map(String)") == ["3", "-1.5", "NaN", "8.25", "0"]
    for name, opacity in [("constant", 255), ("nans", 0)]:
        page.open(f"{name}.b2nd")
        assert (page.pixels()[..., 3] == opacity).all() and page.pixels().shape == (40, 30, 4)
    page.open("one.b2nd")
    page.find("stage").send_keys(Keys.ARROW_RIGHT)
    assert page.text("status").startswith("[0, 0] = 2.5")
    page.open("empty.b2nd")
    assert page.text("status") == "there are no items here" and page.text("error") == ""
    page.open("fields.b2nd")
    assert "are not numbers" in page.text("error")
    assert page.text("facts").startswith("kind")


def test_facts_and_directories(page, data):
    page.browser.get(page.served)
    assert page.browser.find_element("tag name", "h1").text == "/"
    page.browser.find_element("link text", "sub/").click()
    page.browser.find_element("link text", "a & <b>.b2nd").click()
    page.settle()
    assert page.text("name") == "a & <b>.b2nd"
    facts = page.text("facts")
    for part in ["[200, 300]", "<f8", "[64, 80]", "[16, 40]", "468.8 KiB", "zstd", "shuffle"]:
        assert part in facts, facts
    same(page.set("map", "grey").pixels(), colours(data[1]["waves"], "grey"))
    assert page.find("above").get_attribute("href") == page.served + "sub/"
    # What is shown can be saved.
    with urllib.request.urlopen(page.find("npy").get_attribute("href")) as answer:
        saved = np.lib.format.read_array(__import__("io").BytesIO(answer.read()))
    np.testing.assert_array_equal(saved, data[1]["waves"])


def test_dark_and_light(page):
    brightness = "return getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number).reduce((a, b) => a + b)"
    for scheme, is_dark in [("dark", True), ("light", False)]:
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        for path in ["waves.b2nd", "line.b2nd"]:
            page.open(path)
            assert (page.run(brightness) < 200) == is_dark
    assert page.run("return document.fonts.size + document.querySelectorAll('[src]').length") == 0
