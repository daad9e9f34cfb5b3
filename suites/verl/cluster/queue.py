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
    filler,
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
    drawn = layout.rows[layout.rows != FILLER]
    silent = np.intersect1d(np.flatnonzero(known.observed.advantages == 0), drawn)
    if len(silent):  # exactly 0, as the method saw it
        zeros = nested([torch.zeros(length) for length in known.response_lengths[silent].tolist()])
        _put(batch, [known.keys[row] for row in silent], {"advantages": zeros})
    again, filled = np.flatnonzero(layout.repeated), np.flatnonzero(layout.rows == FILLER)
    more = np.concatenate([again, filled])
    once = np.setdiff1d(np.arange(len(layout.rows)), more)
    keys = np.array([known.keys[row] if row != FILLER else "" for row in layout.rows], dtype=object)
    added = fresh(len(more))
    if added:
        like = known.keys[:1] if len(filled) else []  # its fields are the fillers'
        copied = _get(batch, [*keys[again], *like], TRAINED_ON)
        blank = filler(copied.keys(), token)
        fields = {name: nested([*copied[name].unbind()[: len(again)], *[blank[name]] * len(filled)]) for name in blank}
        _put(batch, added, fields | _weights(known, layout, more))
        keys[more] = added
    if len(once):
        _put(batch, list(keys[once]), _weights(known, layout, once))
    tags = [batch.tags[known.places[row]] if row != FILLER else {} for row in layout.rows]
    taken = KVBatchMeta(keys=list(keys), tags=tags, partition_id=batch.partition_id, fields=list(TRAINED_ON))
    return taken, added


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
