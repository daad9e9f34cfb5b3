"""The tasks `replay/<name>`."""

import numpy as np
import pytest
from replay_records import rollout

from strategies import WrongUse, parse
from suites.replay.synthetic_log import rollouts, text
from suites.replay.task import SHIPPED
from suites.task import Request, infos, make, seeds


def points(task, spec, workdir, seed=0):
    method = parse(spec)
    task.check(method)
    return list(task.run(Request(method, *seeds(task.name, method, seed), None, workdir)))


def test_the_shipped_log_is_what_its_generator_writes():
    """python -m suites.replay.synthetic_log > suites/replay/data/synthetic.jsonl"""
    assert SHIPPED.read_bytes() == text().encode()
    assert SHIPPED.stat().st_size < 200_000


def test_the_synthetic_log_varies_in_cost_and_outcome():
    log = list(rollouts())
    lengths = np.array([len(record["output"]) for record in log])
    assert np.quantile(lengths, 0.9) > 10 * np.quantile(lengths, 0.1)
    assert 0.5 < np.mean([record["score"] for record in log]) < 0.95


def test_a_run_is_one_point_with_all_quantities(tmp_path):
    task = make("replay/synthetic")
    assert list(task.metrics) == ["tokens_share"]
    (point,) = points(task, "pstar", tmp_path)
    assert (point.phase, point.metric, point.step) == ("eval", "tokens_share", 4)
    assert point.value == point.diagnostics["tokens_share"]
    assert point.ledger.backward == pytest.approx(point.value * point.ledger.generated)
    assert point.ledger.backward_drawn == pytest.approx(
        point.diagnostics["tokens_share_drawn"] * point.ledger.generated
    )
    assert point.ledger.draws == 512
    assert {"relative_variance", "saving", "j_ratio", "iid_gain", "chi2", "lost_mass", "ess_share"} <= set(
        point.diagnostics
    )


def test_a_run_done_again_is_equal_also_for_a_randomized_strategy(tmp_path):
    first, again = (points(make("replay/synthetic"), "noisy", tmp_path) for _ in range(2))
    assert first == again


def test_any_name_takes_a_log_of_its_own(write, tmp_path):
    path = write("mine.jsonl", [{"q": "2+2=", "a": "4" * k, "mark": k % 2} for k in range(1, 9)])
    settings = {"rollouts": str(path), "columns": "prompt=q,response=a,reward=mark", "updates": "2", "minibatch": 3}
    (point,) = points(make("replay/mine", settings), "nonzero", tmp_path)
    assert point.value == 1.0


@pytest.mark.parametrize(
    ("name", "settings", "why"),
    [
        ("replay/mine", {}, "which log? set rollouts=FILE"),
        ("replay/mine", {"rollouts": "nosuch.jsonl"}, "no such file"),
        ("replay/synthetic", {"update": 4}, "did you mean 'updates'"),
        ("replay/synthetic", {"updates": 0}, "updates=0"),
        ("replay/synthetic", {"baseline": "pstr"}, "did you mean 'pstar'"),
        ("replay/synthetic", {"columns": "promt=q"}, "did you mean 'prompt'"),
    ],
)
def test_what_can_not_run_is_refused_before_it_starts(name, settings, why):
    with pytest.raises(WrongUse) as error:
        make(name, settings)
    assert why in str(error.value)


def test_a_method_that_reads_what_the_log_lacks_is_refused_before_it_starts(write):
    with pytest.raises(WrongUse, match="needs the feature surprise, which the log lacks"):
        make("replay/synthetic").check(parse("pps:proxy=surprise"))
    path = write("log.jsonl", [rollout(k, surprise=0.5) for k in range(2)])
    make("replay/mine", {"rollouts": str(path)}).check(parse("pps:proxy=surprise"))


def test_the_task_is_listed():
    assert "replay/synthetic" in [info.name for info in infos()]
