"""The live page in a real browser."""

import threading

import pytest

from magic_pomdp import Budget, make
from magic_pomdp.running import PlannerFactory

pytest.importorskip("websockets")
from magic_pomdp.planners.registry import find_planner, planner_names
from magic_pomdp.show.live import LiveServer

SPACE, RIGHT, LEFT = "\ue00d", "\ue014", "\ue012"
ALL = "\ue009a\ue000"
GOAL, LIGHT, ROBOT = range(3)


@pytest.fixture(scope="module")
def server(chromium):
    factory = PlannerFactory(budget=Budget(seconds=0.02))
    with LiveServer(make("light-dark"), factory, port=0) as server:
        threading.Thread(target=server.run, daemon=True).start()
        yield server


@pytest.fixture
def page(browser, server):
    def open_page(width=1440, height=1000, theme="light"):
        browser.resize(width, height)
        browser.theme(theme)
        browser.driver.get(server.url)
        browser.wait("return window.live && live.panel.plan", 240)
        return browser

    yield open_page
    browser.run("live.send({kind: 'pause'}); live.send({kind: 'pace', pace: 4})")
    browser.wait("return !live.settings.playing")
    browser.driver.get("about:blank")


def begin_anew(browser):
    """Ask for a new episode, and wait until it has taken the old one's place on the page."""
    browser.run("live.panel.rows.ofBefore = true")
    browser.press("n")
    browser.wait("return !live.panel.rows.ofBefore && live.panel.now.step === 0 && live.panel.plan?.time === 0")


def step(browser):
    return browser.run("return live.panel.now.step")


def drag(browser, handle, across, down):
    """Pull a thing by so many pixels; where it was before and after."""
    from selenium.webdriver import ActionChains

    browser.run("document.querySelector('canvas').scrollIntoView({block: 'center'})")
    place = """const {panel} = live, [x, y] = panel.place(arguments[0]);
        const box = panel.canvas.getBoundingClientRect(), scale = box.width / panel.canvas.width;
        return [x, y, box.left + scale * panel.stage.x(x), box.top + scale * panel.stage.y(y)]"""
    before = browser.run(place, handle)
    pull = ActionChains(browser.driver, duration=50)
    pointer = pull.w3c_actions.pointer_action
    pointer.move_to_location(round(before[2]), round(before[3])).pointer_down()
    pointer.move_to_location(round(before[2] + across / 2), round(before[3] + down / 2))
    pointer.move_to_location(round(before[2] + across), round(before[3] + down)).pointer_up()
    pull.perform()
    aim = f"{before[0]} + {across} * live.panel.canvas.width / live.panel.canvas.clientWidth / live.panel.stage.zoom"
    browser.wait(f"return Math.abs(live.panel.place({handle})[0] - ({aim})) < 0.05")
    return before, browser.run(place, handle)


def test_it_runs_by_keyboard_and_by_mouse(page):
    browser = page()
    begin_anew(browser)
    browser.press(RIGHT)
    browser.wait("return live.panel.now.step === 1")
    browser.press(SPACE)
    browser.wait("return live.settings.playing && live.panel.now.step > 3")
    browser.click("#play")
    browser.wait("return !live.settings.playing")
    stopped = step(browser)
    browser.click("#forward")
    browser.wait(f"return live.panel.now.step === {stopped + 1}")
    assert browser.text("dd.step").startswith(f"{stopped + 1} of 60")
    assert browser.text(".badge") == "paused"
    browser.press("+")
    browser.wait("return document.getElementById('pace').value === '8'")
    browser.click("#anew")
    browser.wait("return live.panel.now.step === 0")
    browser.press("t", "b")
    assert browser.run("return [live.panel.theme, live.panel.shown.particles]") == ["dark", False]


def test_things_can_be_dragged(page):
    browser = page()
    begin_anew(browser)
    before, after = drag(browser, GOAL, -80, 60)
    assert after[2] - before[2] == pytest.approx(-80, abs=2)
    assert after[3] - before[3] == pytest.approx(60, abs=2)
    assert browser.run("return live.panel.stage.scene.shapes[1].x") == pytest.approx(after[0], abs=0.01)
    _, after = drag(browser, LIGHT, 60, 30)
    assert browser.run("return live.panel.now.handles[1]") == [pytest.approx(after[0]), None]
    spread = browser.run("return live.panel.rows[0].spread")
    drag(browser, ROBOT, 50, -40)
    browser.wait(f"return live.panel.rows[0].spread > {2 * spread}")  # it may be anywhere
    browser.wait("return live.panel.plan")
    assert browser.run("return live.panel.held") is None


