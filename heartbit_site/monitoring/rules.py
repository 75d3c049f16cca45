"""The alert rules: one list for Prometheus's file and for Heartbit's own notices."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal

from heartbit_site.base.amounts import duration


@dataclass(frozen=True, slots=True)
class AlertRule:
    """A rule about one metric, for each of its series.

    Attributes:
        name: Name in Prometheus, in notices and in ``docs/howto/monitoring.md``.
        text: Sentence for people; may name labels as ``{queue}``, and ``{value}`` or
            ``{duration}``.
        metric: Name of the metric (``heartbit_site.monitoring.metrics``).
        labels: Selected labels.
        compare: ``above`` a threshold, ``rise`` above the least or ``fall`` below the greatest
            value of the last ``window_minutes``.
        above: Threshold.
        without: Metric with the same labels that has to be 0.
        minutes: How long the condition has to hold first.
    """

    name: str
    text: str
    metric: str
    labels: dict[str, str] = field(default_factory=dict)
    compare: Literal["above", "rise", "fall"] = "above"
    above: int = 0
    without: str = ""
    window_minutes: int = 0
    minutes: int = 0
    severity: Literal["warning", "critical"] = "warning"

    def expression(self) -> str:
        """Return the condition in Prometheus's language."""
        chosen = ",".join(f'{name}="{value}"' for name, value in self.labels.items())
        series = f"{self.metric}{{{chosen}}}" if chosen else self.metric
        window = f"{series}[{self.window_minutes}m]"
        match self.compare:
            case "rise":
                return f"increase({window}) > 0"
            case "fall":
                return f"{series} < max_over_time({window})"
        also = f" and {self.without} == 0" if self.without else ""
        return f"{series} > {self.above}{also}"

    def prometheus(self) -> dict[str, Any]:
        """Return the rule as an entry of Prometheus's file."""
        names = {"value": "{{ $value }}", "duration": "{{ $value | humanizeDuration }}"}
        return {
            "alert": self.name,
            "expr": self.expression(),
            **({"for": f"{self.minutes}m"} if self.minutes else {}),
            "labels": {"severity": self.severity},
            "annotations": {"summary": self.text.format_map(names | _LABELS)},
        }

    def sentence(self, labels: dict[str, str], value: float) -> str:
        """Return the text about a series."""
        figures = {"value": f"{value:g}", "duration": duration(value)}
        return self.text.format_map(figures | labels)


_LABELS: Final = {name: f"{{{{ $labels.{name} }}}}" for name in ("queue", "kind")}

RULES: Final = (
    AlertRule(
        "HeartbitOldestRunWaits",
        "A run of the queue {queue} has waited {duration} for a slot. Start workers.",
        "heartbit_queue_oldest_seconds",
        above=300,
        minutes=1,
    ),
    AlertRule(
        "HeartbitQueueWithoutWorker",
        "Runs are due in the queue {queue}, which no worker serves.",
        "heartbit_queue_runs",
        without="heartbit_queue_workers",
        minutes=2,
        severity="critical",
    ),
    AlertRule(
        "HeartbitWorkersLost",
        "{value} workers are silent: their leases have expired.",
        "heartbit_workers",
        {"state": "stale"},
        minutes=5,
    ),
    AlertRule(
        "HeartbitFewerWorkers",
        "There are {value} workers, fewer than in the last half hour.",
        "heartbit_workers",
        {"state": "alive"},
        compare="fall",
        window_minutes=30,
        minutes=5,
    ),
    AlertRule(
        "HeartbitDeliveriesFailed",
        "A message ({kind}) was given up. Redeliver it once its receiver works.",
        "heartbit_deliveries_failed",
        compare="rise",
        window_minutes=10,
    ),
    AlertRule(
        "HeartbitCircuitOpen",
        "Workers back off from {value} provider accounts, which keep failing.",
        "heartbit_open_circuits",
        minutes=5,
    ),
    AlertRule(
        "HeartbitBudgetExceeded",
        "{value} budgets refuse model calls until their period ends.",
        "heartbit_budgets",
        {"state": "exceeded"},
    ),
    AlertRule(
        "HeartbitUncertainCalls",
        "The outcome of {value} tool calls is unknown. Resolve them in the inbox.",
        "heartbit_uncertain_calls",
        minutes=10,
    ),
    AlertRule(
        "HeartbitRunsQuarantined",
        "{value} runs are quarantined, because their workers crashed too often.",
        "heartbit_runs",
        {"status": "quarantined"},
    ),
    AlertRule(
        "HeartbitSchedulesLate",
        "A schedule is {duration} late. Is a worker running?",
        "heartbit_schedule_lateness_seconds",
        above=300,
        minutes=1,
    ),
)
