"""Files that are whole, with fingerprints that fit, but tell what cannot be: each is answered with a sentence."""

import json
import shutil
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest
from test_trainer import TINY, settings
from toy import Target

import magic_pomdp as mp
from magic_pomdp.learning import train
from magic_pomdp.learning.checkpoint import CheckpointFile, checkpoints
from magic_pomdp.learning.curves import read_curves
from magic_pomdp.learning.state import TrainingState
from magic_pomdp.learning.watching import Lines
from magic_pomdp.magic import MagicPlanner, MagicSettings, load_model
from magic_pomdp.magic import model as model_module
from magic_pomdp.magic.arrays import load_arrays, save_arrays, signed
from magic_pomdp.magic.model import ModelFile
from magic_pomdp.results.metrics import METRICS, Measured, Progress, read_metrics

sys.path.insert(0, str(Path(__file__).parents[1] / "robustness"))
from training_cases import parts, try_model, try_training, valid_model, valid_training

OLD = Path(__file__).parent / "training-0.1.0"


def put(plain, place, value):
    """Change one part of plain data, named as in a.b.0."""
    *before, last = [int(name) if name.isdigit() else name for name in place.split(".")]
    for name in before:
        plain = plain[name]
    plain[last] = value


def changed(content, changes, **arrays):
    """A file that tells something else, or holds other arrays, with the right fingerprint."""
    known, text = parts(content)
    plain = json.loads(text)
    for place, value in changes.items():
        put(plain, place, value)
    return signed({**known, **arrays}, json.dumps(plain))


# ------------------------------------------------------------------------------------------------------------- models


def test_what_is_right_is_accepted(tmp_path):
    try_model(valid_model(), tmp_path)
    try_training(valid_training(), tmp_path)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"shape.encoder": 10**12}, r"\$\.shape: a generator has 16,777,216 weights at most"),
        ({"shape.conditioning": "none", "shape.encoder": 10**12}, "weights at most"),
        ({"shape.member_features": 10**12}, "weights at most"),
        ({"shape.trunk": [1] * 10_000}, "trunk has 16 layers at most, not 10000"),
        ({"shape.particles": 10**6}, "2,000 particles at most"),
        ({"shape.particles": 0}, "particles must be at least 1"),
        ({"shape.context_features": -3}, "must be at least 0"),
        ({"shape.members": 3}, "members with 0 features each do not fit"),
        ({"shape.std_range": [0.2, 0.1]}, "must be positive, in order"),
        ({"shape.std_range": [0.2, 1e99]}, "must be positive, in order"),
        ({"shape.kind": "ball"}, r"\$\.shape\.kind: invalid enum value 'ball'"),
        ({"card.space.length": 10**30}, "at most length 10,000"),
        ({"card.space.length": "2"}, "space has no length"),
        ({"card.seed": 2**64}, r"The seed must be below 2\^64|the seed must be below 2\^64"),
        ({"card.updates": -1}, r"\$\.card\.updates: expected int >= 0"),
        ({"card.score.success_rate": 1.5}, r"\$\.card\.score\.success_rate: expected float <= 1\.0"),
        ({"card.score": None}, r"\$\.card\.score: expected object, got null"),
        ({"card.task": "\x1b[31m"}, r"was trained for \\x1b\[31m, not for light-dark"),
        ({"card.task": "a" * 5000}, r"was trained for a{200}…, not for light-dark"),
        ({"card.space.count": "a" * 5000}, r"count a{54}…, .* is space bezier, count 8, "),
        ({"kind": "a" * 5000}, r"is no model, .* its kind is 'a{199}…\."),
        ({"kind": "model\x1b"}, r"is no model, .* its kind is 'model\\x1b'"),
        ({"shape.count": 4, "shape.size": 13}, r"makes 4 × 13 parameters in a sphere, but light-dark needs 8 × 6"),
    ],
)  # fmt: skip
def test_a_model_that_tells_what_cannot_be_is_refused(tmp_path, changes, sentence):
    with pytest.raises(ValueError, match=sentence) as refused:
        try_model(changed(valid_model(), changes), tmp_path)
    assert str(refused.value).isprintable()


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"head.bias": np.zeros(3, np.float32)}, r"head\.bias must be float32 of shape \(56,\), but is float32 of"),
        ({"head.bias": np.zeros(56)}, r"head\.bias must be float32 .* but is float64"),
        ({"head.bias": np.full(56, np.nan, np.float32)}, r"head\.bias holds what is no finite number"),
        ({"normaliser.scale": np.zeros(4, np.float32)}, r"normaliser\.scale must be positive"),
        ({"more": np.zeros(3, np.float32)}, "the array more is none that is expected"),
        ({"norm.0.weight": np.full(4, 1e38, np.float32)}, "The generator finds no finite parameters"),
    ],
)  # fmt: skip
def test_a_model_of_wrong_arrays_is_refused(tmp_path, arrays, sentence):
    with pytest.raises(ValueError, match=sentence):
        try_model(changed(valid_model(), {}, **arrays), tmp_path)


