"""The demo's verdict: one sentence that is true whatever the figures are."""

import pytest
from small_results import a_record, an_evaluation

from magic_pomdp.cli.showing import DemoSettings
from magic_pomdp.show.demo import EPISODES, SECONDS, verdict
from magic_pomdp.show.report import report_page
from magic_pomdp.show.results import Results

WHO = ["MAGIC", "Macro-DESPOT", "DESPOT"]


def planned(*returns):
    """One success after another, or failures where an episode returns less than nothing."""
    records = tuple(
        a_record(episode, total_return=earned, outcome="failure" if earned < 0 else "success")
        for episode, earned in enumerate(returns)
    )
    return an_evaluation(records=records)


FIRST = planned(9, 9, 10, 9, 9, 10)
FAILING = planned(-9, -8, -9, -9, -8, -9)


def test_a_clear_lead_is_told():
    sentence = verdict(WHO, [FIRST, planned(-9, -8, -8, -9, -8, -8), FAILING])
    assert sentence == (
        "MAGIC wins: on the same 6 episodes it returns 17.67 ± 0.21 more than Macro-DESPOT and 18.00 ± 0.37 more than "
        "DESPOT; the least of these leads is 49.3 times its standard error."
    )


@pytest.mark.parametrize("second", [(0, 9, 18) * 2, (9, 9, 10) * 2, (20, 20, 21) * 2])
def test_what_is_no_proof_is_not_called_one(second):
    sentence = verdict(WHO, [FIRST, planned(*second), planned(0, 9, 18, 0, 9, 18)])
    assert sentence.startswith("These episodes do not tell whether MAGIC is better: on the same 6 episodes, over ")
    assert sentence.endswith("standard error, and three would be proof.")


def test_failures_that_were_not_seen_are_no_proof():
    sentence = verdict(WHO, [FIRST, planned(8, 8, 9, 8, 8, -9), FAILING])
    assert sentence.startswith("MAGIC wins: on the same 6 episodes it returns 18.00 ± 0.37 more than DESPOT; that is ")
    assert "do not tell whether it is better than the rest: over Macro-DESPOT it leads by" in sentence
    sentence = verdict(WHO, [FIRST, planned(8, 8, 9, 8, 8, 9), FAILING])
    assert sentence.endswith("1.00 ± 0.00, but they saw too few failures (0 and 0) to tell how often each fails.")


def test_one_episode_tells_nothing():
    assert "run more of them" in verdict(WHO[:2], [planned(9), planned(0)])


def test_the_page_shows_it():
    assert '<p id="verdict">It &lt;wins&gt;.</p>' in report_page(Results(), "", "It <wins>.")
    assert "verdict" not in report_page(Results()).split("</style>")[1]


def test_the_command_asks_for_what_the_function_does():
    assert (DemoSettings().episodes, DemoSettings().seconds) == (EPISODES, SECONDS)
