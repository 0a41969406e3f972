"""What a search for a planner's settings has found."""

import msgspec

from magic_pomdp.results.base import Amount, Name


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """Settings that were tried, and what they returned."""

    settings: dict[str, int | float]
    return_mean: float
    return_stderr: Amount


class Tuning(msgspec.Struct, frozen=True, kw_only=True):
    """What a search for settings has found so far."""

    task: Name
    planner: Name
    """The planner's name."""
    trials: tuple[Trial, ...]
    """The best first."""

    @property
    def best(self) -> dict[str, int | float]:
        """The settings with the best mean return."""
        return self.trials[0].settings

    def options(self) -> str:
        """The best settings as options of the command line."""
        values = {name: f"{value:.4g}" if isinstance(value, float) else value for name, value in self.best.items()}
        return " ".join(f"--{name.replace('_', '-')} {value}" for name, value in values.items())
