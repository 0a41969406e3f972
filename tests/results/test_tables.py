"""What tables show of results."""

import io

import msgspec
import pytest
from rich.console import Console
from small_results import a_record, a_training, an_evaluation

from magic_pomdp import Budget
from magic_pomdp.cli.shared import complain, progress_bar, show
from magic_pomdp.results.evaluation import Mean
from magic_pomdp.results.speed import Bench, Measurement
from magic_pomdp.results.training import Ablation
from magic_pomdp.results.tuning import Trial, Tuning
from magic_pomdp.running.difference import difference
from magic_pomdp.show.columns import shown_columns
from magic_pomdp.show.published import published, published_learned, published_sentence, published_task
from magic_pomdp.show.tables import (
    ablation_table,
    bench_table,
    comparison_table,
    difference_table,
    evaluation_table,
    tuning_table,
)
from magic_pomdp.show.words import budget_words, label_of, mean_words, number_words

OWN = {"stall_rate": Mean(mean=0.0123, stderr=0.002)}


def text(table, width=200):
    console = Console(width=width, file=io.StringIO())
    console.print(table)
    return console.file.getvalue()


def titles(table, *evaluations):
    return [column.title for column in shown_columns(table, evaluations)]


def test_an_evaluation_is_told_in_full():
    found = an_evaluation(return_mean=-1234.567, return_stderr=0.5, statistics=OWN, macro_length=3, label="Someone")
    shown = text(evaluation_table(found))
    assert "tiger: Someone, length 3, 9 steps a plan" in shown
    assert "−1,234.57 ± 0.50" in shown
    assert "stall rate" in shown
    assert "0.0123 ± 0.0020" in shown
    assert "over budget" not in shown
    assert "cut short" not in text(evaluation_table(msgspec.structs.replace(found, plans_cut_short=0)))
    many = msgspec.structs.replace(found, plans_cut_short=4, plan_steps_mean=50, complete=False)
    shown = text(evaluation_table(many))
    assert "4: the tree was full" in shown
    assert "it takes 50 steps" in shown
    assert "(interrupted)" in shown


def test_published_returns_stand_beside_ours_where_there_are_any():
    ours = an_evaluation(task="light-dark", planner="magic", label="MAGIC", macro_length=6)
    assert "54.1 ± 1.0" in text(comparison_table("Some", [ours]))
    assert titles("comparison", ours, an_evaluation())[:4] == ["planner, length", "return", "success", "paper"]
    assert "paper" not in titles("comparison", an_evaluation())
    assert titles("report", ours)[2:4] == ["paper", "RMAG"]
    others = [column.title for column in shown_columns("report", [ours]) if column.of_others]
    assert others == ["paper", "RMAG"]


def test_what_a_task_tells_is_a_column_where_any_evaluation_has_it():
    told = an_evaluation(statistics=OWN)
    assert titles("report", an_evaluation(), told)[-1] == "stall rate"
    assert "stall rate" not in titles("report", an_evaluation())
    column = shown_columns("report", [told])[-1]
    assert (column.text(told), column.text(an_evaluation())) == ("0.0123 ± 0.0020", "")


def test_the_best_is_the_one_that_returns_most():
    (ranked,) = (column for column in shown_columns("report", [an_evaluation()]) if column.rank is not None)
    better = an_evaluation(return_mean=7.0)
    assert max([an_evaluation(), better], key=ranked.rank) is better


def test_differences_trials_and_measurements_are_told():
    one, other = (an_evaluation(budget=Budget(seconds=0.5), label=name) for name in ("One", "Other"))
    shown = text(difference_table(one, [(other, difference(one, other))]))
    assert "what One, 0.5 s returns more than" in shown
    assert "Other, 0.5 s" in shown
    trials = tuple(
        Trial(settings={"xi": 0.1 * n, "tree_nodes": 50_000}, return_mean=-1.0 * n, return_stderr=0.5) for n in (1, 2)
    )
    tuning = Tuning(task="tiger", planner="despot", trials=trials)
    assert "−1.0 ± 0.5" in text(tuning_table(tuning))
    assert tuning.options() == "--xi 0.1 --tree-nodes 50000"
    measured = (
        Measurement(name="quick", value=12345.6, median=12.3, unit="/s", ratio=1.0),
        Measurement(name="old", value=0.0012345, unit="s", ratio=1.0),
    )
    shown = text(bench_table(Bench(processor="Some CPU", repeats=3, measurements=measured)))
    assert all(part in shown for part in ("Some CPU", "12,346 /s", "12.3 /s", "0.00123 s", "–"))


def test_differences_name_the_settings_in_which_they_differ():
    settings = [{"xi": 0.95, "refine": refine} for refine in (0.0, 0.4)]
    first, other = (an_evaluation(settings=one, label="Macro-DESPOT", macro_length=6) for one in settings)
    table = difference_table(first, [(other, difference(first, other))])
    shown = text(table)
    assert "what Macro-DESPOT, 6, 9 steps, refine 0.0 returns more than" in shown
    assert "Macro-DESPOT, 6, 9 steps, refine 0.4 " in shown
    assert "xi" not in shown
    assert "other code" not in shown
    first, other = (msgspec.structs.replace(one, code=code) for one, code in ((first, "a"), (other, "b")))
    assert "refine 0.4, other code" in text(difference_table(first, [(other, difference(first, other))]))
    narrow = text(table, 80).splitlines()
    assert max(map(len, narrow)) <= 80
    assert "…" not in "".join(narrow)


