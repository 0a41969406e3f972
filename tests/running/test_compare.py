import json

import pytest

from magic_pomdp.core.registry import make
from magic_pomdp.planners.plan import Budget
from magic_pomdp.results.comparison import Comparison
from magic_pomdp.results.files import read_as
from magic_pomdp.running.comparing import BUDGETS, choose_planners, compare
from magic_pomdp.running.factory import PlannerFactory
from magic_pomdp.show.anytime import draw_anytime

SMALL = (Budget(steps=2_000), Budget(steps=200))
PLANNERS = tuple(PlannerFactory(name) for name in ("macro-despot", "despot", "pomcpow"))


def run(folder, **changes):
    cells = []
    asked = {"task": make("tiger"), "planners": PLANNERS, "budgets": SMALL, "episodes": 3, "workers": 0} | changes
    found = compare(folder=folder, on_evaluation=lambda one, stored: cells.append((one.name, stored)), **asked)
    return found, cells


def test_every_planner_meets_every_budget_on_the_same_episodes(tmp_path):
    comparison, cells = run(tmp_path)
    assert cells == [(planner.name, False) for planner in PLANNERS for _ in SMALL]
    assert len(comparison.at(SMALL[0])) == 3
    assert [one.budget.steps for one in comparison.evaluations] == [2_000, 200] * 3
    assert all(len(one.records) == 3 for one in comparison.evaluations)
    saved = read_as(tmp_path / "comparison.json", Comparison)
    assert [one.planner for one in saved.evaluations[::2]] == ["macro-despot", "despot", "pomcpow"]
    assert saved == comparison.without_records()
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
    assert repaired.evaluations[2].records == first.evaluations[2].records


def test_what_other_code_has_made_is_made_again(tmp_path):
    small = {"planners": PLANNERS[:1], "budgets": SMALL[1:]}
    (path,) = (tmp_path / f"{one.name}_{budget}.json" for one in PLANNERS[:1] for budget in SMALL[1:])
    run(tmp_path, **small)
    made = json.loads(path.read_text())
    for other in (made | {"code": "0123"}, made | {"software": "0.0.1"}, {k: made[k] for k in made if k != "code"}):
        path.write_text(json.dumps(other | {"return_mean": 1e9}))
        assert run(tmp_path, **small)[1] == [("macro-despot", False)]
        assert json.loads(path.read_text())["return_mean"] == made["return_mean"]
    assert run(tmp_path, **small)[1] == [("macro-despot", True)]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seed": 1}, "seed 0"),
        ({"episodes": 2}, "episodes 3"),
        ({"task": make("tiger", max_steps=5)}, "max_steps 40:"),
        ({"planners": (PlannerFactory("macro-despot", overrides={"macro_length": 2}),)}, "macro length 1"),
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


def test_a_setting_goes_to_the_planners_that_have_it():
    longer, other = choose_planners(["macro-despot", "pomcpow", "macro-despot"], {"macro_length": 2})
    assert (longer.name, dict(longer.overrides)) == ("macro-despot", {"macro_length": 2})
    assert (other.name, dict(other.overrides)) == ("pomcpow", {})
    with pytest.raises(ValueError, match="None of the planners pomcpow has a setting macro_length"):
        choose_planners(["pomcpow"], {"macro_length": 2})
