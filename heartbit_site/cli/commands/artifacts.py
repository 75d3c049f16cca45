"""`heartbit artifacts`: artifacts of runs, with the files and the blackboard of their trees."""

from __future__ import annotations

from typing import Final

from heartbit_site.base.visible_text import readable_json
from heartbit_site.cli.options import common
from heartbit_site.cli.options.verbs import Verbs
from heartbit_site.cli.terminal.output import write
from heartbit_site.cli.terminal.table import Table
from heartbit_site.contract import artifacts as contract

TABLE: Final = Table.of(
    contract.ArtifactRowOut,
    "ARTIFACT=name KIND FILE BYTES=size:, AGENT RUN=run_id",
    none="The run has no artifacts.",
)
FILES: Final = Table.of(
    contract.WorkFileOut,
    "FILE=path BYTES=size:, CHANGED=changed_at",
    none="The run's folder is empty.",
)
BLACKBOARD: Final = Table.of(
    contract.BlackboardRowOut,
    "KEY AUTHOR VALUE CHANGED=updated_at",
    none="The blackboard is empty.",
    VALUE=lambda one: one.value if isinstance(one.value, str) else readable_json(one.value),
)
KEY: Final = common.argument("KEY", "Key of the entry.")

app = common.group_without_default()
ARTIFACTS: Final = Verbs(app, "artifact", contract.LIST_ARTIFACTS, TABLE)

ARTIFACTS.list("List the artifacts of a run and its ended sub-agents.")
ARTIFACTS.download(
    "download", contract.FETCH_ARTIFACT, "Save an artifact of a run.", named="artifact"
)
ARTIFACTS.list_of(
    "files", contract.LIST_WORK_FILES, FILES, "List the files of the folder of a run's tree."
)
ARTIFACTS.download(
    "file", contract.FETCH_WORK_FILE, "Save a file of the folder of a run's tree.", named="path"
)
ARTIFACTS.list_of(
    "blackboard",
    contract.LIST_BLACKBOARD,
    BLACKBOARD,
    "List the blackboard of a run's tree.",
)
ARTIFACTS.do(
    "entry",
    contract.SHOW_BLACKBOARD_ENTRY,
    "Show an entry of the blackboard with its whole value.",
    named=("key",),
    show=lambda one: write(one.value if isinstance(one.value, str) else readable_json(one.value)),
)
