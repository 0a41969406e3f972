import dataclasses
import json
import os
import signal

import msgspec
import pytest
from test_model import SMALL, TOY
from test_trainer import TINY
from toy import Target

from magic_pomdp import Budget
from magic_pomdp.learning import ablate, train
from magic_pomdp.learning import ablation as ablation_module
from magic_pomdp.learning.ablation import AblationInterrupted, AblationWatch
from magic_pomdp.learning.learner import Learner
from magic_pomdp.results.files import read
from magic_pomdp.show.curves import draw_curves

SHORT = dataclasses.replace(TINY, updates=10)
QUESTION = {
    "conditionings": ("belief", "none"), "seeds": 2, "episodes": 6, "budget": Budget(steps=1), "evaluation_seed": 3,
}  # fmt: skip


class Said(AblationWatch):
    """Remembers."""

    def __init__(self):
        self.sentences = []

    def say(self, sentence):
        self.sentences.append(sentence)

    def count(self, beginning):
        return sum(sentence.startswith(beginning) for sentence in self.sentences)


def ask(folder, settings=SHORT, task=None, **changes):
    watch = Said()
    return ablate(task or Target(), settings, folder, **(QUESTION | changes), watch=watch), watch


@pytest.mark.slow
def test_every_variant_is_trained_and_meets_the_same_episodes(tmp_path):
    ablation, watch = ask(tmp_path, critics=("set", "flat"), seeds=1)
    variants = [(one.conditioning, one.critic, one.seed) for one in ablation.trainings]
    assert variants == [("belief", "set", 0), ("none", "set", 0), ("belief", "flat", 0), ("none", "flat", 0)]
    assert (watch.count("Training"), watch.count("Evaluating")) == (4, 5)
    for one in ablation.trainings:
        found = one.evaluation
        assert (found.planner, found.episodes, found.seed) == ("magic", 6, 3)
        assert one.curve[0].episodes == 5
    assert ablation.handcrafted.planner == "macro-despot"
    saved = read(tmp_path / "ablation.json")
    assert saved == ablation
    assert [row.critic for row in saved.rows] == ["set", "set", "flat", "flat"]
    assert all(one.evaluation.records == () for one in saved.trainings)
    assert len(read(tmp_path / "none_flat_seed0" / "result.json").evaluation.records) == 6
    curves = ablation.curves()
    assert [curve.label for curve in curves.curves][1:3] == ["none, set critic", "belief, flat critic"]
    draw_curves(curves, tmp_path / "curves.png")
    assert (tmp_path / "curves.png").stat().st_size > 10_000


def test_any_setting_can_be_compared(tmp_path):
    ablation, watch = ask(tmp_path, conditionings=("none",), seeds=1, changes=("batch=8", "mirror=False"))
    assert [row.change for row in ablation.rows] == ["", "batch=8", "mirror=False"]
    assert "Training target, none, set critic, mirror=False, seed 0 (3 of 3)." in watch.sentences
    trained = json.loads((tmp_path / "none_set_mirror=False_seed0" / "settings.json").read_text())["settings"]
    assert (trained["mirror"], trained["batch"]) == (False, 16)
    assert [curve.label for curve in ablation.curves().curves] == ["none", "none, batch=8", "none, mirror=False"]


def test_what_is_finished_is_not_run_again(tmp_path, monkeypatch):
    first, _ = ask(tmp_path, seeds=1)
    again, watch = ask(tmp_path)
    assert (watch.count("Found the result"), watch.count("Training")) == (3, 2)
    assert again.trainings[:2] == first.trainings
    assert [row.by_seed.keys() for row in again.rows] == [{"0", "1"}] * 2
    (tmp_path / "belief_set_seed0" / "result.json").write_text("{")
    monkeypatch.setattr(Learner, "update", None)  # its training is over, only the evaluation is missing
    for one, other in zip(ask(tmp_path)[0].rows, again.rows, strict=True):
        assert msgspec.structs.replace(one, minutes=0.0) == msgspec.structs.replace(other, minutes=0.0)


def test_an_interrupted_training_goes_on(tmp_path, monkeypatch):
    def update(self, replay, whole=Learner.update):
        if self.settings.conditioning == "none" and self.updates == 5:
            os.kill(os.getpid(), signal.SIGINT)
        return whole(self, replay)

    monkeypatch.setattr(Learner, "update", update)
    with pytest.raises(AblationInterrupted):
        ask(tmp_path / "parts", seeds=1)
    monkeypatch.undo()
    resumed = []
    monkeypatch.setattr(ablation_module, "train", lambda *arguments: resumed.append(arguments[3]) or train(*arguments))
    parts, watch = ask(tmp_path / "parts", seeds=1)
    assert (resumed, watch.count("Found")) == ([True], 2)
    whole, _ = ask(tmp_path / "whole", seeds=1)
    for one, other in zip(parts.rows, whole.rows, strict=True):
        assert one.return_mean == other.return_mean


