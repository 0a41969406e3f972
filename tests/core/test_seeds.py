"""What is no whole number of 64 bits would be taken for another seed: it is refused wherever a seed is given."""

import sys

import numpy as np
import pytest

import magic_pomdp as mp
from magic_pomdp import Belief, Budget, MacroActions, MacroDespot, cli, run_episode
from magic_pomdp.planners import Pomcpow
from magic_pomdp.random import new_stream

TIGER = mp.make("tiger")
PLANNERS = {
    "macro-despot": lambda: MacroDespot(TIGER, MacroActions.repeat(TIGER.actions(), 1), budget=Budget(steps=10)),
    "pomcpow": lambda: Pomcpow(TIGER, budget=Budget(steps=10)),
}
GIVEN = {
    "a stream": new_stream,
    "a belief": lambda seed: Belief.initial(TIGER, np.zeros(TIGER.context_size), 5, seed=seed),
    "own particles": lambda seed: Belief(TIGER, np.zeros(TIGER.context_size), np.zeros((5, TIGER.state_size)), seed),
    "an episode": lambda seed: run_episode(TIGER, PLANNERS["pomcpow"](), seed=seed),
    "an evaluation": lambda seed: mp.evaluate(TIGER, "pomcpow", 1, seed=seed, workers=0),
    "a plan": lambda seed: PLANNERS["macro-despot"]().plan(np.zeros((5, TIGER.state_size)), seed=seed),
    "a plan of POMCPOW": lambda seed: PLANNERS["pomcpow"]().plan(np.zeros((5, TIGER.state_size)), seed=seed),
}


@pytest.mark.parametrize("give", GIVEN.values(), ids=GIVEN)
@pytest.mark.parametrize(
    ("seed", "sentence"),
    [
        (2**64, r"The seed must be below 2\^64, not 18446744073709551616\."),
        (-1, "The seed must be at least 0, not -1"),
        (1.5, r"The seed must be a whole number, not 1\.5|must be a whole number"),
    ],
)
def test_it_is_refused(give, seed, sentence):
    with pytest.raises(ValueError, match=sentence):
        give(seed)


def test_every_number_of_64_bits_is_a_seed_of_its_own():
    streams = {int(new_stream(seed)[0]) for seed in (0, 1, 2**63, 2**64 - 1, np.uint64(7), np.int64(8))}
    assert len(streams) == 6
    assert new_stream(np.uint64(7)) == new_stream(7)


COMMANDS = [
    "train tiger",
    "ablate tiger",
    "evaluate tiger",
    "compare tiger",
    "figures light-dark",
    "picture light-dark",
]


@pytest.mark.parametrize("command", [*COMMANDS, "demo", "record light-dark", "play light-dark", "tune tiger"])
@pytest.mark.parametrize("seed", [2**64, -1])
def test_every_command_refuses_it(monkeypatch, capfd, tmp_path, command, seed):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["magic-pomdp", *command.split(), f"--seed={seed}"])
    try:
        code = cli.main()
    except SystemExit as end:
        code = end.code
    out, err = capfd.readouterr()
    assert (code, out, "Traceback" in err) == (2, "", False)
    assert "seed must be" in err
