"""Reviewers that a setting or a request names: whether there is anyone who could review."""

from __future__ import annotations

from django.contrib.auth.models import Group
from django.db.models import Q

from heartbit_site.base.access import members_with
from heartbit_site.base.models import Workspace
from heartbit_site.base.people import User
from heartbit_site.base.review_policy import ReviewPolicy, read_reviewers


def reviewers_problem(workspace: Workspace, text: str) -> str:
    """Return why no one could review a result, as the end of a sentence; empty: someone can."""
    try:
        policy = ReviewPolicy(read_reviewers(text))
    except ValueError as error:
        return str(error)
    if policy.group and not Group.objects.filter(name=policy.group).exists():
        return f'names the group "{policy.group}", which does not exist: a superuser adds it'
    if policy.person and not _may_decide(workspace, policy.person):
        return f'names "{policy.person}", who is no member that may decide: give that person a role'
    return ""


def _may_decide(workspace: Workspace, username: str) -> bool:
    members = Q(pk__in=members_with(workspace, "approvals:decide"))
    people = User.objects.filter(username=username, is_active=True)
    return people.filter(members | Q(is_superuser=True)).exists()
