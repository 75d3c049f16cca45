"""Texts for models: near names, parts of long texts, requests and responses of HTTP."""
