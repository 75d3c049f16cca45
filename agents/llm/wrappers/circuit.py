"""When a provider account counts as unwell, and when it is tried again: the rules, without a clock.

Closed, calls go. After ``FAILURES`` failed attempts in a row within ``WINDOW_SECONDS`` it opens: no
call goes for ``OPEN_SECONDS``. Then one call, the probe, goes alone; it closes the circuit, or
opens it again for twice as long, at most ``LONGEST_SECONDS``. ``agents.runtime.breaker`` has the
same rules as scripts in Valkey.
"""

from __future__ import annotations

from dataclasses import dataclass, field

FAILURES = 5
WINDOW_SECONDS = 30.0
OPEN_SECONDS = 10.0
LONGEST_SECONDS = 120.0
PROBE_SECONDS = 60.0  # a probe that says nothing for so long is given up; another one goes
PROBED_SECONDS = 2.0  # how long the others wait while a probe is under way


@dataclass(frozen=True, slots=True)
class Admission:
    """Whether a call may go.

    Attributes:
        wait: Seconds until it is worth asking again; 0: go.
        probe: The name of the probe that this call is; empty: a call like any other.
    """

    wait: float = 0.0
    probe: str = ""


@dataclass(slots=True)
class Circuit:
    """The state of one account, as one process knows it.

    Attributes:
        threshold: Failures in a row that open it.
        failures: When the last attempts failed, as long as none succeeded since.
        openings: How often it opened since it was closed last.
        open_until: When a probe may go, while it is open.
        probe: The probe under way.
        probe_until: When that one is given up.
    """

    threshold: int = FAILURES
    failures: list[float] = field(default_factory=list)
    openings: int = 0
    open_until: float = 0.0
    probe: str = ""
    probe_until: float = 0.0

    def admit(self, now: float, probe: str) -> Admission:
        """Whether a call may go; if only one may, it is the probe of that name."""
        if not self.openings:
            return Admission()
        if now < self.open_until:
            return Admission(wait=self.open_until - now)
        if self.probe and now < self.probe_until:
            return Admission(wait=min(PROBED_SECONDS, self.probe_until - now))
        self.probe, self.probe_until = probe, now + PROBE_SECONDS
        return Admission(probe=probe)

    def failed(self, now: float, probe: str) -> None:
        """An attempt found the provider unwell."""
        if probe and probe == self.probe:
            self._open(now)
        elif not self.openings:
            since = now - WINDOW_SECONDS
            self.failures = [*(at for at in self.failures if at > since), now]
            if len(self.failures) >= self.threshold:
                self._open(now)

    def succeeded(self, probe: str) -> None:
        """An attempt found the provider well; one that began before it opened says nothing."""
        if not self.openings or (probe and probe == self.probe):
            self.close()

    def undecided(self, probe: str) -> None:
        """A probe ended without saying how the provider is: the next call may be one."""
        if probe and probe == self.probe:
            self.probe = ""

    def close(self) -> None:
        """Forget everything."""
        self.failures, self.openings, self.open_until, self.probe = [], 0, 0.0, ""

    def _open(self, now: float) -> None:
        self.open_until = now + min(LONGEST_SECONDS, OPEN_SECONDS * 2**self.openings)
        self.openings = min(self.openings + 1, 16)  # the doubling has ended long before
        self.failures, self.probe = [], ""
