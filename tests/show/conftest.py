"""A real browser, without a window, for the pages."""

import os
import shutil
import sys
from importlib.util import find_spec

import pytest

from magic_pomdp import Budget, make
from magic_pomdp.running import PlannerFactory
from magic_pomdp.running.recording import record_episodes

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --hide-scrollbars"
)


LOWEST_CONTRAST = """
const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
const light = (colour) => {
  const linear = (c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const [r, g, b] = parts(colour).map((value) => linear(value / 255));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = (element) => {
  for (let one = element; one; one = one.parentElement) {
    const colour = getComputedStyle(one).backgroundColor;
    if ((parts(colour)[3] ?? 1) === 1) return colour;
  }
  return 'rgb(255, 255, 255)';
};
const words = 'h1, h2, h3, p, dt, dd, label, button, select, output, summary span, .what, .figures, .badge, .key';
const ratios = [...document.querySelectorAll(words)]
  .filter((element) => element.offsetParent !== null && element.textContent.trim())
  .map((element) => {
    const [a, b] = [light(getComputedStyle(element).color), light(behind(element))].sort((x, y) => x - y);
    return (b + 0.05) / (a + 0.05);
  });
return Math.min(...ratios);
"""


def _missing():
    if find_spec("selenium") is None:
        return "the pages' tests need selenium: pip install 'magic-pomdp[test]'"
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        return "the pages' tests need Chromium and its driver: apt-get install chromium chromium-driver"
    if os.environ.get("NUMBA_DISABLE_JIT") == "1" or sys.platform != "linux":
        return "the pages are tested once, on Linux, with the JIT on"
    return None


class Browser:
    """Chromium, driven; what a test asks of it in few words."""

    def __init__(self, driver):
        self.driver = driver

    def open(self, path, width=1440, height=1000, theme="light"):
        self.resize(width, height)
        self.theme(theme)
        self.driver.get(path.resolve().as_uri())
        self.wait("return window.replay !== undefined")

    def resize(self, width, height):
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def theme(self, theme):
        feature = {"name": "prefers-color-scheme", "value": theme}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def wait(self, script, seconds=20):
        from selenium.webdriver.support.ui import WebDriverWait

        return WebDriverWait(self.driver, seconds, poll_frequency=0.02).until(
            lambda driver: driver.execute_script(script)
        )

    def press(self, *keys):
        from selenium.webdriver import ActionChains

        ActionChains(self.driver).send_keys(*keys).perform()

    def find(self, selector):
        return self.driver.find_element("css selector", selector)

    def all(self, selector):
        return self.driver.find_elements("css selector", selector)

    def click(self, selector):
        self.find(selector).click()

    def text(self, selector):
        return self.find(selector).text

    def lowest_contrast(self):
        """Of all words on the page."""
        return self.run(LOWEST_CONTRAST)

    def step(self):
        """The step that the page says it shows."""
        return int(self.text("#step").split()[1])


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    """The browser, started once; skips what needs it where there is none."""
    missing = _missing()
    if missing:
        pytest.skip(missing)
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in [*FLAGS.split(), f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    yield Browser(driver)
    driver.quit()


@pytest.fixture
def browser(chromium):
    """The browser; nothing may complain on its console during a test."""
    chromium.driver.get_log("browser")
    yield chromium
    said = chromium.driver.get_log("browser")
    assert [line for line in said if "getImageData" not in line["message"]] == []  # only tests read pixels back


def record(planner, steps, episodes=2, task="light-dark", particles=1000):
    factory = PlannerFactory(planner, Budget(steps=steps))
    return record_episodes(make(task), factory, episodes, seed=0, particles=particles, workers=0)


@pytest.fixture(scope="session")
def macro_despot():
    """Two episodes of Macro-DESPOT on Light-Dark, with 1,000 particles."""
    return record("macro-despot", 100_000)


@pytest.fixture(scope="session")
def despot():
    """The same episodes of DESPOT, which end at another time."""
    return record("despot", 3_000)
