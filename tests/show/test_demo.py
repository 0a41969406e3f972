"""The demo's verdict: one sentence that is true whatever the figures are."""

import pytest
from small_results import a_record, an_evaluation

from magic_pomdp.cli.showing import DemoSettings
from magic_pomdp.show.demo import EPISODES, SECONDS, verdict
from magic_pomdp.show.report import report_page
from magic_pomdp.show.results import Results


def planned(planner, *returns):
    records = tuple(a_record(episode, total_return=earned) for episode, earned in enumerate(returns))
    return an_evaluation(planner=planner, records=records)


def test_a_clear_lead_is_told():
    sentence = verdict([planned("magic", 9, 9, 10), planned("macro-despot", 0, 1, 1), planned("despot", -9, -9, -8)])
    assert sentence.startswith(
        "MAGIC with learned macro-actions wins: on the same 3 episodes it returns 8.67 ± 0.33 more"
    )
    assert "Macro-DESPOT with the paper's handcrafted set and " in sentence
    assert "more than DESPOT, which has none; the least of these leads is 26.0 times its standard error." in sentence


@pytest.mark.parametrize("second", [(0, 9, 18), (9, 9, 10), (20, 20, 21)])
def test_what_is_no_proof_is_not_called_one(second):
    sentence = verdict([planned("magic", 9, 9, 10), planned("macro-despot", *second), planned("despot", 0, 0, 1)])
    assert sentence.startswith("These episodes do not tell whether MAGIC")
    assert sentence.endswith("standard error, and three would be proof.")


def test_one_episode_tells_nothing():
    assert "run more of them" in verdict([planned("magic", 9), planned("despot", 0)])


def test_the_page_shows_it():
    assert '<p id="verdict">It &lt;wins&gt;.</p>' in report_page(Results(), "", "It <wins>.")
    assert "verdict" not in report_page(Results()).split("</style>")[1]


def test_the_command_asks_for_what_the_function_does():
    assert (DemoSettings().episodes, DemoSettings().seconds) == (EPISODES, SECONDS)
