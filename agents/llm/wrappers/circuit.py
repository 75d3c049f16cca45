"""Rules of a circuit breaker for a provider account, without a clock.

While closed, all calls are allowed. After ``FAILURES`` failed attempts in a row within
``WINDOW_SECONDS`` it opens: no call is allowed for ``OPEN_SECONDS``. Then a single call, the probe,
is allowed: it closes the circuit, or opens it again for twice as long, at most ``LONGEST_SECONDS``.
``agents.runtime.providers.breaker`` has the same rules as scripts in Valkey.
"""

from __future__ import annotations

from dataclasses import dataclass, field

FAILURES = 5
WINDOW_SECONDS = 30.0
OPEN_SECONDS = 10.0
LONGEST_SECONDS = 120.0
PROBE_SECONDS = 60.0  # after which a probe without a result is replaced
PROBED_SECONDS = 2.0  # wait of other calls while a probe is in flight


@dataclass(frozen=True, slots=True)
class Admission:
    """Decision on a call.

    Attributes:
        wait: Seconds until the next request for admission; 0: the call is allowed.
        probe: Name of the probe that this call is; empty: an ordinary call.
    """

    wait: float = 0.0
    probe: str = ""


@dataclass(slots=True)
class Circuit:
    """Circuit of one account, as one process knows it.

    Attributes:
        threshold: Failures in a row that open the circuit.
        failures: Times of the failures since the last success.
        openings: Number of openings since the circuit was last closed.
        open_until: Time of the next probe, while open.
        probe_until: Time at which that probe is given up.
    """

    threshold: int = FAILURES
    failures: list[float] = field(default_factory=list)
    openings: int = 0
    open_until: float = 0.0
    probe: str = ""
    probe_until: float = 0.0

    def admit(self, now: float, probe: str) -> Admission:
        """Decide on a call; if only a probe is allowed, the call is the probe of that name."""
        if not self.openings:
            return Admission()
        if now < self.open_until:
            return Admission(wait=self.open_until - now)
        if self.probe and now < self.probe_until:
            return Admission(wait=min(PROBED_SECONDS, self.probe_until - now))
        self.probe, self.probe_until = probe, now + PROBE_SECONDS
        return Admission(probe=probe)

    def failed(self, now: float, probe: str) -> None:
        """Record a failed attempt."""
        if probe and probe == self.probe:
            self._open(now)
        elif not self.openings:
            since = now - WINDOW_SECONDS
            self.failures = [*(at for at in self.failures if at > since), now]
            if len(self.failures) >= self.threshold:
                self._open(now)

    def succeeded(self, probe: str) -> None:
        """Record a success; ignore ordinary calls that began before the circuit opened."""
        if not self.openings or (probe and probe == self.probe):
            self.close()

    def undecided(self, probe: str) -> None:
        """Record a probe without a result: the next call may be a probe."""
        if probe and probe == self.probe:
            self.probe = ""

    def close(self) -> None:
        """Reset the circuit."""
        self.failures, self.openings, self.open_until, self.probe = [], 0, 0.0, ""

    def _open(self, now: float) -> None:
        self.open_until = now + min(LONGEST_SECONDS, OPEN_SECONDS * 2**self.openings)
        self.openings = min(self.openings + 1, 16)  # LONGEST_SECONDS is reached long before
        self.failures, self.probe = [], ""
