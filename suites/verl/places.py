"""Where things that many runs share lie on a machine. Light to import."""

from __future__ import annotations

import os
from pathlib import Path


def cache_dir() -> Path:
    """$COSTAWARE_CACHE, else `costaware` in the user's cache directory."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("COSTAWARE_CACHE") or base / "costaware")


def data_dir() -> Path:
    """$COSTAWARE_DATA, else `data` in the cache: the data sets of the cluster engine, NAME.parquet each."""
    return Path(os.environ.get("COSTAWARE_DATA") or cache_dir() / "data")
