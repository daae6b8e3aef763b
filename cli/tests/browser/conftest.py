"""A server with known arrays, and a browser that looks at them."""

import base64
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

OXIBLOSC = os.environ["OXIBLOSC"]

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--force-device-scale-factor=1",
    "--hide-scrollbars",
]


def arrays():
    """The data, by name, with the shapes of chunks and blocks."""
    rng = np.random.default_rng(7)
    y, x = np.mgrid[0:200, 0:300]
    waves = np.sin(x / 17.0) * np.cos(y / 11.0) * 3 + x / 100.0
    waves[20:30, 40:60] = np.nan
    waves[100, 100] = np.inf
    waves[101, 100] = -np.inf
    # One chunk that does not compress.
    noisy = (x // 50 + y // 40).astype("u2")
    noisy[64:128, 80:160] = rng.integers(0, 65536, (64, 80))
    yield "waves", waves, (64, 80), (16, 40)
    yield "noisy", noisy, (64, 80), (32, 40)
    yield "cube", rng.integers(-1000, 1000, (7, 120, 90)).astype("i2"), (2, 50, 40), (1, 25, 40)
    yield "four", rng.integers(0, 256, (3, 4, 60, 50)).astype("u1"), (1, 2, 30, 50), (1, 1, 15, 25)
    yield "large", (np.add.outer(np.arange(5000) // 3, np.arange(4000) // 7) % 251).astype("u1"), (500, 500), (100, 125)
    line = np.cumsum(rng.normal(size=100_000)).astype("f4")
    line[500:600] = np.nan
    yield "line", line, (30_000,), (5_000,)
    yield "short", np.array([3.0, -1.5, np.nan, 8.25, 0.0]), (5,), (5,)
    yield "big", np.arange(-300, 300, dtype=">i4").reshape(20, 30), (7, 8), (3, 4)
    yield "half", rng.normal(size=(40, 30)).astype("f2"), (40, 30), (40, 30)
    yield "truth", rng.integers(0, 2, (40, 30)).astype(bool), (40, 30), (40, 30)
    yield "exact", (np.arange(1200).reshape(40, 30) + 2**60).astype("i8"), (40, 30), (40, 30)
    yield "complex", (rng.normal(size=(40, 30)) + 1j * rng.normal(size=(40, 30))), (40, 30), (40, 30)
    times = np.arange(1200).astype("M8[s]").reshape(40, 30)
    times[3, 4] = "NaT"
    yield "times", times, (40, 30), (40, 30)
    yield "constant", np.full((40, 30), 5.0), (40, 30), (40, 30)
    yield "nans", np.full((40, 30), np.nan), (40, 30), (40, 30)
    yield "one", np.array([[2.5]]), (1, 1), (1, 1)
    yield "empty", np.zeros((0, 30)), (10, 30), (10, 30)
    yield "fields", np.zeros((40, 30), dtype=[("a", "<i4"), ("b", "<f8")]), (40, 30), (40, 30)


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """The directory with the arrays, and the arrays."""
    folder, found = tmp_path_factory.mktemp("data"), {}
    for name, array, chunks, blocks in arrays():
        path = folder / f"{name}.npy"
        np.save(path, array)
        shapes = ["--chunks", ",".join(map(str, chunks)), "--blocks", ",".join(map(str, blocks))]
        subprocess.run([OXIBLOSC, "compress", path, folder / f"{name}.b2nd", *shapes, "--quiet"], check=True)
        path.unlink()
        found[name] = array
    # A frame that is no array.
    plain = np.arange(50_000, dtype="<f4").tobytes()
    compress = [OXIBLOSC, "compress", "-", folder / "plain.b2frame", "--typesize", "4", "--chunk-size", "64K", "--quiet"]
    subprocess.run(compress, input=plain, check=True)
    (folder / "sub").mkdir()
    shutil.copy(folder / "waves.b2nd", folder / "sub" / "a & <b>.b2nd")
    return folder, found


@pytest.fixture(scope="session")
def served(data):
    """The URL of a server of the directory."""
    server = subprocess.Popen([OXIBLOSC, "serve", data[0], "--port", "0"], stdout=subprocess.PIPE, text=True)
    yield server.stdout.readline().strip()
    server.terminate()
    assert server.wait(20) == 0


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Chromium."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in [*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    yield driver
    driver.quit()


class Page:
    """The page of one array."""

    def __init__(self, browser, served):
        self.browser, self.served = browser, served

    def resize(self, width, height=900):
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def open(self, name, query="?view"):
        self.browser.get(self.served + name + query)
        return self.settle()

    def settle(self):
        """Waits until everything that was asked for has been drawn."""
        done = "return document.readyState === 'complete' && !document.body.dataset.busy && " \
            "(state.view !== null || document.getElementById('error').textContent !== '')"
        WebDriverWait(self.browser, 20, poll_frequency=0.02).until(lambda driver: driver.execute_script(done))
        return self

    def run(self, script, *args):
        return self.browser.execute_script(script, *args)

    def find(self, name):
        return self.browser.find_element("id", name)

    def set(self, name, value):
        """Sets a control as its user does, and waits for what follows."""
        script = "const e = document.getElementById(arguments[0]); e.value = arguments[1];" \
            "e.dispatchEvent(new Event('input', {bubbles: true})); e.dispatchEvent(new Event('change', {bubbles: true}));"
        self.run(script, name, str(value))
        return self.settle()

    def check(self, name, wanted=True):
        box = self.find(name)
        if box.is_selected() != wanted:
            box.click()
        return self.settle()

    def pixels(self, name="image"):
        """A canvas as rows of red, green, blue and opacity."""
        script = "const c = document.getElementById(arguments[0]);" \
            "const data = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; let text = '';" \
            "for (let at = 0; at < data.length; at += 8192) text += String.fromCharCode(...data.subarray(at, at + 8192));" \
            "return [c.height, c.width, btoa(text)]"
        height, width, text = self.run(script, name)
        return np.frombuffer(base64.b64decode(text), dtype="u1").reshape(height, width, 4)

    def text(self, name):
        return self.find(name).text


@pytest.fixture
def page(browser, served):
    """A page, 1200 pixels wide, whose console stays empty."""
    browser.get_log("browser")
    page = Page(browser, served)
    page.resize(1200)
    yield page
    # Chromium has something to say of tests that read the same canvas often.
    assert [entry for entry in browser.get_log("browser") if "getImageData" not in entry["message"]] == []
