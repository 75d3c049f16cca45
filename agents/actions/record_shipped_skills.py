"""Bring the skills that ship with Heartbit into the database, for every workspace."""

from __future__ import annotations

from django.db import transaction

from agents.actions.save_skill import store_version
from agents.models import Skill
from agents.skills import snapshot
from agents.skills.shipped_skills import shipped_skills
from heartbit_site.base.query import execute

_LOCK = "LOCK TABLE agents_skill IN SHARE ROW EXCLUSIVE MODE"


def record_shipped_skills() -> None:
    """Make the shipped skills' rows what this release ships; one query if they are already.

    ``republish_agents`` publishes the agents that have a changed one.
    """
    rows = Skill.objects.filter(workspace=None)
    before = dict(rows.values_list("name", "current_version__hash"))
    now = {folder.spec.name: folder for folder in shipped_skills()}
    hashes = {name: snapshot.digest(snapshot.write(folder)) for name, folder in now.items()}
    if before == hashes:
        return
    with transaction.atomic():
        execute(_LOCK)  # processes of two releases may start at once
        for name, folder in now.items():
            skill, _ = Skill.objects.get_or_create(workspace=None, name=name)
            version = store_version(skill, folder)
            if skill.current_version_id != version.pk:
                skill.current_version = version
                skill.save(update_fields=["current_version", "updated_at"])
        rows.exclude(name__in=now).delete()
