"""Models of the agents app; import them from this package. One noun per file."""

from __future__ import annotations

from agents.models.agent import Agent, ToolBinding
from agents.models.approval import Decision, Grant, Vote
from agents.models.artifact import Artifact
from agents.models.budget import Budget
from agents.models.channel import Channel, InboundMessage
from agents.models.chat_app import ChatAccount, ChatApp, ChatQuestion
from agents.models.checkpoint import Checkpoint
from agents.models.conversation import Conversation
from agents.models.delivery import Delivery
from agents.models.draft import AgentDraft
from agents.models.extraction import LearnedMemory, MemoryExtraction
from agents.models.journal import BlackboardEntry, RunEvent, ToolCall, Wait
from agents.models.message import InboxEntry, Message, MessageKind
from agents.models.model_price import ModelPrice
from agents.models.notified_browser import NotifiedBrowser
from agents.models.pause import Pause
from agents.models.push_key import PushKey
from agents.models.recalled_memory import RecalledMemory
from agents.models.run import Run
from agents.models.run_count import RunCount
from agents.models.skill import Skill, SkillFile, SkillVersion
from agents.models.span_figures import SpanFigures
from agents.models.state import StateEntry
from agents.models.task_push import TaskPush
from agents.models.version import AgentVersion
from agents.models.webhook import WebhookDelivery, WebhookEndpoint
from agents.models.work_file import WorkFile
from agents.models.worker import WorkerHeartbeat
from agents.models.workflow import Workflow
from agents.models.workspace_alert import WorkspaceAlert
