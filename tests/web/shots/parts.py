"""What the agents of the pictures say, by a piece of what they are asked."""

from __future__ import annotations

import json

BENT_WHEEL = "Mara Lindqvist writes: my Wren (order 1042) arrived with a bent rear wheel. What now?"
ISLANDS = "Which way of sending cargo bikes to the islands should we offer next spring?"
WEEKLY = "Write the report on the shop's week: sales, returns, and what was asked most."
STOCK = "How many Wren frames do we need until March?"
LOG = "Sum up yesterday's warehouse log."
REFUND = "Order 1042: agree on a fair compensation for the bent wheel and pay it."
TRIAL = "Mara Lindqvist would like to try a Wren on Saturday: keep one for her."
RETURNS = "Which bikes came back this week? Put the table in returns.csv, and a chart beside it."
REPAIRS = "Plan next week's repairs around the holiday."
CATALOGUE = "Go through the spring catalogue and list every price that changed."
GREETING = "Hello! Do you also service bikes that were bought elsewhere?"
SATURDAY = "Good. Can I come on a Saturday?"

_ORDER = "Find out what was sent to the customer of order 1042, and when."
_RULES = "What does the handbook say about damage in transit?"
_REPLY = "Draft a friendly reply to Mara Lindqvist."
_FERRY = "What does the ferry cost, and how long does it take?"
_PARCEL = "What does it take to send a cargo bike in parcels?"
_SUMS = "Compare both ways at 40 bikes a season."


_RETURNS = """\
import asyncio

orders = [1038, 1042, 1057]
found = await asyncio.gather(*[find_order(order=number) for number in orders])
bikes = [text.partition("cargo bike ")[2].partition(",")[0] for text in found]
rows = [f"{number},{bike}" for number, bike in zip(orders, bikes)]
await write(path="returns.csv", text="order,bike\\n" + "\\n".join(rows))
chart = await shell(command="cut -d, -f2 returns.csv | tail -n +2 | sort | uniq -c | tee chart.txt")
print(chart["stdout"])
"""


def _delegate(*tasks: tuple[str, str]) -> str:
    rows = ", ".join(json.dumps({"agent": agent, "task": task}) for agent, task in tasks)
    return f"[[delegate: {rows}]]"


def _call(tool: str, **arguments: object) -> str:
    return f"[[calls: {tool} {json.dumps(arguments)}]]"


PARTS = {
    BENT_WHEEL: _delegate(("orders", _ORDER), ("handbook", _RULES), ("writer", _REPLY))
    + """[[latency: 300]][[thinking: Three things are needed: the facts, our rules, and a reply.]]
[[text: **Repair it free of charge, or pay back 15 %**: her choice.

* The bike left us whole on 12 November; the damage happened on its way.
* Handbook 4.2 covers it: a new wheel is 140 EUR, two days of work.
* 15 % of 1,890.00 EUR is **283.50 EUR**.

| | costs us | she waits |
|---|---|---|
| Repair | 140.00 EUR | 2 days |
| Partial refund | 283.50 EUR | not at all |

The reply is drafted and offers both.]]""",
    _ORDER: _call("find_order", order=1042)
    + "[[latency: 420]][[text: A *Wren*, 1,890.00 EUR, sent on 12 November.]]",
    _RULES: _call("search_handbook", query="damage in transit")
    + "[[latency: 650]][[text: Section 4.2: repair it free, or pay a part of the price back.]]",
    _REPLY: "[[latency: 900]][[text: Dear Mara, we are sorry about the bent wheel. "
    "We repair it free of charge, or pay back 15 %: please tell us which you prefer.]]",
    ISLANDS: _delegate(("researcher", _FERRY), ("researcher", _PARCEL), ("analyst", _SUMS))
    + "[[latency: 350]][[text: **The ferry.** It costs 46 EUR a bike against 71 in parcels, and "
    "no bike has to be put together again on arrival. Offer parcels only where no ferry lands.]]",
    _FERRY: "[[latency: 800]][[text: 46 EUR a bike; it sails on Tuesdays and Fridays, 5 hours.]]",
    _PARCEL: "[[latency: 600]][[text: Two parcels, 71 EUR, and an hour's work on arrival.]]",
    _SUMS: _call("calculate", expression="40 * (71 - 46)")
    + "[[latency: 500]][[text: The ferry saves 1,000 EUR a season.]]",
    WEEKLY: _call("current_time", time_zone="Europe/Berlin")
    + "[[latency: 700]][[text: 31 bikes were sold, 2 came back; most asked about spare tyres.]]",
    STOCK: _call("calculate", expression="(31 + 28 + 35) / 3 * 4")
    + "[[latency: 500]][[text: About 125: the mean of the last three months, times four.]]",
    LOG: "[[error: 400]]",
    REFUND: _call("find_order", order=1042)
    + "[[then: refund_order "
    + json.dumps({"order": 1042, "amount": 283.5, "reason": "The rear wheel was bent on arrival."})
    + "]][[text: 283.50 EUR were paid back.]]",
    TRIAL: _call("reserve_bike", bike="Wren", customer="Mara Lindqvist")
    + "[[text: A Wren is kept for Mara.]]",
    RETURNS: _call("run_script", script=_RETURNS)
    + "[[latency: 400]][[text: Three came back, all of them Wrens. `returns.csv` has the table, "
    "`chart.txt` the counts.]]",
    REPAIRS: _call(
        "ask_human",
        question="Wednesday is a holiday. When does the workshop make up for it?",
        form={
            "type": "object",
            "properties": {
                "when": {"type": "string", "enum": ["Tuesday evening", "Saturday"]},
                "hours": {"type": "integer", "minimum": 1, "maximum": 8},
            },
            "required": ["when", "hours"],
        },
    )
    + "[[text: The plan is made.]]",
    CATALOGUE: "[[latency: 90000]][[text: Done.]]",
    GREETING: "[[latency: 300]][[text: Yes, every make. A **small service** is 59 EUR, a day; "
    "a **big one** is 119 EUR, two days.\n\nBring it by, or book a time with me here.]]",
    SATURDAY: "[[latency: 300]][[text: You can: on Saturdays from 10 to 14 o'clock. "
    "Shall I put you down for 10:30?]]",
}