def test_things_can_be_moved_by_keyboard(page):
    browser = page()
    begin_anew(browser)
    browser.press("g")
    assert browser.run("return document.activeElement.textContent") == "goal"
    x = browser.run("return live.panel.place(0)[0]")
    browser.press(LEFT)
    browser.wait(f"return live.panel.place(0)[0] < {x} - 0.1")
    browser.press("g")
    assert browser.run("return document.activeElement.textContent") == "light"
    assert step(browser) == 0


def test_planner_budget_and_length_change_while_it_runs(page):
    from selenium.webdriver.support.ui import Select

    browser = page()
    labels = [find_planner(name).label for name in planner_names()]
    assert [option.text for option in Select(browser.find("#planner")).options] == labels
    browser.run("live.send({kind: 'pace', pace: 1}); live.send({kind: 'new'}); live.send({kind: 'play'})")
    Select(browser.find("#budget")).select_by_value("0.05")
    browser.wait("return live.panel.budget === 0.05 && live.panel.rows.some(({budget}) => budget === 0.05)")
    length = browser.find("#length")
    length.send_keys(ALL, "3\n")
    browser.wait("return live.panel.plan && live.panel.plan.lengths.values.includes(3)")
    Select(browser.find("#planner")).select_by_value("magic")
    browser.wait("return live.settings.planner.name === 'magic' && live.settings.planner.macro_length === 16", 120)
    assert browser.text(".panel h2") == "MAGIC"
    assert not length.is_enabled()  # its generator has been trained for one
    browser.run("live.send({kind: 'plan', planner: 'magic', seconds: 0.05, macro_length: 61})")
    browser.wait("return !document.getElementById('trouble').hidden")
    assert "macro_length is a number from 1 to 60" in browser.text("#trouble")
    assert browser.run("return live.length.value") == "16"
    Select(browser.find("#planner")).select_by_value("despot")
    browser.wait("return live.settings.planner.name === 'despot' && live.settings.preparing === null", 120)
    assert browser.text(".panel h2") == "DESPOT"
    assert not length.is_enabled()
    Select(browser.find("#planner")).select_by_value("macro-despot")
    browser.wait("return live.settings.planner.name === 'macro-despot' && live.settings.preparing === null", 120)
    assert length.is_enabled()
    assert not browser.find("#trouble").is_displayed()


def test_another_scene_has_its_own_scale_and_another_task_its_own_page(page):
    browser = page()
    zoom, shape = browser.run(
        """const {panel} = live, {scene} = panel.stage;
        panel.showScene({...scene, view: [-20, -10, 20, 10]});
        return [panel.stage.zoom * 40 / panel.canvas.width, panel.canvas.style.aspectRatio]"""
    )
    assert (zoom, shape) == (pytest.approx(1.0, abs=0.01), "40 / 20")
    browser.run("live.showAbout({task: 'another', planners: [], limits: {macro_length: [1, 2]}})")
    browser.wait("return window.live && live.task === 'light-dark' && live.panel.plan")


def test_it_survives_closed_and_lost_tabs(page, server):
    browser = page()
    browser.run("live.send({kind: 'new'}); live.send({kind: 'play'})")
    browser.wait("return live.panel.now && live.panel.now.step > 1")
    first = browser.driver.current_window_handle
    browser.driver.switch_to.new_window("tab")
    browser.driver.get(server.url)
    browser.wait("return window.live && live.panel.now && live.panel.rows.length === live.panel.now.step + 1")
    assert len(server._tabs) == 2
    browser.driver.close()
    browser.driver.switch_to.window(first)
    browser.driver.get("about:blank")  # now nobody watches
    threading.Event().wait(1.5)
    assert len(server._tabs) == 0
    browser.driver.get(server.url)
    browser.wait("return window.live && live.panel.now && live.panel.rows.length === live.panel.now.step + 1")
    browser.run("live.socket.close()")
    browser.wait("return live.socket.readyState === WebSocket.OPEN")
    assert browser.wait("return document.getElementById('subtitle').textContent.startsWith('Live')")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_it_fits_and_can_be_read(page, tmp_path, width, theme):
    browser = page(width, 900, theme)
    wide = browser.run(
        """return [...document.querySelectorAll('body *')].filter((element) => {
             const box = element.getBoundingClientRect();
             return box.width > 0 && (box.right > innerWidth + 0.5 || box.left < -0.5) && !element.closest('.tree');
           }).map((element) => element.tagName + '.' + element.className)"""
    )
    assert wide == []
    assert browser.run("return document.documentElement.scrollWidth") <= width
    assert browser.run("return document.documentElement.dataset.theme") == theme
    assert browser.lowest_contrast() >= 4.5
    assert browser.driver.save_screenshot(str(tmp_path / f"live-{width}-{theme}.png"))
