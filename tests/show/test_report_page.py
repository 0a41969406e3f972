"""What a report reads, and the page in a real browser."""

import json
import re
from pathlib import Path

import pytest
from test_replay_page import RIGHT

from magic_pomdp.running.recording import save_recording
from magic_pomdp.show.report import report_page, write_report
from magic_pomdp.show.results import read_results

ROOT = Path(__file__).parents[2]
STORED = ROOT / "benchmarks"
CURVES = ROOT / "docs" / "light-dark-learning.json"


@pytest.fixture(scope="module")
def ablation(tmp_path_factory):
    """A small ablation, as `ablate` stores it."""
    start = json.loads((STORED / "light-dark_macro-despot_0.1s.json").read_text())
    start.pop("records")
    points = json.loads(CURVES.read_text())["curves"][0]["points"]
    row = {
        "conditioning": "belief+context", "critic": "set", "return_mean": 90.0, "return_stderr": 2.0, "published": 54.1,
        "success_rate": 0.97, "by_seed": {"0": 89.0, "1": 91.0}, "minutes": 25.0, "updates": 20000.0,
    }  # fmt: skip
    training = {"conditioning": "belief+context", "critic": "set", "seed": 0, "curve": points}
    path = tmp_path_factory.mktemp("ablation") / "ablation.json"
    path.write_text(
        json.dumps({"task": "light-dark", "rows": [row], "handcrafted": start, "trainings": [training], "version": "1"})
    )
    return path


@pytest.fixture(scope="module")
def page(tmp_path_factory, macro_despot, despot, ablation):
    folder = tmp_path_factory.mktemp("report")
    save_recording(folder / "one.record.gz", macro_despot)
    save_recording(folder / "other.gz", despot)
    found = read_results([STORED, CURVES, ablation, folder, folder / "other.gz"])
    write_report(folder / "report.html", found)
    return folder / "report.html"


def open_report(browser, path, width=1440, theme="light"):
    browser.resize(width, 900)
    browser.theme(theme)
    browser.driver.get(path.resolve().as_uri())
    browser.wait("return window.report !== undefined")


def test_everything_stored_is_read(ablation):
    found = read_results([STORED, CURVES, ablation.parent, STORED])
    assert len(found.evaluations) == len(list(STORED.glob("*_*.json")))  # what comes twice is there once
    assert (len(found.benches), len(found.ablations), len(found.curves)) == (2, 1, 2)
    assert found.tasks() == ["crowd-driving", "light-dark", "puck-push", "vdp-tag"]


def test_a_comparison_holds_its_evaluations(tmp_path):
    cells = [json.loads(path.read_text()) for path in sorted(STORED.glob("light-dark_macro-despot_0*s.json"))]
    (tmp_path / "comparison.json").write_text(json.dumps({"task": "light-dark", "evaluations": cells, "version": "1"}))
    (tmp_path / "cell.json").write_text(json.dumps(cells[0]))
    (tmp_path / "settings.json").write_text('{"of": "something else"}')  # a folder may hold other files
    assert len(read_results([tmp_path]).evaluations) == len(cells) == 2
    text = report_page(read_results([tmp_path]))
    assert "Return against budget" in text
    for cell in cells:
        assert text.count(f"{cell['return_mean']:.1f} ± {cell['return_stderr']:.1f}") == 1


def plots(text):
    """The plots of a report, by their titles."""
    found = json.loads(re.search(r'<script id="plots" type="application/json">(.*?)</script>', text)[1])
    return {plot["title"]: plot for plot in found}


def test_what_differs_has_its_own_curve(tmp_path):
    cell = json.loads((STORED / "light-dark_macro-despot_0.1s.json").read_text())
    for name, change in {"a": {}, "b": {"macro_length": 9}, "c": {"version": "9"}}.items():
        for seconds in (0.1, 0.5):
            one = {**cell, **change, "budget": {"seconds": seconds}}
            (tmp_path / f"{name}{seconds}.json").write_text(json.dumps(one))
    found = plots(report_page(read_results([tmp_path])))
    length, version = cell["macro_length"], cell["version"]
    words = [(length, version), (9, version), (length, "9")]
    names = {f"Macro-DESPOT, length {length}, version {version}" for length, version in words}
    assert {series["name"] for series in found["Return against budget"]["series"]} == names
    rows = {row["name"] for row in found["Mean return and standard error"]["rows"]}
    assert len(rows) == 6


def test_an_ablation_of_critics_has_a_curve_for_each(ablation, tmp_path):
    content = json.loads(ablation.read_text())
    content["trainings"].append({**content["trainings"][0], "critic": "flat"})
    (tmp_path / "ablation.json").write_text(json.dumps(content))
    (curves,) = read_results([tmp_path]).curves
    assert [curve.label for curve in curves.curves] == ["belief+context, set critic", "belief+context, flat critic"]


def test_an_ablation_names_what_was_changed(ablation, tmp_path):
    content = json.loads(ablation.read_text())
    content["rows"].append({**content["rows"][0], "change": "batch=8"})
    content["trainings"].append({**content["trainings"][0], "change": "batch=8"})
    (tmp_path / "ablation.json").write_text(json.dumps(content))
    found = read_results([tmp_path])
    assert "<th scope='row'>belief+context, batch=8</th>" in report_page(found)
    assert [curve.label for curve in found.curves[0].curves] == ["belief+context", "belief+context, batch=8"]


def test_an_older_bench_has_no_median(tmp_path):
    bench = json.loads((STORED / "speed.json").read_text())
    for one in bench["measurements"]:
        one.pop("median", None)
    (tmp_path / "speed.json").write_text(json.dumps(bench))
    assert "<td>–</td>" in report_page(read_results([tmp_path]))


