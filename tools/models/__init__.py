"""Models of the tools app; import them from this package."""

from __future__ import annotations

from tools.models.catalogue import CatalogueTool
from tools.models.credential import Credential
from tools.models.definition import ToolDefinition
from tools.models.mcp_server import McpServer
from tools.models.sign_in import PendingSignIn
