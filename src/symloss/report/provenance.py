"""How a run was made, as far as its result files say: settings, versions, device and time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from symloss.paper.results import Result, result_path


def provenance(folder: Path, results: Sequence[Result]) -> dict[str, list[str]]:
    """Return how a run was made: for each title, all different values that its results have.

    Examples
    --------
    >>> import tempfile
    >>> from symloss.paper.results import write_result
    >>> result = Result(family="my", dataset="own", pi=1, pi_prime=0, trials=2, scores={"auc": {"sigmoid": [90, 91]}})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_result(Path(folder), result)
    ...     made = provenance(Path(folder), [result])
    >>> made["trials"], made["computing time"]
    (['2'], ['not recorded'])
    """
    seconds = sum(result.seconds for result in results)
    packages = dict.fromkeys(name for result in results for name in result.versions)
    made = {
        "protocol": _distinct(result.protocol for result in results),
        "trials": _distinct(result.trials for result in results),
        "seed": _distinct(result.seed for result in results),
        "settings": _distinct(_settings_text(result.settings) for result in results),
        "device": _distinct(result.device for result in results),
        "computing time": [_duration(seconds)] if seconds else [],
    }
    for name in packages:
        title = f"version of {name}" if name in {*made, "when"} else name
        made[title] = _distinct(result.versions.get(name, "") for result in results)
    made["when"] = [_when(folder, results)]
    return {name: values or ["not recorded"] for name, values in made.items()}


def _distinct(values: Iterable[object]) -> list[str]:
    return [text for text in dict.fromkeys(map(str, values)) if text]


def _settings_text(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {_value_text(value)}" for name, value in settings.items())


def _value_text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " ".join(map(_value_text, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _when(folder: Path, results: Sequence[Result]) -> str:
    """Return the days on which results were finished, or else when their files were last changed."""
    if days := sorted({result.finished[:10] for result in results if result.finished}):
        return days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    files = [result_path(folder, result.dataset, result.pi, result.pi_prime) for result in results]
    changed = datetime.fromtimestamp(max(path.stat().st_mtime for path in files), tz=UTC)
    return f"not recorded; files last changed on {changed:%Y-%m-%d}"
