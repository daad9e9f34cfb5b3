"""Logs larger than memory: what is kept of a rollout are a few numbers."""

import base64
import itertools
import json
import subprocess
import sys

import numpy as np
import pytest

ROLLOUTS = 5_000
READ = """
import sys
import pyarrow.parquet
from suites.replay.log import read

def peak():  # kB; getrusage would count the process that started this one
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))

before = peak()
log = read([sys.argv[1]])
print(len(log.steps[0].pool), peak() - before)
"""
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")


def records(characters):
    """Rollouts with responses that do not compress."""
    rng = np.random.default_rng(0)
    for k in range(ROLLOUTS):
        output = base64.b64encode(rng.bytes(characters * 3 // 4)).decode()
        yield {"input": f"prompt {k // 8}", "output": output, "score": k % 2}


def write_lines(path, characters):
    with path.open("w") as file:
        file.writelines(json.dumps(record) + "\n" for record in records(characters))


def write_array(path, characters):
    with path.open("w") as file:
        file.write("[")
        file.writelines(f"{',' if k else ''}{json.dumps(record)}" for k, record in enumerate(records(characters)))
        file.write("]")


def write_parquet(path, characters):
    import pyarrow
    from pyarrow import parquet

    schema = pyarrow.schema([("input", pyarrow.string()), ("output", pyarrow.string()), ("score", pyarrow.int64())])
    with parquet.ParquetWriter(path, schema) as file:
        for part in batched(records(characters), 500):
            file.write_table(pyarrow.Table.from_pylist(part, schema))


def batched(values, size):
    values = iter(values)
    while part := list(itertools.islice(values, size)):
        yield part


@pytest.mark.parametrize(
    ("write", "name", "megabytes", "limit"),
    [
        (write_lines, "log.jsonl", 100, 25),
        (write_array, "log.json", 100, 25),
        (write_parquet, "log.parquet", 160, 100),  # the decoder's buffers: 75 MB, of larger files as well
    ],
)
def test_peak_memory_stays_far_below_the_size_of_the_file(tmp_path, write, name, megabytes, limit):
    path = tmp_path / name
    write(path, megabytes * 1_000_000 // ROLLOUTS)
    assert path.stat().st_size > megabytes * 1_000_000
    done = subprocess.run([sys.executable, "-c", READ, path], capture_output=True, text=True, check=True)
    path.unlink()
    rollouts, kilobytes = map(int, done.stdout.split())
    assert rollouts == ROLLOUTS
    assert kilobytes < limit * 1_000, f"reading {megabytes} MB took {kilobytes} kB"
