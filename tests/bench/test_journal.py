"""jobs.jsonl, plans and what Slurm's programs print, without a Slurm."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import journal, plans, scheduler, slurm
from bench.journal import Attempt
from bench.resources import Resources
from bench.spec import RunSpec
from strategies import WrongUse

FIRST = Attempt("r", "s", 0, "54_0", 1, time=1.0, mem_gb=2.0, timeout_min=3.0)


def test_journal_keeps_attempts_and_their_ends(tmp_path: Path) -> None:
    assert journal.read(tmp_path) == {}
    journal.submitted(tmp_path, [FIRST])
    ended = Attempt(**{**FIRST.__dict__, "fault": "killed", "why": "x", "ended": 2.0})
    journal.ended(tmp_path, [ended])
    assert journal.read(tmp_path) == {"r": [ended]}
    assert journal.retries([ended]) == 1


def test_half_written_line_goes_with_the_next(tmp_path: Path) -> None:
    journal.submitted(tmp_path, [FIRST])
    with (tmp_path / journal.NAME).open("a") as file:
        file.write('{"run": "q", "att')
    assert journal.read(tmp_path) == {"r": [FIRST]}
    second = Attempt("r", "t", 0, "55_0", 2, time=2.0)
    journal.submitted(tmp_path, [second])
    assert journal.read(tmp_path) == {"r": [FIRST, second]}


def specs(number: int) -> list[RunSpec]:
    return [RunSpec("a/x", "pstar", seed) for seed in range(number)]


def test_array_per_resources_packed_and_cut(tmp_path: Path) -> None:
    small, large = Resources(pack=3, timeout_min=10), Resources(gpus=8)
    runs = [(spec, small) for spec in specs(20)] + [(spec, large) for spec in specs(2)]
    found = plans.arrays(tmp_path, runs, tmp_path, longest=4)
    assert [[len(pack) for pack in plan.packs] for plan in found] == [[3, 3, 3, 3], [3, 3, 2], [1, 1]]
    assert [run for plan in found for pack in plan.packs for run in pack] == [spec.run_id for spec, _ in runs]
    assert len({plan.name for plan in found}) == 3
    assert found[0].job_min == 3 * 10 + 4
    assert found[2].job_min is None


def test_plan_survives_its_file_and_a_move(tmp_path: Path) -> None:
    resources = Resources(timeout_min=1.5, setup=["module load cuda"], sbatch={"constraint": "h100"})
    (plan,) = plans.arrays(tmp_path / "old", [(specs(1)[0], resources)], tmp_path, longest=4)
    plan.write()
    assert plans.read(plan.file) == plan
    assert list(plans.unrecorded(plan.directory, {plan.name})) == []
    assert list(plans.unrecorded(plan.directory, set())) == [plan]
    plan.withdraw()
    assert list(plans.unrecorded(plan.directory, set())) == []
    (tmp_path / "old").rename(tmp_path / "new")
    assert plans.read(tmp_path / "new" / "jobs" / plan.name / "plan.json").directory == tmp_path / "new"


def test_script_asks_for_what_the_resources_say(tmp_path: Path) -> None:
    resources = Resources(
        timeout_min=60, partition="gpu", account="lab", qos="high", gpus=8, cpus=16, mem_gb=0.5, nodes=2,
        setup=["module load cuda"], sbatch={"constraint": "h100", "exclusive": True},
    )  # fmt: skip
    (plan,) = plans.arrays(tmp_path, [(specs(1)[0], resources)], tmp_path, longest=4, parallel=7)
    text = slurm.script(plan)
    for option in (
        "array=0-0%1", "time=64", "partition=gpu", "account=lab", "qos=high", "gpus-per-node=8", "cpus-per-task=16",
        "mem=512M", "nodes=2", "ntasks-per-node=1", "constraint=h100", "requeue", "signal=USR2@60",
        f"chdir={tmp_path}", f"job-name={plan.name}",
    ):  # fmt: skip
        assert f"#SBATCH --{option}\n" in text
    assert "#SBATCH --exclusive\n" in text
    assert "\nmodule load cuda\n" in text
    assert "wckey" not in text
    line = next(line for line in text.splitlines() if line.startswith("srun"))
    assert "--nodes=1 --ntasks=1 --cpus-per-task=16" in line
    assert line.endswith(f"-m bench.worker {plan.file}")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("0", 0),
        ("18944", 74),
        ("35072", 137),
        ("9", 137),
        ("74:0", 74),
        ("0:9", 137),
        ("137:0", 137),
        ("9:0", 137),
        ("1:0", 1),
    ],
)
def test_exit_codes_of_squeue_and_sacct(text: str, code: int) -> None:
    assert scheduler._exit_code(text) == code


@pytest.mark.parametrize(("text", "indices"), [("3", [3]), ("[4-6,9%2]", [4, 5, 6, 9]), ("", []), ("[7]", [7])])
def test_indices_of_sacct(text: str, indices: list[int]) -> None:
    assert list(scheduler._indices(text)) == indices


def test_environment_leaves_the_surrounding_job_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_CONF", "/etc/x")
    monkeypatch.setenv("SBATCH_ACCOUNT", "lab")
    for leak in ("SLURM_JOB_ID", "SLURM_ARRAY_TASK_ID", "SRUN_CPUS_PER_TASK", "SLURMD_NODENAME", "MASTER_PORT"):
        monkeypatch.setenv(leak, "1")
    found = scheduler.environment()
    assert {key for key in found if key.startswith(("SLURM", "SRUN", "MASTER"))} == {"SLURM_CONF"}
    assert found["SBATCH_ACCOUNT"] == "lab"


def test_no_scheduler_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert scheduler.look([], 0.0) == {}
    with pytest.raises(scheduler.NoAnswer, match="squeue is not on this machine's PATH"):
        scheduler.look([("s", 0)], 0.0)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("gpus=8", "mem_gb=1.5"), Resources(gpus=8, mem_gb=1.5)),
        (
            ("sbatch.constraint=h100", "sbatch.exclusive=true"),
            Resources(sbatch={"constraint": "h100", "exclusive": True}),
        ),
        (("setup=module load a", "setup=module load b"), Resources(setup=["module load a", "module load b"])),
        (("partition=gpu", "timeout_min=30"), Resources(partition="gpu", timeout_min=30)),
    ],
)
def test_resources_by_words(words: tuple[str, ...], expected: Resources) -> None:
    found = Resources().overridden(words)
    assert {**found.__dict__, "setup": list(found.setup)} == {**expected.__dict__, "setup": list(expected.setup)}


@pytest.mark.parametrize(
    ("word", "says"),
    [("gpu=8", "did you mean 'gpus'"), ("gpus", "write key=value"), ("gpus=many", "not of type"), ("pack=0", "pack=0")],
)
def test_bad_resources_are_refused(word: str, says: str) -> None:
    with pytest.raises(WrongUse, match=says):
        Resources().overridden([word])
