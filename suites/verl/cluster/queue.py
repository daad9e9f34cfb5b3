"""A step's rows in verl's transfer queue: read what a method goes by, put there what the actor shall train on.

A rollout's first row is the one that is there already, with a weight added to it: only what a plan takes into several
updates is copied.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import transfer_queue as tq
from tensordict import TensorDict
from transfer_queue import KVBatchMeta

from suites.verl.cluster.rows import (
    FILLER,
    KNOWN_BY,
    TRAINED_ON,
    WEIGHTS,
    Layout,
    Rows,
    fillers,
    fresh,
    nested,
    real,
    token_weights,
)
from suites.verl.cluster.rows import read as read_rows


def read(batch: KVBatchMeta) -> Rows:
    """The rollouts of a batch, verl's padding left out."""
    places = real(batch.tags)
    fields = _get(batch, [batch.keys[place] for place in places], KNOWN_BY)
    return read_rows(batch.keys, batch.tags, fields, places)


def put(batch: KVBatchMeta, known: Rows, layout: Layout, token: int) -> tuple[KVBatchMeta, list[str]]:
    """Put a layout's rows into the queue.

    Args:
        batch: the step's.
        known: its rollouts.
        layout: of the updates.
        token: any valid one, for fillers.

    Returns:
        the rows in order, and the keys among them that were added.
    """
    silent = np.flatnonzero(known.observed.advantages == 0)
    if len(silent):  # exactly 0, as the method saw it
        zeros = nested([torch.zeros(length) for length in known.response_lengths[silent].tolist()])
        _put(batch, [known.keys[row] for row in silent], {"advantages": zeros})
    filled, again = np.flatnonzero(layout.rows == FILLER), np.flatnonzero(layout.repeated)
    once = np.setdiff1d(np.arange(len(layout.rows)), np.concatenate([filled, again]))
    keys = [known.keys[row] if row != FILLER else "" for row in layout.rows]
    added: list[str] = []
    for at in (filled, again):
        if len(at):
            sources = known.keys[:1] if at is filled else [keys[number] for number in at]
            fields = _get(batch, sources, TRAINED_ON)
            fields = fillers(len(at), fields, token) if at is filled else fields
            new = fresh(len(at))
            _put(batch, new, {name: fields[name] for name in fields.keys()} | _weights(known, layout, at))  # noqa: SIM118
            for number, key in zip(at, new, strict=True):
                keys[number] = key
            added += new
    if len(once):
        _put(batch, [keys[number] for number in once], _weights(known, layout, once))
    tags = [batch.tags[known.places[row]] if row != FILLER else {} for row in layout.rows]
    return KVBatchMeta(keys=keys, tags=tags, partition_id=batch.partition_id, fields=list(TRAINED_ON)), added


def clear(batch: KVBatchMeta, keys: list[str]) -> None:
    """Remove rows that `put` added."""
    if keys:
        tq.kv_clear(keys=keys, partition_id=batch.partition_id)


def _weights(known: Rows, layout: Layout, at: np.ndarray[Any, np.dtype[np.int64]]) -> dict[str, Any]:
    return {WEIGHTS: token_weights(known, layout, at)}


def _get(batch: KVBatchMeta, keys: list[str], fields: tuple[str, ...]) -> TensorDict:
    """Those of the fields that all of these rows have."""
    return tq.kv_batch_get(keys=keys, partition_id=batch.partition_id, select_fields=list(fields))


def _put(batch: KVBatchMeta, keys: list[str], fields: dict[str, Any]) -> None:
    tq.kv_batch_put(keys=keys, partition_id=batch.partition_id, fields=TensorDict(fields, batch_size=[len(keys)]))
