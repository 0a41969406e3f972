"""What a report reads, and the page in a real browser."""

import re
from html import unescape
from pathlib import Path

import pytest
from msgspec.structs import replace
from small_results import a_point, a_training, an_evaluation
from test_replay_page import RIGHT

from magic_pomdp import Budget
from magic_pomdp.results.comparison import Comparison
from magic_pomdp.results.evaluation import Mean
from magic_pomdp.results.files import read, write
from magic_pomdp.results.recording import save_recording
from magic_pomdp.results.speed import Bench, Measurement
from magic_pomdp.results.training import Ablation, Curve, Curves
from magic_pomdp.show.report import report_page, write_report
from magic_pomdp.show.results import Results, read_results
from magic_pomdp.show.words import mean_words

ROOT = Path(__file__).parents[2]
STORED = ROOT / "benchmarks"
CURVES = ROOT / "docs" / "light-dark-learning.json"


def stored(name):
    """A stored evaluation, without its single episodes."""
    return read(STORED / name).without_records()


def training(**changes):
    points = read(CURVES).curves[0].points
    return a_training(**{"conditioning": "belief+context", "curve": points, **changes})


@pytest.fixture(scope="module")
def ablation(tmp_path_factory):
    """A small ablation, as `ablate` stores it."""
    path = tmp_path_factory.mktemp("ablation") / "ablation.json"
    start = stored("light-dark_macro-despot_0.1s.json")
    write(path, Ablation.of("light-dark", start, (training(seed=0), training(seed=1))))
    return path


def page_of(*results):
    found = Results()
    for one in results:
        found.add(one)
    return report_page(found)


def plots(text):
    """The hints of the points in a report's plots, by the plots' titles."""
    figures = re.findall(r'<figure class="plot"><figcaption><h3>(.*?)</h3></figcaption>(.*?)</figure>', text, re.DOTALL)
    return {
        title: [unescape(hint) for hint in re.findall(r"<title>(.*?)</title>", svg, re.DOTALL)]
        for title, svg in figures
    }


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
    browser.wait("return document.getElementById('page-theme') !== null")


def test_everything_stored_is_read(ablation):
    found = read_results([STORED, CURVES, ablation.parent, STORED])
    assert len(found.evaluations) == len(
        [*STORED.glob("*_*.json"), *STORED.glob("classic/*.json"), *STORED.glob("transfer/*.json")]
    )  # what comes twice is there once
    assert (len(found.benches), len(found.ablations), len(found.curves)) == (2, 1, 2)
    assert {"crowd-driving", "light-dark", "puck-push", "tag", "vdp-tag"} < set(found.tasks())


def test_a_comparison_holds_its_evaluations(tmp_path):
    cells = [stored(f"light-dark_macro-despot_{seconds}s.json") for seconds in (0.02, 0.1)]
    write(tmp_path / "comparison.json", Comparison(task="light-dark", evaluations=tuple(cells)))
    write(tmp_path / "cell.json", cells[0])
    (tmp_path / "settings.json").write_text('{"of": "something else"}')  # a folder may hold other files
    assert len(read_results([tmp_path]).evaluations) == len(cells) == 2
    text = report_page(read_results([tmp_path]))
    assert len(plots(text)["Return against budget"]) == 2
    for cell in cells:
        assert text.count(f"<td>{mean_words(cell.discounted_return_mean, cell.discounted_return_stderr, 1)}</td>") == 1


def test_what_differs_has_its_own_curve():
    cell = stored("light-dark_macro-despot_0.1s.json")
    changed = [replace(cell, **change) for change in ({}, {"macro_length": 9}, {"software": "9"})]
    text = page_of(*(replace(one, budget=Budget(seconds=seconds)) for one in changed for seconds in (0.1, 0.5)))
    length, version = cell.macro_length, cell.software
    words = [(length, version), (9, version), (length, "9")]
    names = {f"Macro-DESPOT, length {length}, version {version}" for length, version in words}
    assert {hint.splitlines()[0] for hint in plots(text)["Return against budget"]} == names
    rows = {hint for hint in plots(text)["Mean return and standard error"] if not hint.startswith("paper")}
    assert len(rows) == 6


def test_budgets_of_two_kinds_have_a_plot_each():
    cell = stored("light-dark_macro-despot_0.1s.json")
    budgets = [Budget(seconds=0.1), Budget(seconds=1.0), Budget(steps=100), Budget(steps=2000), Budget(steps=10**6)]
    text = page_of(*(replace(cell, budget=budget) for budget in budgets), replace(cell, planner="new", budget=None))
    assert text.count("<h3>Return against budget</h3>") == 2
    assert all(f">{words}</text>" in text for words in ("seconds a plan", "primitive steps a plan", "1,000,000"))


def test_an_ablation_of_critics_has_a_curve_for_each():
    start = stored("light-dark_macro-despot_0.1s.json")
    found = Results()
    found.add(Ablation.of("light-dark", start, (training(), training(critic="flat"), training(change="batch=8"))))
    assert [curve.label for curve in found.curves[0].curves] == [
        "belief+context, set critic", "belief+context, flat critic", "belief+context, set critic, batch=8",
    ]  # fmt: skip
    assert '<th scope="row">belief+context, batch=8</th>' in report_page(found)


