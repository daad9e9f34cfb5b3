"""Packs: what goes in comes out, nothing that names a machine, and other files are refused with a reason."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from bench import packs, records
from bench.rundir import RunDir, Status
from bench.spec import RunSpec
from strategies import WrongUse
from strategies.registry import Plugin


def pack(
    tmp_path: Path, spec: RunSpec, status: Status | None = None, trials: pd.DataFrame | None = None
) -> records.Records:
    """One run in a directory, packed and read back."""
    run = RunDir(tmp_path / "runs" / spec.run_id)
    run.prepare(spec)
    run.points_file.write_text(
        json.dumps({"step": 0, "metric": "acc", "value": None, "diagnostics": {"a": None}}) + "\n"
    )
    if status:
        run.write_status(status)
    records.load([run.path]).to_pack(tmp_path / "x.zip", {} if trials is None else {spec.run_id: trials})
    return records.load([tmp_path / "x.zip"])


@given(arrays.arrays(np.float64, 20, elements=st.one_of(st.just(np.nan), st.just(0.0), st.floats(1e-3, 1e12))))
def test_costs_are_kept_to_half_a_per_cent(cost: np.ndarray) -> None:
    again = packs._decode(packs._encode(cost))
    assert np.array_equal(np.isnan(again), np.isnan(cost))
    assert np.array_equal(again == 0, cost == 0)
    assert np.allclose(again, cost, rtol=0.00502, atol=0, equal_nan=True)


def test_trials_come_out_as_they_went_in(tmp_path: Path) -> None:
    table = pd.DataFrame({"metric": "e", "level": [0.1, 0.1, 0.2], "trial": [0, 1, 0]})
    table = table.assign(cost=[5.0, np.nan, 0.0], iterations=[2.5, np.nan, 0.0])
    spec = RunSpec("synthetic/x", "pstar")
    found = pack(tmp_path, spec, trials=table).trials(spec.run_id)
    assert found is not None
    assert (
        found[["metric", "trial", "level"]]
        .astype(table.dtypes[["metric", "trial", "level"]].to_dict())
        .equals(table[["metric", "trial", "level"]])
    )
    for name in ("cost", "iterations"):
        np.testing.assert_allclose(found[name], table[name], rtol=0.011)


def test_files_go_by_their_names_and_the_run_is_still_the_same(tmp_path: Path) -> None:
    spec = RunSpec(
        *("replay/log", "mine"),
        settings={"rollouts": "/secret/place/log.jsonl", "updates": 4},
        plugins=(Plugin("/secret/place/mine.py", "abc"),),
        files={"rollouts": "123"},
    )
    found = pack(tmp_path, spec, Status("ok", host="secret", git={"commit": "c0ffee", "root": "/secret"}))
    with zipfile.ZipFile(tmp_path / "x.zip") as archive:
        assert b"secret" not in archive.read("pack.json")
    assert list(found.runs["run"]) == [spec.run_id] == [found.sources[spec.run_id][0].run_id]
    assert "--plugin mine.py" in found.runs["command"].iloc[0]


def test_points_keep_what_has_no_value(tmp_path: Path) -> None:
    found = pack(tmp_path, RunSpec("verl/grpo", "pstar"))
    assert found.runs["state"].tolist() == ["missing"]
    assert found.points["diagnostics"].iloc[0] == {"a": None}
    assert found.points[["value", "sd", "n", "backward"]].isna().all(axis=None)


def test_a_pack_of_another_format_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "new.zip", "w") as archive:
        archive.writestr("pack.json", json.dumps({"format": 2}))
    with pytest.raises(WrongUse, match="a pack of format 2, this version reads 1"):
        records.load([tmp_path / "new.zip"])


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    spec = RunSpec("verl/grpo", "pstar")
    found = pack(tmp_path, spec)
    with pytest.raises(WrongUse, match=r"absent/x\.zip: can't be written"):
        found.to_pack(tmp_path / "absent" / "x.zip", {})