def test_an_ablation_is_told_beside_the_paper():
    def trained(conditioning, seed, returns, change=""):
        records = tuple(a_record(i, total_return=value) for i, value in enumerate(returns))
        found = an_evaluation(records=records, return_mean=sum(returns) / len(returns))
        return a_training(conditioning=conditioning, seed=seed, change=change, evaluation=found)

    trainings = (
        trained("belief", 0, [1.0, 5.0]),
        trained("belief", 1, [3.0, 7.0]),
        trained("none", 0, [0.0, 0.0], "a=1"),
    )
    found = Ablation.of("light-dark", an_evaluation(planner="macro-despot"), trainings)
    both, other = found.rows
    assert (both.return_mean, both.return_stderr) == (4.0, pytest.approx(2.0))  # of 2 and 6, the means over the seeds
    assert both.by_seed == {"0": 3.0, "1": 5.0}
    assert other.change == "a=1"
    assert found.handcrafted.records == found.trainings[0].evaluation.records == ()
    assert [curve.label for curve in found.curves().curves] == ["belief", "belief", "none, a=1"]
    lines = text(ablation_table(found)).splitlines()
    (row,) = (line for line in lines if "belief, set" in line)
    assert "4.0 ± 2.0" in row
    assert "3.0, 5.0" in row
    assert "−51.2" in row  # the paper's
    assert not any("43.9" in line for line in lines)  # the paper has not made this change
    assert any("handcrafted" in line and "−30.9" in line for line in lines)


def test_published_returns_are_those_of_the_paper():
    assert published("light-dark", "despot").paper == Mean(mean=-96.1, stderr=1.0)
    assert published("puck-push", "magic").successor == 92.5
    assert published("tiger", "magic") is published("light-dark", "nobody") is None
    assert published_learned("crowd-driving") == ("MAGIC", 58.6)
    assert published_learned("tiger") is None
    assert published_task("puck-push").conditionings["context"] == 66.2
    assert "in the variant reference. They are not" in published_sentence("crowd-driving")
    assert "both with 0.1 s a plan." in published_sentence("light-dark")
    assert published_sentence("tiger") == ""


def test_words():
    assert label_of(an_evaluation(label="Someone")) == "Someone"
    assert label_of(an_evaluation(planner="despot")) == "DESPOT"
    assert label_of(an_evaluation(planner="MyPlanner")) == "MyPlanner"
    assert (budget_words(None), budget_words(Budget(steps=9000))) == ("none", "9,000 steps")
    assert budget_words(Budget(seconds=0.5)) == "0.5 s"
    assert [number_words(number) for number in (-1234.5, 12.34, 1.234)] == ["−1,234", "12.3", "1.23"]
    assert mean_words(148.58, 1.9587) == "148.6 ± 2.0"
    assert mean_words(1234.0, 56.0) == "1,234 ± 56"
    assert mean_words(3.0, 0.0) == "3.00 ± 0.00"


BAD = "[/x][bold]\x1b[2J\nx\x9b\u202e"
SHOWN = r"[/x][bold]\x1b[2J\nx\x9b\u202e"


def bad_tables():
    """Every table, with a name in every place for one that a terminal might take for something else."""
    bad = {"task": BAD, "planner": BAD, "label": BAD, "statistics": {BAD: Mean(mean=1.0, stderr=0.1)}}
    one = an_evaluation(**bad)
    yield comparison_table(BAD, [one])
    yield evaluation_table(one)
    yield difference_table(one, [(one, difference(one, one))])
    trial = Trial(settings={BAD: 0.5}, return_mean=1.0, return_stderr=0.5)
    yield tuning_table(Tuning(task=BAD, planner=BAD, trials=(trial,)))
    yield ablation_table(Ablation.of(BAD, one, (a_training(conditioning=BAD, critic=BAD, change=BAD),)))
    yield bench_table(Bench(processor=BAD, measurements=(Measurement(name=BAD, value=1.0, unit=BAD, ratio=1.0),)))


def test_names_are_only_text_in_every_table():
    for table in bad_tables():
        console = Console(width=2000, file=io.StringIO(), force_terminal=True, color_system=None)
        console.print(table)
        shown = console.file.getvalue()
        assert SHOWN in shown
        assert not any(letter in shown for letter in ("\x1b[2J", "\x9b", "\u202e"))


def test_what_is_said_in_a_terminal_is_only_text(capsys):
    show(f"Saved as {BAD}")
    assert complain(f"There is no file {BAD}.", 2) == 2
    with progress_bar("episodes", 1, BAD) as update:
        update(description=BAD)
    said = capsys.readouterr()
    assert said.out == "Saved as [/x][bold]\\x1b[2J\nx\\x9b\\u202e\n"
    assert said.err == f"magic-pomdp: There is no file {SHOWN}.\n"