def test_curves_without_points_are_not_drawn():
    empty, full = Curve(label="", points=()), Curve(label="", points=(a_point(), a_point(minutes=2.0)))
    assert plots(page_of(Curves(task="some", curves=(empty,)))) == {}
    (hints,) = plots(page_of(Curves(task="some", curves=(empty, full)))).values()
    assert hints == ["1 minutes of training\n2.00 ± 0.50", "2 minutes of training\n2.00 ± 0.50"]


def test_what_a_task_tells_is_shown():
    text = page_of(an_evaluation(statistics={"stall_rate": Mean(mean=0.0123, stderr=0.002)}))
    assert '<th scope="col">stall rate</th>' in text
    assert "<td>0.0123 ± 0.0020</td>" in text


def test_the_conditions_of_published_returns_are_told_of_their_task():
    driving, light = stored("crowd-driving_magic_0.5s.json"), stored("light-dark_magic_0.1s.json")
    assert "planned while driving" in page_of(driving)
    assert "planned while driving" not in page_of(light)
    assert "results of this software" not in page_of(replace(light, task="another"))


def test_an_older_bench_has_no_median():
    measured = Measurement(name="some", value=2.5, unit="ms", ratio=1.0)
    assert "<td>2.500 ms</td><td>–</td>" in page_of(Bench(processor="p", measurements=(measured,)))