BAD = {
    "missing.json": (None, "There is no file or folder"),
    "foreign.json": ('{"name": "something"}', "holds no result of magic-pomdp"),
    "list.json": ("[1, 2]", "holds no result of magic-pomdp"),
    "broken.json": ('{"task": ', "is not JSON, nor a recording, or is damaged"),
    "binary.json": (b"\xff\xfe\x00", "is not JSON, nor a recording, or is damaged"),
    "cut.record.gz": (b"\x1f\x8b\x08\x00cut", "is not a recording, or is damaged"),
    "half.json": ('{"task": "light-dark", "evaluations": [{"planner": "magic"}]}', "parts of it are missing"),
    "curves.json": ('{"task": "a", "handcrafted": null, "curves": [{"label": ""}]}', "parts of it are missing"),
    "words.json": ('{"task": "a", "handcrafted": null, "curves": [{"label": "", "points": 5}]}', "parts of it"),
    "bench.json": ('{"version": "1", "processor": "p", "measurements": [{}]}', "parts of it are missing"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_result_is_refused_with_a_sentence(tmp_path, name):
    content, sentence = BAD[name]
    if content is not None:
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=sentence) as refusal:
        read_results([tmp_path / name])
    assert name in str(refusal.value)


def test_a_setting_that_older_results_do_not_have_is_no_difference(tmp_path):
    cell = json.loads((STORED / "light-dark_macro-despot_0.1s.json").read_text())
    settings = {**cell["settings"], "xi": 0.5, "patience": 3}
    (tmp_path / "old.json").write_text(json.dumps(cell))
    (tmp_path / "new.json").write_text(json.dumps({**cell, "settings": settings}))
    text = report_page(read_results([tmp_path]))
    assert "<small>xi 0.5</small>" in text
    assert "<small>xi 0.95</small>" in text


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(ValueError, match="holds no results"):
        read_results([tmp_path])


def test_names_are_only_text(tmp_path):
    cell = json.loads((STORED / "vdp-tag_pomcpow_1s.json").read_text())
    cell |= {"task": "</script><b>bad", "planner": "<i>&", "task_parameters": {"<u>": "</script>"}}
    (tmp_path / "cell.json").write_text(json.dumps(cell))
    (tmp_path / "again.json").write_text(json.dumps({**cell, "seed": 9}))
    text = report_page(read_results([tmp_path]))
    assert not any(bad in text for bad in ("<b>bad", "<i>&", "<u>"))
    assert text.count("</script>") == report_page(read_results([STORED])).count("</script>")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_it_fits_and_can_be_read(browser, page, tmp_path, width, theme):
    open_report(browser, page, width, theme)
    browser.wait("return window.replay !== undefined && document.querySelectorAll('.plot polyline').length >= 3")
    assert browser.run("return document.documentElement.scrollWidth") <= width
    wide = browser.run(
        """return [...document.querySelectorAll('body *')].filter((element) => {
             const box = element.getBoundingClientRect();
             const inside = element.closest('.tree') || element.closest('.table');
             return box.width > 0 && (box.right > innerWidth + 0.5 || box.left < -0.5) && !inside;
           }).map((element) => element.tagName + '.' + element.className)"""
    )
    assert wide == []
    assert browser.run("return document.documentElement.dataset.theme") == theme
    assert browser.lowest_contrast() >= 4.5
    assert browser.run("return performance.getEntriesByType('resource').length") == 0
    assert browser.driver.save_screenshot(str(tmp_path / f"report-{width}-{theme}.png"))


def test_it_says_what_was_stored(browser, page):
    open_report(browser, page)
    assert [title.text for title in browser.all(".part > h2")] == [
        "crowd-driving", "light-dark", "puck-push", "vdp-tag", "Replay", "Speed", "Settings and versions",
    ]  # fmt: skip
    of_task = browser.all(".part")[1]
    magic, stored = (
        of_task.find_element("css selector", "tbody tr").text,
        json.loads((STORED / "light-dark_magic_0.1s.json").read_text()),
    )
    ours = f"{stored['return_mean']:.1f} ± {stored['return_stderr']:.1f}", f"{stored['success_rate']:.1%}"
    assert all(part in magic for part in ("MAGIC", *ours, "54.1 ± 1.0", "78.3", "500", "0.1 s"))
    plots = [len(part.find_elements("css selector", ".plot")) for part in browser.all(".part")]
    assert plots[:4] == [1, 4, 1, 0]  # Light-Dark has budgets and two trainings to compare, too
    assert "belief+context" in of_task.text


def test_the_replay_plays_and_the_colours_change(browser, page):
    open_report(browser, page)
    browser.wait("return window.replay !== undefined")
    assert len(browser.all(".panel")) == 2
    browser.press(RIGHT)
    assert browser.step() == 0  # the page has the keyboard …
    browser.run("document.getElementById('play').focus()")
    browser.press(RIGHT, RIGHT)
    assert browser.step() == 2  # … until the replay has it
    browser.run("document.getElementById('page-theme').click()")
    assert browser.run("return [document.documentElement.dataset.theme, replay.theme]") == ["dark", "dark"]


def test_a_report_without_recordings_needs_no_player(browser, tmp_path):
    write_report(tmp_path / "plain.html", read_results([CURVES]), "Just a curve & more")
    open_report(browser, tmp_path / "plain.html", theme="dark")
    curves = len(json.loads(CURVES.read_text())["curves"])
    browser.wait(f"return document.querySelectorAll('.plot polyline').length === {curves}")
    assert browser.text("h1") == "Just a curve & more"
    browser.click("#page-theme")
    assert browser.run("return document.documentElement.dataset.theme") == "light"