def test_a_model_that_is_no_file_or_too_large_is_refused(tmp_path, monkeypatch):
    (tmp_path / "folder.safetensors").mkdir()
    with pytest.raises(ValueError, match=r"folder\.safetensors is a folder\.$"):
        load_model(tmp_path / "folder.safetensors")
    path = tmp_path / "model.safetensors"
    path.write_bytes(valid_model())
    monkeypatch.setattr(model_module, "_MOST_BYTES", 1000)
    with pytest.raises(ValueError, match="holds more than the 1,000 bytes that are read"):
        load_model(path)


def test_models_of_all_versions_make_what_they_made():
    for name in ("light-dark", "puck-push", "crowd-driving"):
        assert load_model(name).card.minutes > 0.0
    old = load_model(OLD / "best.safetensors")
    arrays, _ = load_arrays(OLD / "best.safetensors", ModelFile)
    np.testing.assert_array_equal(old.weights, old.shape.pack(arrays))
    assert MagicPlanner(Target(), MagicSettings(model=str(OLD / "best.safetensors"))).macro_length == 1


def test_models_are_listed_without_what_a_terminal_would_obey(run, tmp_path, monkeypatch):
    monkeypatch.setattr(model_module, "_FOLDER", tmp_path)
    told = {"card.task": "[/x]\x1b[31m", "card.command": "[bold]train[/y]", "card.minutes": None}
    (tmp_path / "some.safetensors").write_bytes(changed(valid_model(), told))
    code, out, err = run("models")
    assert (code, err) == (0, "")
    assert "[/x]\\x1b[31m" in out
    assert "[bold]train[/y]" in out
    assert "\x1b" not in out


# ---------------------------------------------------------------------------------------------------------- trainings


def training(**changes):
    """The files of a training, the checkpoint of which tells or holds something else."""
    files = valid_training()
    name = next(name for name in files if name.startswith("checkpoint"))
    told = {place: value for place, value in changes.items() if not isinstance(value, np.ndarray)}
    arrays = {place: value for place, value in changes.items() if isinstance(value, np.ndarray)}
    return {**files, name: changed(files[name], told, **arrays)}


@pytest.mark.parametrize(
    "changes",
    [
        {"plans": 0},
        {"updates": 10**6},
        {"updates": -1},
        {"warmed_up": False},
        {"seconds": -1.0},
        {"history.0.episodes": -3},
        {"value_scale": np.zeros(2, np.float32)},
        {"log_alpha": np.array(1e30, np.float32)},
        {"optimiser.critic.0.step": np.array(0.0, np.float32)},
        {"optimiser.critic.999.step": np.array(1.0, np.float32)},
        {"generator.head.bias": np.zeros(3, np.float32)},
        {"replay.value": np.full(9, np.inf, np.float32)},
        {"replay.value": np.zeros(8, np.float32)},
    ],
)
def test_a_checkpoint_that_none_can_go_on_from_is_passed_over(tmp_path, changes):
    files = training(**changes)
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    said = []
    state = TrainingState(mp.make("light-dark"), _settings_of(files), tmp_path)
    state.open(resume=True, say=said.append)
    assert "is damaged" in said[0]
    assert said[1].startswith("There is no checkpoint")
    assert state.learner.updates == 0


def _settings_of(files):
    return type(TINY)(**json.loads(files["settings.json"])["settings"])


def test_the_checkpoint_before_one_of_wrong_content_is_used(tmp_path):
    train(Target(), settings(updates=20), tmp_path)
    train(Target(), settings(updates=40), tmp_path, resume=True)
    newest = checkpoints(tmp_path)[0]
    arrays, about = load_arrays(newest, CheckpointFile)
    save_arrays(newest, arrays, msgspec.structs.replace(about, plans=about.plans + 1))
    said = []
    trained = train(Target(), TINY, tmp_path, resume=True, watch=Lines(said.append))
    assert said[0].endswith("The one before is used.")
    assert said[1].startswith("Resumed after 20 updates")
    assert trained.updates == 60


