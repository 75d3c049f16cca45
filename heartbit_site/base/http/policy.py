"""Permitted targets of a connection: public addresses at the usual ports, and the allow-list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from heartbit_site.base.http.addresses import Address, effective, is_public
from heartbit_site.base.http.allow import AllowRule
from heartbit_site.base.http.errors import BlockedAddressError

DEFAULT_PORTS = frozenset({80, 443})


@dataclass(frozen=True, slots=True)
class AddressPolicy:
    """Addresses and ports that a connection may use."""

    allow: tuple[AllowRule, ...] = ()
    ports: frozenset[int] = DEFAULT_PORTS

    def check(self, host: str, port: int, addresses: Sequence[str]) -> None:
        """Refuse the host unless every address is public, or allowed by a rule, at this port.

        One bad address among good ones refuses the host: the choice between them must not matter.

        Raises:
            BlockedAddressError: The addresses themselves are not named: a model should not learn
                the addresses of internal names.
        """
        if not addresses:
            raise BlockedAddressError(f"The host {host} has no address.")
        for text in addresses:
            self._check_one(host, port, effective(text))

    def _check_one(self, host: str, port: int, address: Address) -> None:
        rules = [rule for rule in self.allow if rule.permits(host, address, port)]
        if any(rule.port is not None for rule in rules):
            return
        if port not in self.ports:
            ports = ", ".join(str(number) for number in sorted(self.ports))
            raise BlockedAddressError(
                f"Port {port} of {host} is closed to tools (open: {ports}); an operator can add "
                f"'{host}:{port}' to HEARTBIT_HTTP_ALLOWLIST."
            )
        if not rules and not is_public(address):
            raise BlockedAddressError(
                f"The host {host} is not on the public internet, so tools may not reach it; an "
                "operator can add it to HEARTBIT_HTTP_ALLOWLIST."
            )
