"""Settings of the synthetic tasks."""

from __future__ import annotations

from dataclasses import dataclass

from strategies.errors import WrongUse

DTYPES = ("float64", "float32")
DEVICES = ("auto", "cpu", "cuda")


@dataclass(frozen=True)
class Settings:
    """Sizes and numerics of one task.

    Args:
        n: number of components N.
        dim: dimension d of the iterate.
        trials: independent runs in the same world, the replicates.
        dtype: precision of the iterates; averages, costs and measurements are float64 in any case.
        device: `auto` takes a GPU where there is one.

    Raises:
        WrongUse: a size below 1, n < 2 dim (the optimum would not be determined well), unknown dtype or device.
    """

    n: int = 3000
    dim: int = 50
    trials: int = 1000
    dtype: str = "float64"
    device: str = "auto"

    def __post_init__(self) -> None:
        for name in ("n", "dim", "trials"):
            if getattr(self, name) < 1:
                raise WrongUse(f"{name}={getattr(self, name)}: synthetic tasks need at least 1")
        if self.n < 2 * self.dim:
            raise WrongUse(f"n={self.n},dim={self.dim}: synthetic tasks need n >= 2 dim to determine the optimum")
        for name, known in (("dtype", DTYPES), ("device", DEVICES)):
            if getattr(self, name) not in known:
                raise WrongUse(f"{name}={getattr(self, name)}: synthetic tasks know {', '.join(known)}")
