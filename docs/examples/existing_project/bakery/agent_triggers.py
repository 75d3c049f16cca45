"""A run of Heartbit in the transaction of a baked order."""

from agents.definitions.triggers import on_change
from bakery.models import Order


@on_change(Order, agent="writer", when=lambda change: change.became("status", "baked"))
def announce(change):
    return f"Announce the {change.new['bread']}."
