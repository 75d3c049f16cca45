"""Remove a skill from a workspace."""

from __future__ import annotations

from django.db import transaction

from agents.actions.republish_orchestrators import Led, publish_again
from agents.errors import ShippedSkillError, SkillInUseError
from agents.models import Skill
from agents.reads.skills import users_of
from heartbit_site.base.audit import Actor, record_on
from heartbit_site.base.models import Workspace
from heartbit_site.base.rights import require


@transaction.atomic
def remove_skill(skill: Skill, *, by: Actor) -> list[Led]:
    """Delete a skill with its versions and files.

    Where it replaced a shipped skill, its agents have that one from now on: they are published
    again, and returned. Runs that are pinned to the deleted one cannot load it any more.

    Raises:
        ShippedSkillError: It is the installation's.
        SkillInUseError: Agents have it, and there is no shipped one in its place.
    """
    require(by, "agents:write", workspace_id=skill.workspace_id)
    if skill.workspace is None:
        raise ShippedSkillError(
            f"{skill.name} ships with Heartbit and stays: agents without it never see it."
        )
    Workspace.objects.select_for_update(no_key=True).get(pk=skill.workspace.pk)
    users = list(users_of(skill))
    is_replacement = Skill.objects.filter(workspace=None, name=skill.name).exists()
    if users and not is_replacement:
        names = ", ".join(agent.name for agent in users[:5])
        raise SkillInUseError(f"{skill.name} is a skill of {names}: take it from them first.")
    number = skill.pk
    skill.delete()
    skill.pk = number  # the entry names it
    led = publish_again(users, by=by)
    record_on(by, "skill.remove", skill)
    return led
