"""OpenAI's API: each agent and workflow as a model, each request as a durable run."""
