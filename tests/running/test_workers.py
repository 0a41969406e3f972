import itertools
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing
from dataclasses import dataclass
from multiprocessing import forkserver
from pathlib import Path

import pytest

from magic_pomdp.core.extras import install_command
from magic_pomdp.running import where
from magic_pomdp.running.workers import JobFailed, run_jobs, start_server


def make_square():
    return lambda job: job * job


@dataclass
class KillWorker:
    """A job that kills its worker, as often as told; the count is kept in a file."""

    count: Path
    job: int
    times: int

    def __call__(self):
        return self.run

    def run(self, job):
        if job == self.job:
            done = len(self.count.read_text()) if self.count.exists() else 0
            if done < self.times:
                self.count.write_text("x" * (done + 1))
                os.kill(os.getpid(), signal.SIGKILL)
        return job


def make_a_crash():
    os.kill(os.getpid(), signal.SIGSEGV)


def test_a_crash_before_the_first_job_is_not_blamed_on_the_script():
    expected = r"^Nothing could start: 3 worker processes .*\(SIGSEGV; `magic-pomdp check` .* `--debug` .*\)\.$"
    with pytest.raises(JobFailed, match=expected):
        list(run_jobs(make_a_crash, range(3), 1))


def make_failing():
    def fail(job):
        if job == 2:
            raise ZeroDivisionError("division by zero")
        return job

    return fail


def make_nothing():
    raise LookupError("no such thing")


def make_unpicklable_result():
    return lambda job: lambda: job


@pytest.mark.parametrize("workers", [0, 1, 2, 5])
def test_every_job_is_done_once(workers):
    results = list(run_jobs(make_square, range(9), workers))
    assert sorted(results) == [(job, job * job) for job in range(9)]
    assert not multiprocessing.active_children()


def test_no_jobs_no_results():
    assert list(run_jobs(make_square, [], 2)) == []


def test_jobs_may_go_on_for_ever():
    with closing(run_jobs(make_square, itertools.count(), 2)) as results:
        assert len([next(results) for _ in range(20)]) == 20
    assert not multiprocessing.active_children()


def test_a_killed_worker_costs_no_job(tmp_path):
    results = list(run_jobs(KillWorker(tmp_path / "count", job=3, times=2), range(6), 2))
    assert sorted(results) == [(job, job) for job in range(6)]
    assert (tmp_path / "count").read_text() == "xx"


def test_a_job_that_kills_every_worker_is_given_up(tmp_path):
    with pytest.raises(JobFailed, match=r"^Episode 3 has ended its worker process 3 times \(SIGKILL; .*\.$"):
        list(run_jobs(KillWorker(tmp_path / "count", job=3, times=9), range(6), 2, "Episode"))
    assert not multiprocessing.active_children()


def test_an_exception_arrives_as_a_sentence():
    expected = r"^Episode 2 failed with ZeroDivisionError: division by zero \(.*--workers 0.*NUMBA_DISABLE_JIT=1\)\.$"
    with pytest.raises(JobFailed, match=expected):
        list(run_jobs(make_failing, range(9), 2, "Episode"))
    assert not multiprocessing.active_children()


def test_in_process_the_exception_itself_is_kept():
    with pytest.raises(JobFailed, match="Episode 2 failed") as caught:
        list(run_jobs(make_failing, range(9), 0, "Episode"))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_what_cannot_start_or_be_sent_is_said():
    with pytest.raises(JobFailed, match="Nothing could start because of LookupError: no such thing"):
        list(run_jobs(make_nothing, range(3), 2))
    with pytest.raises(JobFailed, match="Nothing could start because of LookupError: no such thing"):
        list(run_jobs(make_nothing, range(3), 0))
    with pytest.raises(JobFailed, match=r"Job 0 failed with .*pickle"):
        list(run_jobs(make_unpicklable_result, range(1), 1))
    with pytest.raises(ValueError, match="cannot be sent to worker processes"):
        run_jobs(lambda: None, range(3), 2)
    with pytest.raises(ValueError, match="at least 0, not -1"):
        run_jobs(make_square, range(3), -1)


PARENT = """
import multiprocessing, time
from magic_pomdp.running.workers import run_jobs

def make_sleeper():
    return lambda job: time.sleep(600 if job > 1 else 0)

if __name__ == "__main__":
    results = run_jobs(make_sleeper, range(9), 2)
    next(results), next(results)
    print(*[child.pid for child in multiprocessing.active_children()], flush=True)
    next(results)
"""


def test_workers_end_when_their_parent_is_killed(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        workers = [int(pid) for pid in parent.stdout.readline().split()]
        assert len(workers) == 2
        parent.kill()
    deadline = time.monotonic() + 60.0
    while any(is_running(pid) for pid in workers):
        assert time.monotonic() < deadline, "the workers have outlived their parent"
        time.sleep(0.02)


def test_a_script_without_main_guard_is_told_so(tmp_path):
    script = tmp_path / "unguarded.py"
    script.write_text(PARENT.replace('if __name__ == "__main__":', "if True:"))
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert run.returncode == 1
    assert run.stderr.strip().endswith('must do so under `if __name__ == "__main__":`.')


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif("forkserver" not in multiprocessing.get_all_start_methods(), reason="there is no server")
def test_the_death_of_the_process_that_starts_workers_costs_no_job():
    """It is stopped, so that it dies when it has been asked for a worker and has not answered."""
    start_server()
    server = forkserver._forkserver._forkserver_pid
    os.kill(server, signal.SIGSTOP)
    death = threading.Timer(0.5, os.kill, (server, signal.SIGKILL))
    death.start()
    results = list(run_jobs(make_square, range(4), 2))
    death.join()
    assert sorted(results) == [(job, job * job) for job in range(4)]


def test_too_long_a_path_of_temporary_files_is_told_with_what_to_do(monkeypatch, tmp_path):
    folder = tmp_path / ("x" * 100)
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setitem(multiprocessing.current_process()._config, "tempdir", str(folder))
    monkeypatch.setattr(forkserver, "ensure_running", forkserver.ForkServer().ensure_running)
    with pytest.raises(ValueError, match=rf"too long a path for worker processes: {folder}\. Set TMPDIR to a folder"):
        start_server()


MASKED = """
import signal
from magic_pomdp.running.workers import start_process

def tell(connection):
    connection.send(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))

if __name__ == "__main__":
    process, answers = start_process(tell)
    print(answers.recv(), signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))
"""


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="the system cannot hold signals back")
def test_the_first_worker_too_leaves_interrupts_to_its_parent(tmp_path):
    """Even before it has come to say so itself."""
    script = tmp_path / "masked.py"
    script.write_text(MASKED)
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert (run.stdout, run.stderr) == ("True False\n", "")


def test_without_ray_there_is_a_sentence(run, monkeypatch):
    monkeypatch.setattr(where, "find_spec", lambda name: None)
    code, _, err = run("evaluate", "tiger", "--on", "ray")
    assert (code, err) == (2, f"magic-pomdp: A cluster needs ray: {install_command('ray')}.\n")
