"""Which column of a log means what.

Names are found by themselves where they are common (`ALIASES`), else given: `--columns prompt=question,reward=acc`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from strategies import proxies, registry
from strategies.errors import WrongUse, unknown

ALIASES: Mapping[str, tuple[str, ...]] = {
    "prompt": ("input", "prompt", "question", "problem", "query", "instruction"),
    "response": ("output", "response", "completion", "generation"),
    "reward": ("score", "reward", "correct", "is_correct", "acc"),
    "group": ("uid", "group", "group_id", "prompt_id"),
    "step": ("step", "global_step"),
    "prompt_tokens": ("prompt_tokens", "input_tokens"),
    "response_tokens": ("response_tokens", "completion_tokens", "output_tokens"),
    "logprobs": ("logprobs", "log_probs", "old_log_probs", "rollout_log_probs"),
}
UID = "uid"  # verl's: <id of the prompt>_<rollout>_<turn>
TEXTS, COUNTS = ("prompt", "response"), ("prompt_tokens", "response_tokens")
MADE = ("advantage", "length", "reward")  # features that every log gives


def features() -> set[str]:
    """The features that some proxy or registered strategy reads and a log may carry as a column."""
    needs = {need for proxy in proxies.entries() for need in proxy.needs}
    needs |= {need for entry in registry.entries() for need in entry.cls.needs}
    return needs - set(MADE)


def parse(text: str) -> dict[str, str]:
    """`prompt=question,reward=acc` -> {"prompt": "question", "reward": "acc"}.

    Raises:
        WrongUse: not written so, an unknown key (the nearest match is named), a key given twice.
    """
    known = {*ALIASES, *features()}
    given: dict[str, str] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        key, equals, name = (part.strip() for part in item.partition("="))
        if not equals or not key or not name:
            raise WrongUse(f"--columns {text}: {item!r} is not key=NAME")
        if key not in known:
            raise unknown("key of --columns", key, known)
        if key in given:
            raise WrongUse(f"--columns {text}: {key} is given twice")
        given[key] = name
    return given


@dataclass(frozen=True)
class Columns:
    """The columns of one file that are read.

    `roles`: role -> column, of those in ALIASES. `features`: feature -> column. `cut_uid`: the group is the uid up to
    its first underscore (a column given by --columns group= is taken as it is).
    """

    roles: Mapping[str, str]
    features: Mapping[str, str]
    cut_uid: bool

    @property
    def counted(self) -> bool:
        """Whether costs come from the log's own token counts."""
        return COUNTS[0] in self.roles

    @property
    def used(self) -> list[str]:
        """The names of the columns, each once."""
        return list(dict.fromkeys([*self.roles.values(), *self.features.values()]))


def find(names: Sequence[str], given: Mapping[str, str], tokenize: bool = False) -> Columns:
    """The columns to read of a file that has `names`.

    Texts are left out where nothing needs them: where the log counted the tokens and names the groups.

    Args:
        names: the columns the file has.
        given: role or feature -> column, from --columns.
        tokenize: tokens are counted from the texts, whatever the log counted.

    Raises:
        WrongUse: a column that is needed or given is not there; says what the file has and how to name it.
    """
    has = f"it has {', '.join(names) or 'none'}"
    for role, column in given.items():
        if column not in names:
            raise WrongUse(f"no column {column!r} (--columns {role}={column}): {has}")
    common = {role: next((alias for alias in aliases if alias in names), None) for role, aliases in ALIASES.items()}
    roles = {role: column for role, column in {**common, **given}.items() if role in ALIASES and column is not None}
    counted = not tokenize and all(role in roles for role in COUNTS)
    if not (counted or tokenize) and any(role in given for role in COUNTS):
        raise WrongUse("token counts come in pairs: --columns prompt_tokens=NAME,response_tokens=NAME")
    unread = {"response", *(["prompt"] if "group" in roles else [])} if counted else set(COUNTS)
    needed = ({"reward", *TEXTS} if not counted else {"reward", "prompt"}) - unread
    if missing := sorted(needed - set(roles)):
        say = ",".join(f"{role}=NAME" for role in missing)
        raise WrongUse(f"no column for the {' and the '.join(missing)}: {has}; say which with --columns {say}")
    return Columns(
        roles={role: column for role, column in roles.items() if role not in unread},
        features={name: given.get(name, name) for name in sorted(features()) if name in given or name in names},
        cut_uid="group" not in given and roles.get("group") == UID,
    )
