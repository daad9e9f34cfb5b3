"""The code as it is now, kept with a sweep: jobs that start next week run what was submitted today."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from bench import provenance
from bench.rundir import write_json
from bench.runner import kept_plugin
from bench.spec import RunSpec, fingerprint


def take(directory: Path, specs: Iterable[RunSpec]) -> Path:
    """Copy the packages to DIR/code/HASH and the runs' strategy files beside them; returns the new import root.

    The copy's name is the hash of its content: the same code is kept once.
    """
    code = directory / "code"
    code.mkdir(exist_ok=True)
    for plugin in {plugin for spec in specs for plugin in spec.plugins}:
        copy = kept_plugin(directory, plugin)
        if not copy.exists():
            part = copy.with_suffix(".part")
            shutil.copyfile(plugin.path, part)
            part.replace(copy)
    part = Path(tempfile.mkdtemp(dir=code))
    for package, source in provenance.folders().items():
        shutil.copytree(source, part / package, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    root = code / fingerprint("code", str(part))[:16]
    if root.exists():
        shutil.rmtree(part)
    else:
        write_json(part / provenance.ORIGIN, provenance.git())
        part.chmod(0o755)
        part.replace(root)
    return root
