"""Models of the tools app; import them from this package."""

from __future__ import annotations

from tools.models.catalogue import CatalogueTool, ToolDefinition
from tools.models.credential import Credential
from tools.models.mcp_server import McpServer, PendingSignIn
from tools.models.remote_agent_task import RemoteAgentTask
