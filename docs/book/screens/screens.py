"""Pictures of the command for the book: its output on a terminal as SVG, and the page of `serve` as PNG."""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from terminal import Terminal, svg

ROOT = Path(__file__).resolve().parents[3]
OUT = ROOT / "docs/book/src/screens"
ARRAYS = ROOT / "conformance/data/arrays"
PROGRAM = os.environ["OXIBLOSC"]
COLUMNS = 100


def data(folder):
    """The files that the commands are about."""
    shutil.copy(ARRAYS / "fmri.npy", folder)
    fmri = np.load(ARRAYS / "fmri.npy")
    # An image of which one part is noise: what a map of ratios is for.
    photo = np.load(ARRAYS / "disparity.npy")
    noisy = photo.copy()
    rng = np.random.default_rng(1)
    height, width = noisy.shape[:2]
    part = (slice(height // 4, height // 2), slice(width // 2, width * 3 // 4))
    noisy[part] = rng.normal(size=noisy[part].shape).astype(noisy.dtype)
    noisy[-height // 5 :] = 0
    np.save(folder / "depth.npy", noisy)
    quiet = ["--quiet"]
    run = lambda *args: subprocess.run([PROGRAM, *map(str, args), *quiet], cwd=folder, check=True)
    run("compress", "fmri.npy", "fmri.b2nd", "--chunks", "1,8,48,64", "--checksum", "xxh3")
    run("compress", "depth.npy", "depth.b2nd", "--chunks", "48,48", "--blocks", "24,48")
    changed = fmri.copy()
    changed[1, 5, 40:44, 60:70] += 1
    np.save(folder / "changed.npy", changed)
    run("compress", "changed.npy", "changed.b2nd", "--codec", "lz4", "--chunks", "1,8,48,64")


def on_a_terminal(folder, command, rows=60, stop=None):
    """Runs a command on a terminal; the screen at its end, or when `stop` says so."""
    terminal = Terminal(COLUMNS, rows)
    child, master = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.environ.update(TERM="xterm-256color", COLUMNS=str(COLUMNS), PATH=f"{Path(PROGRAM).parent}:{os.environ['PATH']}")
        os.environ.pop("NO_COLOR", None)
        os.execvp("sh", ["sh", "-c", f"stty rows {rows} cols {COLUMNS}; {command}"])
    begun, frozen = time.monotonic(), None
    while True:
        ready, _, _ = select.select([master], [], [], 0.05)
        if ready:
            try:
                piece = os.read(master, 65536)
            except OSError:
                break
            if not piece:
                break
            if frozen is None:
                terminal.feed(piece)
        if stop is not None and frozen is None and stop(terminal, time.monotonic() - begun):
            frozen = terminal.lines()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return frozen or terminal.lines(), status


def picture(name, folder, command, shown=None, expected=0, **options):
    """Writes what a command shows, below the command itself."""
    lines, status = on_a_terminal(folder, command, **options)
    assert status == expected, (command, status, lines)
    (OUT / f"{name}.svg").write_text(svg(shown or command, lines, COLUMNS))


def half_done(terminal, seconds):
    """Whether a bar shows about a half."""
    return re.search(r"\b[456]\d %", terminal.text()) is not None


def pages(folder):
    """The page of `serve`, as an image and as a plot."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.support.ui import WebDriverWait

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    flags = "headless no-sandbox disable-gpu disable-quic no-first-run disable-background-networking " \
        "disable-component-update disable-sync disable-dev-shm-usage hide-scrollbars force-device-scale-factor=1"
    for flag in flags.split():
        options.add_argument(f"--{flag}")
    server = subprocess.Popen([PROGRAM, "serve", folder, "--port", "0"], stdout=subprocess.PIPE, text=True)
    with tempfile.TemporaryDirectory() as profile:
        options.add_argument(f"--user-data-dir={profile}")
        browser = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        try:
            url = server.stdout.readline().strip()
            metrics = {"width": 1100, "height": 760, "deviceScaleFactor": 1, "mobile": False}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

            def settle():
                done = "return !document.body.dataset.busy && state.view !== null"
                WebDriverWait(browser, 20).until(lambda driver: driver.execute_script(done))

            browser.get(url + "depth.b2nd?view")
            settle()
            browser.find_element("id", "ratios").click()
            image = browser.find_element("id", "image")
            ActionChains(browser).move_to_element_with_offset(image, -60, -40).perform()
            browser.save_screenshot(OUT / "serve-image.png")
            browser.get(url + "fmri.b2nd?view")
            settle()
            browser.find_element("id", "mode-plot").click()
            settle()
            slider = browser.find_element("css selector", "#sliders input[data-axis='1']")
            browser.execute_script("arguments[0].value = 12; arguments[0].dispatchEvent(new Event('input'))", slider)
            slider = browser.find_element("css selector", "#sliders input[data-axis='2']")
            browser.execute_script("arguments[0].value = 48; arguments[0].dispatchEvent(new Event('input'))", slider)
            settle()
            ActionChains(browser).move_to_element_with_offset(image := browser.find_element("id", "image"), 80, 0).perform()
            browser.save_screenshot(OUT / "serve-plot.png")
        finally:
            browser.quit()
            server.terminate()
            server.wait()


def main():
    wanted = set(sys.argv[1:])
    asked = lambda name: not wanted or name in wanted
    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        data(folder)
        if asked("info"):
            picture("info", folder, "oxiblosc info fmri.b2nd")
        if asked("ratio-map"):
            picture("ratio-map", folder, "oxiblosc info depth.b2nd --ratio-map", rows=90)
        if asked("tune"):
            picture("tune", folder, "oxiblosc tune fmri.npy --budget 10")
        if asked("diff"):
            picture("diff", folder, "oxiblosc diff fmri.b2nd changed.b2nd", expected=1)
        if asked("progress"):
            np.save(folder / "series.npy", np.tile(np.load(ARRAYS / "fmri.npy"), (200, 1, 1, 1)))
            command = "oxiblosc compress series.npy series.b2nd --codec zstd --level 7"
            picture("progress", folder, command, stop=half_done)
        if asked("serve"):
            pages(folder)


main()
