"""Web pages of workspaces (runs, approvals, chat, usage, fleet), under a strict security policy."""
