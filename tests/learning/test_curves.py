import json

import pytest

from magic_pomdp.cli.learning import curves
from magic_pomdp.learning.curves import read_curves
from magic_pomdp.results import read
from magic_pomdp.show.curves import draw_curves


def point(minutes, updates, mean, final=False):
    found = {"event": "evaluation", "minutes": minutes, "updates": updates, "return_mean": mean, "final": final}
    return {**found, "return_stderr": 1.0, "success_rate": 0.5, "episodes": 10, "plan_steps": 100, "best": True}


def make_training(folder, points, task="light-dark", **settings):
    folder.mkdir()
    about = {"task": task, "task_parameters": {}, "space": {"length": 6}, "settings": {"seed": 0, **settings}}
    (folder / "settings.json").write_text(json.dumps(about))
    lines = [json.dumps(line) for line in ({"event": "note", "text": "Learning begins."}, *points)]
    (folder / "metrics.jsonl").write_text("\n".join([*lines, '{"event": "eval']))
    return folder


def test_trainings_are_told_apart_by_what_differs(tmp_path):
    points = [point(3.0, 100, 10.0), point(6.0, 200, 60.0), point(6.0, 200, 55.0, final=True)]
    folders = [make_training(tmp_path / str(seed), points, seed=seed, minutes=5 + seed) for seed in range(3)]
    curves = read_curves(folders, handcrafted=40.0)
    assert [curve.label for curve in curves.curves] == ["seed 0", "seed 1", "seed 2"]
    assert [one.return_mean for one in curves.curves[0].points] == [10.0, 60.0]
    assert curves.curves[2].points[1].minutes == 6.0
    draw_curves(curves, tmp_path / "curves.png")
    assert (tmp_path / "curves.png").stat().st_size > 10_000


def test_equal_trainings_are_named_by_their_folders(tmp_path):
    folders = [make_training(tmp_path / name, [point(3.0, 100, 10.0)]) for name in ("one", "other")]
    assert [curve.label for curve in read_curves(folders).curves] == ["one", "other"]
    assert read_curves(folders[:1]).curves[0].label == ""


def test_what_a_killed_training_has_evaluated_twice_counts_once(tmp_path):
    points = [point(3.0, 100, 10.0), point(6.0, 200, 20.0), point(5.9, 190, 21.0), point(9.0, 300, 30.0)]
    folder = make_training(tmp_path / "killed", points)
    assert [one.updates for one in read_curves([folder]).curves[0].points] == [100, 190, 300]


def test_what_cannot_be_drawn_is_said(tmp_path):
    with pytest.raises(ValueError, match="at least one folder"):
        read_curves([])
    with pytest.raises(ValueError, match="There is no training in"):
        read_curves([tmp_path])
    with pytest.raises(ValueError, match="has not been evaluated yet"):
        read_curves([make_training(tmp_path / "new", [])])
    one = make_training(tmp_path / "one", [point(3.0, 100, 10.0)])
    other = make_training(tmp_path / "other", [point(3.0, 100, 10.0)], task="tiger")
    with pytest.raises(ValueError, match=r"several tasks \(light-dark, tiger\)"):
        read_curves([one, other])
    (one / "metrics.jsonl").unlink()
    with pytest.raises(ValueError, match=r"has no metrics\.jsonl"):
        read_curves([one])


def test_what_the_set_to_beat_returns_is_known_from_the_trainings(tmp_path):
    points = [{**point(3.0, 100, 10.0), "lead": 2.0, "lead_stderr": 0.5}, {**point(6.0, 200, 60.0), "lead": 50.0}]
    folders = [make_training(tmp_path / "one", points), make_training(tmp_path / "other", points[1:])]
    assert read_curves(folders).handcrafted == 9.0
    assert read_curves(folders, handcrafted=7.0).handcrafted == 7.0
    assert read_curves([make_training(tmp_path / "old", [point(3.0, 100, 10.0)])]).handcrafted is None


def test_without_matplotlib_the_points_are_a_table(tmp_path, monkeypatch, capsys):
    folder = make_training(tmp_path / "one", [{**point(3.0, 100, 10.0), "lead": 2.0, "lead_stderr": 0.5}])
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert curves((folder,), out=tmp_path / "curves.png") == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "10.0 ± 1.0" in shown
    assert "The set to beat returns 8.0." in shown
    assert "No picture: matplotlib is missing" in shown
    assert read(tmp_path / "curves.json").curves[0].points[0].return_mean == 10.0
    assert not (tmp_path / "curves.png").exists()