BAD = {
    "missing.json": (None, "There is no file or folder"),
    "foreign.json": ('{"name": "something"}', "holds no result of magic-pomdp"),
    "list.json": ("[1, 2]", "holds no result of magic-pomdp"),
    "broken.json": ('{"task": ', "is not JSON, or is damaged"),
    "binary.json": (b"\xff\xfe\x00", "is not JSON, or is damaged"),
    "cut.record.gz": (b"\x1f\x8b\x08\x00cut", "is damaged: it ends too early"),
    "half.json": ('{"task": "light-dark", "evaluations": [{"planner": "magic"}]}', "is damaged at"),
    "curves.json": ('{"task": "a", "handcrafted": null, "curves": [{"label": ""}]}', "is damaged at"),
    "words.json": ('{"task": "a", "handcrafted": null, "curves": [{"label": "", "points": 5}]}', "is damaged at"),
    "bench.json": ('{"version": "1", "processor": "p", "measurements": [{}]}', "is damaged at"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_result_is_refused_with_a_sentence(tmp_path, name):
    content, sentence = BAD[name]
    if content is not None:
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=sentence) as refusal:
        read_results([tmp_path / name])
    assert name in str(refusal.value)


def test_a_setting_that_older_results_do_not_have_is_no_difference():
    cell = stored("light-dark_macro-despot_0.1s.json")
    text = page_of(cell, replace(cell, settings={**cell.settings, "xi": 0.5, "patience": 3}))
    assert "<small>xi 0.5</small>" in text
    assert "<small>xi 0.95</small>" in text


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(ValueError, match="holds no results"):
        read_results([tmp_path])


def test_a_folder_is_visited_once(tmp_path):
    folder = tmp_path / "results"
    inner = folder / "inner"
    inner.mkdir(parents=True)
    write(inner / "a.json", an_evaluation())
    save = Bench(processor="some", measurements=(Measurement(name="step", value=1.0, unit="ms", ratio=2.0),))
    write(folder / "bench.json", save)
    for name, to in {"self": folder, "up": tmp_path, "in": inner, "none": folder / "nowhere"}.items():
        (inner / name).symlink_to(to)
    (inner / "bench.json").symlink_to(folder / "bench.json")
    (inner / "loop.json").symlink_to(inner / "loop.json")
    found = read_results([folder])
    assert (len(found.evaluations), len(found.benches), len(found)) == (1, 1, 2)


def test_folders_have_limits(tmp_path, monkeypatch):
    deep = tmp_path.joinpath(*["d"] * 25)
    deep.mkdir(parents=True)
    write(deep / "a.json", an_evaluation())
    with pytest.raises(ValueError, match=r"d lies too deep: name one that is nearer to the results\.$"):
        read_results([tmp_path])
    assert len(read_results([deep.parent])) == 1
    monkeypatch.setattr("magic_pomdp.show.results._MOST_PLACES", 2)
    for name in "bc":
        write(deep / f"{name}.json", an_evaluation())
    with pytest.raises(ValueError, match="There are more than 2 files and folders in"):
        read_results([deep])


def test_a_folder_that_cannot_be_read_is_said(tmp_path, monkeypatch):
    def refuse(folder):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(ValueError, match=re.escape(f"The folder {tmp_path} cannot be read (Permission denied).")):
        read_results([tmp_path])


def test_names_that_no_picture_can_hold_are_shown():
    odd = {"planner": "a\0\x1b[2J\ufffe", "label": "\0" * 1000, "task_parameters": {"x": "\x01" * 5000}}
    one = an_evaluation(**odd)
    curves = Curves(task="tiger", curves=(Curve(label="\0", points=(a_point(),)),))
    text = page_of(one, replace(one, task_parameters={"x": "y"}), curves)
    assert r"\x00" in text


def test_names_are_only_text():
    bad = {"task": "</script><b>bad", "planner": "<i>&", "label": "$<i>&$", "task_parameters": {"<u>": "</script>"}}
    one = an_evaluation(**bad)
    curves = Curves(task="</script><b>bad", curves=(Curve(label="</svg><s>", points=(a_point(),)),))
    text = page_of(one, replace(one, seed=9), curves)
    assert not any(bad in text for bad in ("<b>bad", "<i>&", "<u>", "<s>"))
    assert text.count("</script>") == page_of(an_evaluation()).count("</script>") == 2
    assert text.count("$&lt;i&gt;&amp;$, seed 9</text>") == 1  # nor formulas


def test_plots_leave_the_rest_of_the_page_alone():
    text = page_of(*(replace(an_evaluation(), seed=seed) for seed in range(3)), read(CURVES))
    ids = re.findall(r' id="([^"]*)"', text)
    assert len(ids) == len(set(ids))
    assert text.count("<style") == 1
    assert "#ffffff" not in text[text.index("<body>") : text.index("<script")]  # all colours are the theme's
    assert text.count('role="img" aria-label="') == 2


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_it_fits_and_can_be_read(browser, page, tmp_path, width, theme):
    open_report(browser, page, width, theme)
    browser.wait(
        "return window.replay !== undefined && document.querySelectorAll('.plot svg .points use').length >= 30"
    )
    assert browser.run("return document.documentElement.scrollWidth") <= width
    wide = browser.run(
        """return [...document.querySelectorAll('body *')].filter((element) => {
             const box = element.getBoundingClientRect();
             const inside = element.closest('.tree') || element.closest('.table');
             return box.width > 0 && (box.right > innerWidth + 0.5 || box.left < -0.5) && !inside;
           }).map((element) => element.tagName + '.' + element.className)"""
    )
    assert wide == []
    cut = browser.run(
        """return [...document.querySelectorAll('.plot text')].filter((text) => {
             const [inner, outer] = [text, text.ownerSVGElement].map((one) => one.getBoundingClientRect());
             return inner.left < outer.left - 1 || inner.right > outer.right + 1 || inner.bottom > outer.bottom + 1;
           }).map((text) => text.textContent)"""
    )
    assert cut == []
    assert (
        browser.run(
            "return Math.min(...[...document.querySelectorAll('.plot text')].map((text) => "
            "text.getBoundingClientRect().height))"
        )
        >= 10
    )  # pixels
    assert browser.run("return document.documentElement.dataset.theme") == theme
    assert browser.lowest_contrast() >= 4.5
    assert browser.run("return performance.getEntriesByType('resource').length") == 0
    assert browser.driver.save_screenshot(str(tmp_path / f"report-{width}-{theme}.png"))


def test_it_says_what_was_stored(browser, page):
    open_report(browser, page)
    titles = [title.text for title in browser.all(".part > h2")]
    plots_of = {"crowd-driving": 1, "light-dark": 4, "puck-push": 1, "vdp-tag": 0}
    assert titles[-3:] == ["Replay", "Speed", "Settings and versions"]
    assert {*plots_of, "laser-tag", "light-dark-1d", "rock-sample", "sub-hunt", "tag"} == set(titles[:-3])
    parts = dict(zip(titles, browser.all(".part"), strict=True))
    of_task = parts["light-dark"]
    magic, found = of_task.find_element("css selector", "tbody tr").text, stored("light-dark_magic_0.1s.json")
    ours = mean_words(found.return_mean, found.return_stderr, 1), f"{found.success_rate:.1%}"
    assert all(part in magic for part in ("MAGIC", *ours, "54.1 ± 1.0", "78.3", "500", "0.1 s"))
    plots = {name: len(parts[name].find_elements("css selector", ".plot")) for name in plots_of}
    assert plots == plots_of  # Light-Dark has budgets and two trainings to compare, too
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
    curves = read(CURVES).curves
    drawn = browser.run(
        "return [...document.querySelectorAll('.plot .points')].map((one) => one.querySelectorAll('use').length)"
    )
    assert drawn == [len(curve.points) for curve in curves]
    text = "return getComputedStyle(document.querySelector('.plot text')).fill"
    dark = browser.run(text)
    assert browser.text("h1") == "Just a curve & more"
    browser.click("#page-theme")
    assert browser.run("return document.documentElement.dataset.theme") == "light"
    assert browser.run(text) != dark


def test_who_planned_ahead_is_not_who_waited():
    one, found = stored("light-dark_macro-despot_0.1s.json"), Results()
    for concurrent in (False, True, True):
        found.add(replace(one, concurrent=concurrent))
    assert [each.concurrent for each in found.evaluations] == [False, True]
