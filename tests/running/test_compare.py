import json

import pytest

from magic_pomdp import Budget, PlannerChoice, make_task
from magic_pomdp.running.compare import BUDGETS, compare
from magic_pomdp.show.anytime import draw_anytime

SMALL = (Budget(steps=2_000), Budget(steps=200))
PLANNERS = tuple(PlannerChoice(name) for name in ("macro-despot", "despot", "pomcpow"))


def run(folder, **changes):
    cells = []
    asked = {"task": make_task("tiger"), "planners": PLANNERS, "budgets": SMALL, "episodes": 3, "workers": 0} | changes
    found = compare(folder=folder, on_cell=lambda choice, stored: cells.append((choice.name, stored)), **asked)
    return found, cells


def test_every_planner_meets_every_budget_on_the_same_episodes(tmp_path):
    comparison, cells = run(tmp_path)
    assert cells == [(planner.name, False) for planner in PLANNERS for _ in SMALL]
    assert len(comparison.at(SMALL[0])) == 3
    assert [cell["budget"]["steps"] for cell in comparison.by_planner()["pomcpow"]] == [200, 2_000]
    saved = json.loads((tmp_path / "comparison.json").read_text())
    assert [row["planner"] for row in saved["evaluations"][::2]] == ["macro-despot", "despot", "pomcpow"]
    assert all("records" not in row for row in saved["evaluations"])
    draw_anytime(comparison, tmp_path / "anytime.png")
    assert (tmp_path / "anytime.png").stat().st_size > 10_000


def test_what_is_stored_is_not_run_again(tmp_path):
    first, _ = run(tmp_path)
    again, cells = run(tmp_path)
    assert all(stored for _, stored in cells)
    assert again == first
    (tmp_path / f"despot_{SMALL[0]}.json").write_text("{")
    repaired, cells = run(tmp_path)
    assert [stored for _, stored in cells] == [True, True, False, True, True, True]
    assert repaired.cells[2]["return_mean"] == first.cells[2]["return_mean"]


def test_what_other_code_has_made_is_made_again(tmp_path):
    small = {"planners": PLANNERS[:1], "budgets": SMALL[1:]}
    (path,) = (tmp_path / f"{choice.name}_{budget}.json" for choice in PLANNERS[:1] for budget in SMALL[1:])
    run(tmp_path, **small)
    made = json.loads(path.read_text())
    for other in (made | {"code": "0123"}, made | {"version": "0.0.1"}, {k: made[k] for k in made if k != "code"}):
        path.write_text(json.dumps(other | {"return_mean": 1e9}))
        assert run(tmp_path, **small)[1] == [("macro-despot", False)]
        assert json.loads(path.read_text())["return_mean"] == made["return_mean"]
    assert run(tmp_path, **small)[1] == [("macro-despot", True)]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seed": 1}, "seed 0"),
        ({"episodes": 2}, "episodes 3"),
        ({"task": make_task("tiger", max_steps=5)}, "max_steps 40:"),
        ({"planners": (PlannerChoice("macro-despot", 2),)}, "macro length 1"),
    ],
)
def test_another_question_leaves_what_is_stored_alone(tmp_path, changes, message):
    small = {"planners": PLANNERS[:1], "budgets": SMALL[1:]}
    run(tmp_path, **small)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ValueError, match=rf"was made with .*{message}.* choose another folder\.$"):
        run(tmp_path, **small | changes)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_budgets_reach_from_a_millisecond_to_a_second():
    assert len(BUDGETS) == 5
    assert (BUDGETS[0].seconds, BUDGETS[-1].seconds) == (0.001, 1.0)
    assert Budget(seconds=0.1) in BUDGETS  # the paper's


def test_an_empty_comparison_is_refused(tmp_path):
    with pytest.raises(ValueError, match="at least one planner"):
        run(tmp_path, planners=())
