"""Jobs on a Ray cluster of three nodes: the results of local workers, whatever happens to the nodes."""

import dataclasses
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import msgspec
import pytest

from magic_pomdp import Budget, evaluate, make
from magic_pomdp.results import Evaluation
from magic_pomdp.results.files import read_as
from magic_pomdp.running import EvaluationInterrupted, PlannerFactory, where
from magic_pomdp.running.tuning import FIRST_SEED, tune
from magic_pomdp.running.where import cores_at_hand, on_ray
from magic_pomdp.running.workers import JobFailed, poll_jobs, run_jobs

FACTORY = PlannerFactory(budget=Budget(steps=500), overrides={"scenarios": 20, "search_depth": 10})
EPISODES = 12
TOY = Path(__file__).parents[1] / "learning" / "toy.py"


ray = pytest.importorskip("ray", reason="the extra ray is not installed")
from ray.cluster_utils import Cluster  # noqa: E402

from magic_pomdp.running import ray_cluster  # noqa: E402

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster():
    """Three nodes of a core each, of which this process belongs to one."""
    quick = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 300, "health_check_failure_threshold": 3}
    quick["enable_worker_prestart"] = quick["prestart_worker_first_driver"] = False
    shared = {"num_cpus": 1, "object_store_memory": 80 * 2**20}
    lean = {"include_dashboard": False, "include_log_monitor": False, "no_monitor": True}
    cluster = Cluster(True, head_node_args={**shared, **lean, "_system_config": quick})
    for _ in range(2):
        cluster.add_node(**shared)
    ray.init(cluster.address, log_to_driver=False, logging_level="ERROR")
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@pytest.fixture(scope="module")
def workers(cluster):
    """They stay from test to test."""
    with on_ray():
        yield where.present_cluster()


@pytest.fixture
def on_cluster(cluster, workers, monkeypatch):
    """All jobs run there, on three nodes."""
    for _ in range(3 - len(cluster.list_all_nodes())):
        cluster.add_node(num_cpus=1, object_store_memory=80 * 2**20)
    monkeypatch.setattr(where, "_present", workers)
    return cluster


@pytest.fixture
def others_on_cluster(cluster, workers, monkeypatch):
    """Others use it."""
    workers.close()
    monkeypatch.setattr(where, "_present", None)
    return cluster


def kill_a_node(cluster):
    """With SIGKILL, as a machine goes that loses its power: the node's own processes and its workers."""
    here = ray.get_runtime_context().get_node_id()
    node = next(node for node in cluster.list_all_nodes() if node.node_id != here and node is not cluster.head_node)
    processes = [one.process.pid for some in node.all_processes.values() for one in some]
    workers = [int(pid) for one in processes for pid in Path(f"/proc/{one}/task/{one}/children").read_text().split()]
    for process in (*processes, *workers):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    cluster.remove_node(node, allow_graceful=False)


def text(evaluation):
    """The JSON, but for what tells of time."""
    timed = ("plan_seconds_p50", "plan_seconds_p99", "plan_steps_per_second")
    return msgspec.json.encode(msgspec.structs.replace(evaluation, **dict.fromkeys(timed, 0.0)))


@pytest.fixture(scope="module")
def task():
    return make("tiger", max_steps=10)


@pytest.fixture(scope="module")
def undisturbed(task):
    return evaluate(task, FACTORY, EPISODES, seed=5, workers=0)


def test_results_are_those_of_local_workers(task, undisturbed, on_cluster):
    assert cores_at_hand() == 3
    assert text(evaluate(task, FACTORY, EPISODES, seed=5)) == text(undisturbed)


def test_a_node_that_is_killed_costs_no_episode(task, undisturbed, on_cluster):
    met = []

    def kill_once(record):
        met.append(record.result.episode)
        if len(met) == 3:
            kill_a_node(on_cluster)

    assert text(evaluate(task, FACTORY, EPISODES, seed=5, on_progress=kill_once)) == text(undisturbed)
    assert sorted(met) == list(range(EPISODES))


def test_an_interruption_hands_over_what_is_finished(task, undisturbed, on_cluster):
    seen = []

    def interrupt(record):
        seen.append(record)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(EvaluationInterrupted) as caught:
        evaluate(task, FACTORY, EPISODES, seed=5, on_progress=interrupt)
    report = caught.value.evaluation
    assert (report.complete, report.episodes, len(report.records)) == (False, 3, 3)
    assert all(record == undisturbed.records[record.episode] for record in report.records)
    assert text(evaluate(task, FACTORY, EPISODES, seed=5)) == text(undisturbed)  # the cluster is free again


