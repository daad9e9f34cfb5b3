"""verl's replay buffer, with an account of what it throws away and an end to trying."""

from __future__ import annotations

from typing import Any

from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer

from suites.verl.rollouts import NoSignal

POLL_S = 0.05  # verl looks for finished rollouts every 2 s, which steps of a second would wait for


class CountingReplayBuffer(ReplayBuffer):  # type: ignore[misc]
    """Counts the response tokens of dropped training groups, and gives up on a batch that never fills.

    dropped: tokens since `settle` was called. limit: groups that a step may drop; 0 is no limit.
    """

    dropped = 0
    groups = 0
    limit = 0

    def settle(self) -> int:
        """The tokens dropped so far; the count starts anew."""
        found, self.dropped, self.groups = self.dropped, 0, 0
        return found

    def _clear_groups(self, partition_id: str, uids: set[str]) -> None:
        if partition_id == "train":
            rows = self.partitions[partition_id].items()
            self.dropped += sum(tag["response_len"] for key, tag in rows if key.split("_")[0] in uids)
            self.groups += len(uids)
            if self.limit and self.groups > self.limit:
                raise NoSignal(
                    f"{self.groups} prompts in one step gave groups with equal scores, the limit is {self.limit}; "
                    f"train without +zvf, or on other prompts"
                )
        super()._clear_groups(partition_id, uids)


def counting(buffer: Any, limit: int) -> None:
    """Turn the buffer that verl has built, whatever its settings, into a counting one."""
    buffer.__class__ = CountingReplayBuffer
    buffer.poll_interval, buffer.limit = POLL_S, limit
