"""Signs of a drawing: one for each kind of work, and one for each state of a node.

Each is an SVG path in a square of 16, drawn as a line.
"""

from __future__ import annotations

from typing import Final

#: Signs of the kinds of work.
KINDS: Final = {
    "agent": "M8 1.5v2M3.5 5.5a2 2 0 0 1 2-2h5a2 2 0 0 1 2 2v5a2 2 0 0 1-2 2h-5a2 2 0 0 1-2-2zM6 7"
    "v1.5M10 7v1.5M1.5 7v3M14.5 7v3M6 14.5h4",
    "workflow": "M2 6h4v4H2zM10 2h4v4h-4zM10 10h4v4h-4zM6 8h2M8 8V4h2M8 8v4h2",
    "tool": "M13.8 4.2a3.6 3.6 0 0 1-4.8 4.6l-5 5a1.3 1.3 0 0 1-1.8-1.8l5-5A3.6 3.6 0 0 1 11.8 2.2"
    "L9.7 4.3l2 2z",
    "function": "M11.5 2.5c-2-.6-3.2.3-3.5 2L6.6 12c-.3 1.6-1.4 2.2-3 1.7M4.8 6.8h6",
    "validator": "M8 1.5l5.5 2v4c0 3.4-2.2 5.7-5.5 7-3.3-1.3-5.5-3.6-5.5-7v-4zM5.5 8l2 2 3.2-4",
    "code": "M5 4L1.5 8 5 12M11 4l3.5 4-3.5 4M9.2 2.5l-2.4 11",
    "ask": "M8 7.5a2.8 2.8 0 1 0 0-5.6 2.8 2.8 0 0 0 0 5.6zM2.5 14.2c.4-2.9 2.6-4.5 5.5-4.5s5.1 1.6"
    " 5.5 4.5z",
    "pause": "M8 14.3A6.3 6.3 0 1 0 8 1.7a6.3 6.3 0 0 0 0 12.6zM8 4.5V8l2.4 1.6",
    "set": "M10.6 2.6l2.8 2.8L5.6 13.2l-3.4.6.6-3.4zM8.8 4.4l2.8 2.8",
}
#: Signs of the states of a node in a run, and of its changes between two versions.
STATES: Final = {
    "waiting": "M8 13a5 5 0 1 0 0-10 5 5 0 0 0 0 10zM8 5.5V8l1.6 1.2",
    "running": "M5.5 3.5v9L12.5 8z",
    "asks": "M5.6 6A2.4 2.4 0 1 1 8 8.4v1.2M8 12.2v.3",
    "done": "M3.5 8.5l3 3 6-7",
    "failed": "M4.2 4.2l7.6 7.6M11.8 4.2l-7.6 7.6",
    "skipped": "M3.5 4.5l4 3.5-4 3.5zM8.5 4.5l4 3.5-4 3.5z",
    "cancelled": "M4.5 4.5h7v7h-7z",
    "added": "M8 3.5v9M3.5 8h9",
    "removed": "M3.5 8h9",
    "changed": "M3 6.5c1.6-2 3.3-2 5 0s3.4 2 5 0M3 10.5c1.6-2 3.3-2 5 0s3.4 2 5 0",
}
