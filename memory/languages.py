"""Language of a text, by PostgreSQL's own stop words."""

from __future__ import annotations

from typing import Final

from heartbit_site.base.query import fetch_one

_LANGUAGE: Final = """
SELECT c.cfgname
FROM pg_ts_config c, LATERAL (
    SELECT coalesce(sum(cardinality(w.positions)), 0) AS words
    FROM unnest(to_tsvector(c.oid::regconfig, %s)) w
) left_over
WHERE c.cfgnamespace = 'pg_catalog'::regnamespace AND c.cfgname <> 'simple'
ORDER BY left_over.words, c.cfgname <> 'english', c.cfgname
LIMIT 1
"""


def detect_language(text: str) -> str:
    """Return the text search configuration for which the text has the most stop words.

    A text without stop words, such as a name, counts as English; so does one that fits several.
    """
    (name,) = fetch_one(_LANGUAGE, [text])
    return str(name)