def test_a_best_model_of_something_else_is_made_anew(tmp_path):
    train(Target(), settings(updates=10), tmp_path)
    (tmp_path / "best.safetensors").write_bytes(valid_model())
    said = []
    train(Target(), settings(updates=20), tmp_path, resume=True, watch=Lines(said.append))
    assert any("best.safetensors is of another training. The next evaluation makes a new one." in one for one in said)
    assert load_model(tmp_path / "best.safetensors").card.task == "target"


def test_a_folder_in_the_place_of_a_file_is_refused_at_once(tmp_path):
    (tmp_path / "best.safetensors").mkdir()
    with pytest.raises(ValueError, match=r"best\.safetensors is a folder"):
        train(Target(), TINY, tmp_path)
    (tmp_path / "settings.json").mkdir()
    with pytest.raises(ValueError, match=r"settings\.json is a folder"):
        train(Target(), TINY, tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="cannot be made"):
        train(Target(), TINY, tmp_path / "file")


# ------------------------------------------------------------------------------------------------------------ metrics


def test_half_a_line_of_a_killed_training_is_passed_over(tmp_path):
    shutil.copytree(OLD, tmp_path, dirs_exist_ok=True)
    whole = (tmp_path / METRICS).read_bytes()
    lines = whole.splitlines(keepends=True)
    for cut in range(1, len(lines[2]) - 1):
        (tmp_path / METRICS).write_bytes(whole + lines[2][:cut])
        assert len(read_metrics(tmp_path)) == 4
        (tmp_path / METRICS).write_bytes(whole + lines[2][:cut] + b"\n" + lines[2])  # and the training has gone on
        assert len(read_metrics(tmp_path)) == 5


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('{"event": "evaluation"}', r"Line 3 of .*metrics\.jsonl is damaged at \$: the field minutes is missing"),
        ('{"event": "evaluatiom"}', r"Line 3 of .* is damaged at \$\.event: invalid value 'evaluatiom'"),
        ('{"event": "note", "text": NaN}', r"Line 3 of .* is damaged at byte \d+: expected a finite number"),
        ("nonsense", r"Line 3 of .* is not JSON"),
        ("[1]", r"Line 3 of .* is damaged at \$: expected object"),
    ],
)
def test_damage_within_the_metrics_is_told(tmp_path, line, sentence):
    shutil.copytree(OLD, tmp_path, dirs_exist_ok=True)
    lines = (tmp_path / METRICS).read_text().splitlines()
    (tmp_path / METRICS).write_text("\n".join([*lines[:2], line, *lines[2:]]))
    with pytest.raises(ValueError, match=sentence):
        read_curves([tmp_path])


def test_what_software_0_1_0_has_measured_is_known(tmp_path):
    measured = dict.fromkeys(Measured.__struct_fields__, 0.5)
    old = {
        "event": "progress", "minutes": 1.0, "minutes_left": None, "updates": 3, "plans": 4, "replay": 4, "episodes": 2,
        "warming_up": False, "recent_return": None, "evaluation": None, "best": None, "updates_per_second": 1.0,
        "plans_per_second": 1.0, **measured,
    }  # fmt: skip
    (tmp_path / METRICS).write_text(json.dumps(old) + "\n")
    (line,) = read_metrics(tmp_path)
    assert isinstance(line, Progress)
    assert line.measured == Measured(**measured)


def test_metrics_that_are_a_folder_are_refused(tmp_path):
    shutil.copytree(OLD, tmp_path, dirs_exist_ok=True)
    (tmp_path / METRICS).unlink()
    (tmp_path / METRICS).mkdir()
    with pytest.raises(ValueError, match=r"There is no file .*metrics\.jsonl\."):
        read_curves([tmp_path])


# ------------------------------------------------------------------------------------------------------- command line


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--minutes", "nan"], "minutes must be a finite number above 0, not nan"),
        (["--critic-rate", "inf"], "critic_rate must be a finite number above 0, not inf"),
        (["--batch", "99999999999999999999"], "batch must lie in [1, 100000]"),
        (["--seed", str(2**64)], "The seed must be below 2^64"),
        (["--macro-length", "99999999999999999999"], "must lie in [1, 10000]"),
        (["--plan-steps", str(10**30)], "plan_steps must lie in"),
        (["--workers", "99999999"], "workers must lie in [0, 1000]"),
    ],
)
def test_numbers_that_make_no_sense_are_answered_with_a_sentence(run, arguments, sentence):
    code, out, err = run("train", "tiger", "--out", "run", *arguments)
    assert (code, out) == (2, "")
    assert sentence in err
    assert len(err.splitlines()) == 1
