"""SVG of a drawing: every text is escaped, and no style is inline. Pure.

A page colours the parts by their classes (``drawing.css``); a file that stands alone has its own
colours. Parts that a page changes during a run::

    <svg class="drawing" data-signs='{"done": "M3.5 ...", ...}'>
      <g class="node is-agent" data-node="grade" data-state="done">
        ... <path class="sign" d="M3.5 ..."/> <text class="visits">3</text>
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from html import escape
from itertools import pairwise
from typing import Final

from agents.workflows.drawing.glyphs import KINDS, STATES
from agents.workflows.drawing.letters import fitting, width_of
from agents.workflows.drawing.outline import END, JOIN, START
from agents.workflows.drawing.positions import Drawing, DrawnEdge, DrawnNode, Point
from agents.workflows.drawing.routes import LABEL_SIZE

#: How far a way bows out where it turns below the nodes.
TURN: Final = 34
#: Room of a node's texts beside its glyph and its state.
ASIDE: Final = 66
LONGEST_TITLE: Final = 400
MOST_NAMED: Final = 60
_STYLE: Final = """
.drawing{background:#fff;font:13px sans-serif}.box{fill:#fff;stroke:#8a8a99;stroke-width:1.2}
.glyph,.sign{fill:none;stroke:#5b4b8a;stroke-width:1.5;stroke-linecap:round;stroke-linejoin:round}
.name{fill:#15151d;font-weight:600}.detail,.visits{fill:#646473;font-size:11px}
.way{fill:none;stroke:#8a8a99;stroke-width:1.4}.tip,.dot,.bar{fill:#646473}
.is-error .way,.is-conditional .box:not(.behind){stroke-dasharray:5 4}
.ring{fill:none;stroke:#646473}.label{fill:#4b4b58;font-size:11px}.caption rect{fill:#fff}
text{text-anchor:start}.label,.wait{text-anchor:middle}.wait{fill:#646473;font-size:10px}
[data-state=running] .box,[data-state=asks] .box{stroke:#6d28d9;stroke-width:2.4}
[data-state=done] .box,[data-state=added] .box{stroke:#13702f;stroke-width:2}
[data-state=failed] .box,[data-state=removed] .box{stroke:#b91c1c;stroke-width:2}
.edge[data-state=added] .way{stroke:#13702f;stroke-width:3}
.edge[data-state=removed] .way{stroke:#b91c1c;stroke-width:2.4;stroke-dasharray:2 4}
[data-state=changed] .box{stroke:#a83c09;stroke-width:2}
"""


def to_svg(
    drawing: Drawing,
    *,
    states: Mapping[str, str] | None = None,
    edges: Mapping[tuple[str, str], str] | None = None,
    title: str = "Workflow",
    is_alone: bool = True,
) -> str:
    """Return a drawing as SVG.

    Args:
        drawing: The drawing.
        states: State of each node, by name: a key of ``glyphs.STATES``.
        edges: State of each edge, by the keys of its ends.
        title: Name of the drawing, for screen readers.
        is_alone: True for a file with its own colours, False for a part of a page.
    """
    size = f"{drawing.width:g} {drawing.height:g}"
    signs = "" if is_alone else f' data-signs="{escape(json.dumps(STATES))}"'
    return "".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="drawing" role="img" '
            f'viewBox="0 0 {size}" width="{drawing.width:g}" height="{drawing.height:g}"{signs}>',
            f"<title>{escape(title)}</title><desc>{escape(describe(drawing))}</desc>",
            f"<style>{_STYLE}</style>" if is_alone else "",
            *(_edge(one, (edges or {}).get(one.ends, "")) for one in drawing.edges),
            *map(_label, drawing.edges),  # above all lines
            *(_node(node, (states or {}).get(node.item.name, "")) for node in drawing.nodes),
            "</svg>\n",
        )
    )


def describe(drawing: Drawing) -> str:
    """Return the connections of a drawing in words, for those who do not see it."""
    names = {node.item.key: node.item.name or node.item.kind for node in drawing.nodes}
    found = [
        f"{names[edge.link.source]} to {names[edge.link.target]}"
        + (f" ({edge.label})" if edge.label else "")
        for edge in drawing.edges[: MOST_NAMED + 1]
    ]
    more = [f"and {len(drawing.edges) - MOST_NAMED} more"] if len(found) > MOST_NAMED else []
    return f"Connections: {'; '.join([*found[:MOST_NAMED], *more])}."


def _edge(edge: DrawnEdge, state: str) -> str:
    link = edge.link
    kind = " is-error" if link.is_error else ""
    x, y = edge.points[-1]
    return (
        f'<g class="edge{kind}" data-from="{escape(link.source)}" data-to="{escape(link.target)}" '
        f'data-state="{escape(state)}">'
        f'<path class="way" d="{"".join(_path(edge))}"/>'
        f'<path class="tip" d="M{x:g} {y:g}l-8-4v8z"/></g>'
    )


def _label(edge: DrawnEdge) -> str:
    if not edge.label:
        return ""
    x, y = edge.label_at
    width = width_of(edge.label, LABEL_SIZE)
    return (
        f'<g class="caption"><rect x="{x - width / 2:g}" y="{y - 8:g}" width="{width:g}" '
        f'height="16"/>'
        f'<text class="label" x="{x:g}" y="{y + 4:g}">'
        f"<title>{escape(edge.link.label[:LONGEST_TITLE])}</title>{escape(edge.label)}</text></g>"
    )


def _path(edge: DrawnEdge) -> Iterator[str]:
    """Yield the commands of a way: level lines, bows between layers, and turns of a detour."""
    yield f"M{_at(edge.points[0])}"
    for index, ((x1, y1), (x2, y2)) in enumerate(pairwise(edge.points)):
        if y1 == y2:
            yield f"L{_at((x2 - (6 if index == len(edge.points) - 2 else 0), y2))}"
        elif x1 == x2:
            out = x1 + (TURN if index < 2 else -TURN)
            yield f"C{out:g} {y1:g} {out:g} {y2:g} {_at((x2, y2))}"
        else:
            middle = (x1 + x2) / 2
            yield f"C{middle:g} {y1:g} {middle:g} {y2:g} {_at((x2, y2))}"


def _at(point: Point) -> str:
    return f"{point[0]:g} {point[1]:g}"


def _node(node: DrawnNode, state: str) -> str:
    item, x, y = node.item, node.x, node.y
    middle_x, middle_y = x + node.width / 2, y + node.height / 2
    if item.kind in (START, END):
        ring = f'<circle class="ring" cx="{middle_x:g}" cy="{middle_y:g}" r="8"/>'
        radius = 4 if item.kind == END else 6
        dot = f'<circle class="dot" cx="{middle_x:g}" cy="{middle_y:g}" r="{radius}"/>'
        return f"<g><title>{item.kind}</title>{ring if item.kind == END else ''}{dot}</g>"
    if item.kind == JOIN:
        size = f'width="{node.width:g}" height="{node.height:g}"'
        bar = f'<rect class="bar" x="{x:g}" y="{y:g}" {size} rx="3"/>'
        wait = f'<text class="wait" x="{middle_x:g}" y="{y - 4:g}">{escape(item.text)}</text>'
        return f"<g><title>waits for {escape(item.text)}</title>{bar}{wait}</g>"
    return _work(node, state)


def _work(node: DrawnNode, state: str) -> str:
    item, x, y = node.item, node.x, node.y
    room = node.width - ASIDE
    radius = {"ask": 24, "pause": 24, "agent": 12, "workflow": 12}.get(item.kind, 4)
    kinds = f"is-{item.kind}" + " is-conditional" * item.is_conditional
    box = (
        f'<rect class="box" x="{{:g}}" y="{{:g}}" width="{node.width:g}" height="{node.height:g}" '
        f'rx="{radius}"/>'
    )
    is_stack = item.is_repeated or item.kind == "workflow"
    behind = box.replace("box", "box behind").format(x + 4, y + 4) if is_stack else ""
    more = "".join(
        f". {words}"
        for words, holds in (
            ("For each entry of a list", item.is_repeated),
            ("Only under a condition", item.is_conditional),
        )
        if holds
    )
    whole = f"{item.name}: {item.text[:LONGEST_TITLE]}{more}"
    right = x + node.width
    return (
        f'<g class="node {kinds}" data-node="{escape(item.name)}" data-state="{escape(state)}" '
        f'data-label="{escape(whole)}">'
        f"<title>{escape(whole)}</title>{behind}{box.format(x, y)}"
        f'<path class="glyph" transform="translate({x + 12:g} {y + 16:g})" d="{KINDS[item.kind]}"/>'
        f'<text class="name" x="{x + 36:g}" y="{y + 20:g}">{escape(fitting(item.name, 13, room))}'
        f'</text><text class="detail" x="{x + 36:g}" y="{y + 36:g}">'
        f"{escape(fitting(item.text, 11, room))}</text>"
        f'<path class="sign" transform="translate({right - 26:g} {y + 7:g})" '
        f'd="{STATES.get(state, "")}"/><text class="visits" x="{right - 18:g}" y="{y + 38:g}"/></g>'
    )
