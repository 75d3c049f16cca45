"""The form of an API: fields of its transport, operations to check, tools in the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.sync_api import expect

from tests.openapi.server import DOCUMENTS
from tests.web.people import person
from tools.models import CatalogueTool

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.web.conftest import Visitors


def test_given_an_uploaded_document_when_operations_are_checked_then_they_are_tools(
    visitors: Visitors, workspace: Workspace
) -> None:
    visitor = visitors(user=person(operator=True))
    page = visitor.page
    visitor.go("/admin/tools/mcpserver/add/")
    page.locator("[name=workspace]").select_option(str(workspace.pk), force=True)
    page.locator("[name=name]").fill("tracker")
    expect(page.locator("[name=openapi]")).to_be_hidden()
    page.locator("[name=transport]").select_option("openapi", force=True)
    expect(page.locator("[name=openapi]")).to_be_visible()
    page.locator("[name=file]").set_input_files(DOCUMENTS / "issues.yaml")
    page.get_by_label("Private data where outsiders write or read, too").check()
    page.locator("[name=_continue]").click()
    expect(page.locator("body")).to_contain_text("0 of 5 operations are tools.")
    page.get_by_label("createIssue").check()
    page.locator("[name=_continue]").click()
    expect(page.locator("body")).to_contain_text("1 of 5 operations is a tool.")
    tool = CatalogueTool.objects.get(server__workspace=workspace)
    assert tool.name == "tracker_create_issue"
    assert "shared" in tool.labels
