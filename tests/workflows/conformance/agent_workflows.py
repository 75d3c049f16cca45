"""Functions of the graphs, and one that ends its worker."""

from __future__ import annotations

import os
from typing import Any

from agents.workflows.executors.context import Context
from agents.workflows.executors.executor import executor


@executor(effect="pure")
def keep(message: Any) -> Any:
    """Return the message."""
    return message


@executor(effect="pure")
def count(message: Any, context: Context) -> Any:
    """Count the calls in the state, and return the message."""
    context.add("n", 1)
    return message


@executor(effect="pure")
def refuse_thirds(number: int) -> int:
    """Return ten times a number, unless it can be divided by three."""
    if number % 3 == 0:
        raise ValueError(f"bad {number}")
    return number * 10


@executor(effect="pure")
def send_twice(message: Any, context: Context) -> None:
    """Send two messages, the second one later than the first."""
    context.send_message([message, 1])
    context.send_message([message, 2])


@executor(effect="pure")
def name_itself(message: Any, context: Context) -> None:
    """Contribute to each key of the state that several nodes write."""
    context.add("list", message)
    context.add("sum", message)
    context.add("least", message)
    context.add("most", message)
    context.add("object", {f"k{message}": message})


@executor(effect="pure")
def set_winner(message: Any, context: Context) -> None:
    """Set a key that only one node of a superstep may set."""
    context.set("winner", message)


@executor(effect="pure")
def abort(message: Any) -> None:
    """Take the whole process along, as a broken extension module does."""
    os.abort()