@dataclass
class KillWorker:
    """A job that kills its worker, as often as told; the count is kept in a file."""

    count: str
    job: int
    times: int

    def __call__(self):
        return self.run

    def run(self, job):
        if job == self.job:
            count = Path(self.count)
            done = len(count.read_text()) if count.exists() else 0
            if done < self.times:
                count.write_text("x" * (done + 1))
                os.kill(os.getpid(), signal.SIGKILL)
        return os.getpid()


def test_a_worker_that_dies_is_replaced(tmp_path, on_cluster):
    results = list(run_jobs(KillWorker(str(tmp_path / "count"), 2, 2), range(6), 2))
    assert sorted(job for job, _ in results) == list(range(6))


def test_a_job_that_ends_its_workers_is_given_up(tmp_path, on_cluster):
    with pytest.raises(JobFailed, match=r"^Episode 2 has ended its worker 3 times \(`magic-pomdp check` .*\)\.$"):
        list(run_jobs(KillWorker(str(tmp_path / "count"), 2, 9), range(6), 2, "Episode"))


def test_workers_stay_for_the_next_jobs(tmp_path, on_cluster):
    nobody_dies = KillWorker(str(tmp_path / "count"), -1, 0)
    first = {process for _, process in run_jobs(nobody_dies, range(20), 1)}
    assert {process for _, process in run_jobs(nobody_dies, range(20), 1)} == first


def make_failing():
    def fail(job):
        raise ZeroDivisionError("division by zero")

    return fail


def test_errors_read_as_locally(on_cluster):
    expected = r"^Episode 0 failed with ZeroDivisionError: division by zero \(`magic-pomdp check` .*\)\.$"
    with pytest.raises(JobFailed, match=expected):
        list(run_jobs(make_failing, range(1), 1, "Episode"))


def test_a_machine_with_other_software_is_refused(on_cluster, monkeypatch):
    mine = ray_cluster.software()
    monkeypatch.setattr(ray_cluster, "software", lambda: {**mine, "numba": "0.1"})
    expected = (
        f"^A machine of the cluster has numba {mine['numba']}, and this one 0.1: results might differ, so install"
    )
    with pytest.raises(ValueError, match=expected):
        list(run_jobs(make_failing, range(1), 1))


@dataclass(frozen=True)
class Reading:
    """Reads a file that the caller changes."""

    board: Path

    def __call__(self):
        return lambda job: self.board.read_bytes()


def test_a_file_that_changes_is_sent_with_the_next_job(tmp_path, on_cluster):
    board = tmp_path / "board"
    board.write_bytes(b"0")

    def jobs():
        for number in range(4):
            board.write_bytes(str(number).encode())
            yield number

    with closing(poll_jobs(Reading(board), jobs(), 1, changing=board)) as results:
        assert [(job, int(content)) for job, content in results] == [(number, number) for number in range(4)]


def test_a_node_that_is_killed_costs_no_episode_of_a_training(tmp_path, on_cluster, monkeypatch):
    """Nor is one learned from twice. What was trained can be evaluated there, by its relative name."""
    pytest.importorskip("torch")
    from magic_pomdp.learning import TrainSettings, train
    from magic_pomdp.learning.trainer import Trainer

    monkeypatch.chdir(tmp_path)
    task, learned, learn_from = make(f"{TOY}:Target"), [], Trainer._learn_from

    def note(trainer, job, collected):
        learned.append(job.number)
        if len(learned) == 60:
            kill_a_node(on_cluster)
        learn_from(trainer, job, collected)

    monkeypatch.setattr(Trainer, "_learn_from", note)
    networks = {"particles": 4, "encoder_width": 8, "generator_width": 16, "critic_width": 16}
    settings = TrainSettings(
        minutes=None, updates=100, workers=3, plan_steps=1, warmup=40, batch=16, replay=500,
        evaluation_episodes=5, evaluation_steps=1, **networks,
    )  # fmt: skip
    trained = train(task, settings, Path("run"))
    assert (trained.updates, trained.stopped_by) == (100, "updates")
    assert len(learned) > 60
    assert len(learned) == len(set(learned))
    assert len(set(range(max(learned))) - set(learned)) <= 3  # those that were not finished in the end

    factory = PlannerFactory("magic", Budget(steps=50), {"model": "run/best.safetensors"})
    there = evaluate(task, factory, 4, seed=5)
    monkeypatch.setattr(where, "_present", None)
    assert text(there) == text(evaluate(task, factory, 4, seed=5, workers=0))


