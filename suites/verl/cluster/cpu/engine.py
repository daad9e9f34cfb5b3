"""verl's FSDP engine on a CPU; imported in its workers through `model.external_lib`."""

from __future__ import annotations

from typing import Any

import torch
from tensordict import TensorDict
from verl.workers.engine import EngineRegistry
from verl.workers.engine.fsdp.transformer_impl import FSDPEngineWithLMHead

torch.set_num_threads(1)  # several ranks share the cores, and sums add in one order


@EngineRegistry.register(model_type="language_model", backend=["fsdp", "fsdp2"], device="cpu")
class CPUEngine(FSDPEngineWithLMHead):  # type: ignore[misc]
    """The same, but for the offloading of a model that is never trained: it pins memory, which takes an accelerator.

    An update also reports the tokens that it was fed on this rank, as `actor/tokens`: the ledger is held against them.
    """

    def train_batch(self, data: TensorDict, loss_function: Any) -> Any:
        """An update."""
        tokens = float(data["input_ids"].offsets()[-1])
        output = super().train_batch(data, loss_function)
        output["metrics"]["tokens"] = [tokens]  # one value a micro-batch, for verl
        return output

    def _build_fsdp_module(self, module: torch.nn.Module) -> Any:
        forward_only = self.engine_config.forward_only
        object.__setattr__(self.engine_config, "forward_only", False)
        try:
            return super()._build_fsdp_module(module)
        finally:
            object.__setattr__(self.engine_config, "forward_only", forward_only)
