"""The installation's check-up."""

from __future__ import annotations

import contextlib

from heartbit_site.base.errors import ConfigurationError
from heartbit_site.cli.doctor.check import Check
from heartbit_site.cli.doctor.disk import check_disks
from heartbit_site.cli.doctor.environment import (
    check_embedded,
    check_keys,
    check_state,
    check_unknown_variables,
    check_variables,
)
from heartbit_site.cli.installation.startup import set_up_django
from heartbit_site.embedded.errors import EmbeddedError
from heartbit_site.environment import problems, read


def examine() -> list[Check]:
    """Look at everything that can be looked at, in the order in which it depends on each other."""
    wrong = problems()
    if wrong:
        return [Check("environment", "fail", sentence) for sentence in wrong]
    environment = read()
    checks = [check_variables(), *check_unknown_variables(), check_state(environment)]
    if checks[-1].status == "fail":
        return checks
    disks = check_disks(environment.state.path)
    checks += [check_keys(environment), disks, check_embedded(environment)]
    try:
        set_up_django(environment)
    except (ConfigurationError, EmbeddedError) as error:
        return [*checks, Check("settings", "fail", str(error))]
    from django.db import DatabaseError  # noqa: PLC0415  needs Django set up

    from heartbit_site.cli.doctor import mail, models, services, work  # noqa: PLC0415  as above

    modules = (services, mail, models, work)
    for look in (look for module in modules for look in module.LOOKS):
        with contextlib.suppress(DatabaseError):  # no tables yet, or no database: said above
            checks += look()
    return checks