def test_trainings_of_an_ablation_run_at_the_same_time(tmp_path, on_cluster, monkeypatch):
    """Each is what it would be alone; and nothing is done twice."""
    pytest.importorskip("torch")
    from magic_pomdp.learning import TrainSettings
    from magic_pomdp.learning.ablation import AblationWatch, ablate

    class Listener(AblationWatch):
        said: ClassVar[list[str]] = []

        def say(self, sentence):
            self.said.append(sentence)

    networks = {"particles": 4, "encoder_width": 8, "generator_width": 16, "critic_width": 16}
    settings = TrainSettings(
        minutes=None, updates=10, workers=0, plan_steps=1, warmup=40, batch=16, replay=500,
        evaluation_episodes=5, evaluation_steps=1, **networks,
    )  # fmt: skip
    asked = {"conditionings": ("belief", "none"), "episodes": 4, "budget": Budget(steps=1)}
    task = make(f"{TOY}:Target")
    there = ablate(task, settings, tmp_path / "there", watch=Listener(), **asked)
    trained = [sentence for sentence in Listener.said if sentence.startswith("Trained ")]
    assert sorted(trained) == [f"Trained target, {name}, set critic, seed 0." for name in ("belief", "none")]
    monkeypatch.setattr(where, "_present", None)
    here = ablate(task, settings, tmp_path / "here", **asked)
    assert [row.return_mean for row in there.rows] == [row.return_mean for row in here.rows]
    assert {path.name for path in (tmp_path / "there/belief_set_seed0").iterdir()} >= {
        "best.safetensors",
        "result.json",
    }


def test_trainings_of_the_tables_run_at_the_same_time(tmp_path, on_cluster):
    pytest.importorskip("torch")
    from magic_pomdp.learning import TrainSettings
    from magic_pomdp.reproducing.doing import Watch, Workshop
    from magic_pomdp.reproducing.plan import LearningCurve, Table, Training

    short = TrainSettings(
        minutes=None, updates=3, plan_steps=1, warmup=10, batch=4, replay=100, particles=4, encoder_width=8,
        generator_width=8, critic_width=8, evaluation_episodes=2, evaluation_steps=1,
    )  # fmt: skip
    trainings = [
        Training(label, "tiger", dataclasses.replace(short, seed=seed)) for seed, label in enumerate(("one", "other"))
    ]
    table = Table("two", "Two trainings", curves=tuple(LearningCurve("tiger", one, ()) for one in trainings))
    said, shop = [], Workshop(tmp_path)
    watch = Watch()
    watch.say = said.append
    found = shop.look([table])
    assert shop.work(found, watch)
    assert sorted(said[:2]) == ["Trained tiger, one.", "Trained tiger, other."]
    assert found.curves.keys() == {"tiger_one", "tiger_other"}
    assert shop.look([table]).todo == []


def test_trials_at_once_share_a_search(tmp_path, task, on_cluster):
    pytest.importorskip("optuna")
    factory = PlannerFactory("pomcpow", Budget(steps=300))
    found = tune(task, factory, tmp_path / "search", trials=5, episodes=3, at_once=3)
    assert len(found.trials) == 5
    best = dataclasses.replace(factory, overrides=found.best)
    assert evaluate(task, best, 3, seed=FIRST_SEED).return_mean == found.trials[0].return_mean
    assert len(tune(task, factory, tmp_path / "search", trials=6, episodes=3).trials) == 6  # it goes on


@pytest.mark.parametrize(
    ("raised", "addresses"),
    [((), [None]), ((ValueError,), [None, None]), ((ValueError, ConnectionError), [None, None, "local"])],
)
def test_a_command_joins_only_what_this_machine_belongs_to(raised, addresses, monkeypatch):
    """Never a cluster that another command has started for itself."""
    waiting, asked = list(raised), []

    def init(address=None, **settings):
        asked.append((address, "num_cpus" in settings))
        if waiting:
            raise waiting.pop(0)

    monkeypatch.setattr(ray, "init", init)
    ray_cluster._connect("auto")
    assert [address for address, _ in asked] == addresses
    assert [alone for _, alone in asked] == [True, False, True][: len(asked)]


