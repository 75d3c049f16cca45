"""Workflows as rows of their own, which pages of the admin list."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from agents.models.agent import Agent

KIND = "workflow"


class WorkflowManager(models.Manager["Workflow"]):
    """Workflows among all definitions."""

    def get_queryset(self) -> models.QuerySet[Workflow]:
        """Return the rows of the kind workflow."""
        return super().get_queryset().filter(kind=KIND)


class Workflow(Agent):
    """A definition of the kind workflow (``agents.workflows.spec.workflow``)."""

    objects: ClassVar[WorkflowManager] = WorkflowManager()

    class Meta:
        proxy = True
        ordering = ["name"]