def test_another_question_is_refused(tmp_path):
    ask(tmp_path, seeds=1, conditionings=("none",))
    with pytest.raises(ValueError, match="was begun with updates 10: ask the same, or choose another folder"):
        ask(tmp_path, dataclasses.replace(SHORT, updates=20))
    with pytest.raises(ValueError, match="was begun with batch 16"):
        ask(tmp_path, dataclasses.replace(SHORT, batch=8))
    with pytest.raises(ValueError, match="begun with episodes 6, evaluation seed 3"):
        ask(tmp_path, episodes=7, evaluation_seed=4)
    with pytest.raises(ValueError, match="was begun with task parameters"):
        ask(tmp_path, task=Target(blur=0.2))
    question = json.loads((tmp_path / "question.json").read_text())
    (tmp_path / "question.json").write_text(json.dumps(question | {"derived": "0123456789abcdef"}))
    with pytest.raises(ValueError, match="was begun with another content of a file"):
        ask(tmp_path)
    del question["training"]["mirror"]  # by a version that knew no mirror images
    (tmp_path / "question.json").write_text(json.dumps(question))
    with pytest.raises(ValueError, match="was begun with mirror False: ask the same"):
        ask(tmp_path)
    for text in ("[", "[]", "{}"):
        (tmp_path / "question.json").write_text(text)
        with pytest.raises(ValueError, match=r"question\.json is .*damaged.*\. Choose another folder\.$"):
            ask(tmp_path)


def test_an_ablation_of_software_0_1_0_goes_on(tmp_path):
    first, _ = ask(tmp_path, seeds=1, conditionings=("none",))
    path = tmp_path / "question.json"
    question = json.loads(path.read_text())
    flat = {**question, **question.pop("training")}
    flat["macro_length"] = flat["settings"].pop("macro_length")
    del flat["training"]
    path.write_text(json.dumps(flat))
    again, watch = ask(tmp_path, seeds=1, conditionings=("none",))
    assert (again, watch.count("Found the result")) == (first, 2)
    with pytest.raises(ValueError, match="was begun with macro length 1, batch 16: ask the same"):
        ask(tmp_path, dataclasses.replace(SHORT, batch=8, macro_length=2))
    del flat["settings"]
    path.write_text(json.dumps(flat))
    with pytest.raises(ValueError, match=r"question\.json is .*damaged.*\. Choose another folder\.$"):
        ask(tmp_path)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"seeds": 0}, "The number of seeds must be at least 1, not 0"),
        ({"conditionings": ()}, "at least one conditioning"),
        ({"conditionings": ("all",)}, "conditioning is one of belief"),
        ({"critics": ("best",)}, "critic is one of set, flat: 'best'"),
        ({"changes": ("batches=3",)}, "no setting 'batches' to compare like this .did you mean 'batch'"),
        ({"changes": ("batch",)}, "changed as name=value, not 'batch'"),
        ({"changes": ("batch=many",)}, "The setting batch cannot be 'many'"),
        ({"changes": ("batch=0",)}, r"batch must lie in \[1, 100000\], not 0"),
        ({"changes": ("mirror=2",)}, "The setting mirror cannot be '2'"),
        ({"changes": ("patience=True",)}, "The setting patience cannot be 'True'"),
        ({"changes": ("seed=2",)}, "no setting 'seed' to compare like this"),
        ({"episodes": 0}, "The number of episodes must be at least 1"),
        ({"evaluation_seed": -1}, "seed of the evaluation must be at least 0"),
    ],
)
def test_bad_questions_are_refused(tmp_path, changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        ask(tmp_path, **changes)
    assert not list(tmp_path.iterdir())


def test_a_training_that_is_too_short_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"belief, set critic, seed 0 was over before its warm-up"):
        ask(tmp_path, dataclasses.replace(SHORT, minutes=1e-9))


# ------------------------------------------------------------------------------------------------------ command line


def test_ablate_and_curves(run, tmp_path):
    options = (*SMALL, "--updates", 10, "--steps", 1, "--episodes", 4, "--conditionings", "belief", "--out", "all")
    code, out, err = run("ablate", TOY, *options, "--conditionings", "none", "--with", "batch=8")
    assert code == 0, err
    assert "belief, set" in out
    assert "Training target, none, set critic, batch=8, seed 0 (4 of 4)." in err
    assert {"ablation.json", "curves.png"} <= {path.name for path in (tmp_path / "all").iterdir()}
    code, _, err = run("ablate", TOY, *options, "--replay", 400)
    assert (code, "was begun with replay 500" in err) == (2, True)

    trainings = ("all/belief_set_seed0", "all/none_set_seed0")
    code, out, err = run("curves", *trainings, "--out", "both.png", "--handcrafted", 5)
    assert code == 0, err
    saved = json.loads((tmp_path / "both.json").read_text())
    assert [curve["label"] for curve in saved["curves"]] == ["conditioning belief", "conditioning none"]
    assert saved["handcrafted"] == 5.0
    assert (tmp_path / "both.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["ablate", "tigr"], "There is no task 'tigr'"),
        (["ablate", "tiger", "--seeds", "0"], "seeds must be at least 1"),
        (["ablate", "tiger", "--batch", "0"], "batch must lie in [1, 100000], not 0."),
        (["ablate", "tiger", "--seconds", "1", "--steps", "1"], "seconds"),
        (["ablate", "tiger", "--out", "file"], "cannot be made"),
        (["curves"], "at least one folder"),
        (["curves", "nowhere"], "There is no training in nowhere"),
        (["curves", "file", "--out", "some.txt"], "name ends with .png, .svg or .pdf"),
    ],
)
def test_bad_input_is_answered_with_a_sentence(run, tmp_path, arguments, sentence):
    (tmp_path / "file").touch()
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert sentence in err
    assert "Traceback" not in err