def test_a_start_that_takes_too_long_is_one_sentence(monkeypatch):
    def init(*_, **__):
        raise Exception("The current node timed out during startup.\n  Somewhere.")

    monkeypatch.setattr(ray, "init", init)
    with pytest.raises(ValueError, match=r"^Ray cannot be started on this machine: The current node timed out"):
        ray_cluster._connect("auto")


# ---------------------------------------------------------------------------------------------------------- commands


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("127.0.0.1:1", "Nothing answers at 127.0.0.1:1: start a cluster there with `ray start --head`"),
        ("no-such-machine.invalid:6379", "Nothing answers at no-such-machine.invalid:6379"),
        ("ray://127.0.0.1:10001", "The address of a cluster is written HOST:PORT, such as 10.0.0.1:6379, not 'ray://"),
        ("127.0.0.1", "The address of a cluster is written HOST:PORT"),
        ("127.0.0.1:123456", "Nothing answers at 127.0.0.1:123456"),
    ],
)
def test_an_address_where_nothing_runs(run, address, sentence):
    began = time.monotonic()
    code, out, err = run("evaluate", "tiger", "--on", "ray", "--address", address)
    assert (code, out) == (2, "")
    assert err.startswith(f"magic-pomdp: {sentence}")
    assert len(err.splitlines()) == 1
    assert time.monotonic() - began < 10.0


def test_an_address_without_a_cluster(run):
    code, _, err = run("evaluate", "tiger", "--address", "127.0.0.1:6379")
    assert (code, err) == (2, "magic-pomdp: An address is that of a cluster: say --on ray, too.\n")


def command(folder, *arguments, **options):
    environment = {**os.environ, "RAY_ADDRESS": ""}
    return subprocess.Popen(
        [sys.executable, "-m", "magic_pomdp", *map(str, arguments)], cwd=folder, env=environment,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options,
    )  # fmt: skip


def test_a_command_on_a_cluster_saves_what_it_saves_locally(others_on_cluster, tmp_path):
    """With a task of one's own in a file; the nodes do not have that folder."""
    shutil.copy(TOY, tmp_path)
    asked = ("evaluate", "toy.py:Target", "--steps", "200", "--episodes", "6", "--json")
    elsewhere = command(tmp_path, *asked, "ray.json", "--on", "ray", "--address", others_on_cluster.address)
    out, err = elsewhere.communicate(timeout=120)
    assert elsewhere.returncode == 0, err
    assert not [line for line in err.splitlines() if not line.startswith("After 60 s")]  # no word of Ray's
    assert "ray.json" in out
    local = command(tmp_path, *asked, "local.json", "--workers", "0")
    assert local.wait(timeout=120) == 0
    there, here = (read_as(tmp_path / name, Evaluation) for name in ("ray.json", "local.json"))
    assert text(there) == text(here)


def test_a_task_that_cannot_be_imported_on_a_node(others_on_cluster, run, tmp_path):
    marker = "from pathlib import Path\nif not Path('here').exists(): raise ImportError('no sensors here')\n"
    (tmp_path / "only_here.py").write_text(marker + TOY.read_text())
    (tmp_path / "here").touch()
    code, _, err = run("evaluate", "only_here.py:Target", "--steps", "200", "--episodes", "2", "--on", "ray")
    assert code == 2
    assert "cannot be loaded on a machine of the cluster (ImportError: no sensors here): install it there." in err
    assert len(err.splitlines()) == 1


def test_a_cluster_of_another_version(cluster, tmp_path):
    other = "import sys, ray; ray.__version__ = '2.99.0'; from magic_pomdp.cli import main; sys.exit(main())"
    asked = ("evaluate", "tiger", "--on", "ray", "--address", cluster.address)
    finished = subprocess.run(
        [sys.executable, "-c", other, *asked], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert finished.returncode == 2
    sentence = f"magic-pomdp: The cluster at {cluster.address} cannot be used: Version mismatch: "
    assert finished.stderr.startswith(sentence)
    assert len(finished.stderr.splitlines()) == 1
