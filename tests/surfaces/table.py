"""Where each verb of each noun is done: the table of surfaces. Data alone.

A line is ``operation | command | page | admin | library``. The operation is REST's; the page is the
name of a URL below ``/w/<workspace>/``; the admin is the path of a list, with what is done there
(``add``, ``change``, ``delete``; nothing: it is shown, or done by an action of the page). A cell
``-word`` is left out on purpose, for the reason of that name; an empty cell is a hole.
"""
# ruff: noqa: E501  a row of the table is a line

from __future__ import annotations

REASONS = {
    "code": "The library runs agents, here or on a fleet; a program changes rows by REST.",
    "rows": "Set-up is in the admin; the pages of the house are for work.",
    "work": "Work on runs is on pages, commands and routes; the admin keeps rows.",
    "beside": "It is shown beside its row, or is a part of another verb of this surface.",
    "typed": "A form asks while it is filled in; a command says the same when it has made the row.",
    "text": "A file of text is for commands and programs; a page has the rows themselves.",
    "fleet": "The page Fleet has it; the admin's row of a worker is for looking.",
    "owner": "It is of the signed-in person alone; the admin is about all.",
    "decision": "A decision about a call makes it; it is no row that somebody writes.",
    "signed": "It needs a password or a secret that no page shows again.",
    "chain": "`heartbit audit verify` checks every chain, the workspace's too.",
    "program": "Programs ask it to go on; a person sees it happen.",
    "tool": "Agents' tools write there; a page would be a second drive.",
    "kept": "Agents and programs keep it; people look at it by command.",
    "browser": "The browser that is notified has to ask for it itself.",
    "figures": "Pages show what a person reads; these are owners and costs, for who asks for them.",
    "restored": "It follows a restore, which is made at a terminal; the run's page names the command.",
    "local": "It is about the processes or files of the machine that it runs on.",
}

TABLE = """
agents.list_agents | agents list | agents | agents/agent | -code
agents.create_agent | agents add | -rows | agents/agent add | Heartbit.agent
agents.list_agent_templates | agents templates | agent-new | agents/agent add | -code
agents.show_agent | agents show | agent | agents/agent change | -code
agents.change_agent | agents change | agent-publish | agents/agent change | -code
agents.show_agent_uses | agents remove | -rows | agents/agent delete | -code
agents.remove_agent | agents remove | -rows | agents/agent delete | -code
agent_status.list_agent_statuses | agents status | agents | agents/agent | -code
agent_status.show_agent_status | agents status | agent | agents/agent | -code
agent_status.start_agent | agents start | -rows | agents/agent change | -code
agent_status.stop_agent | agents stop | -rows | agents/agent change | -code
agent_status.restart_agent | agents restart | -rows | agents/agent change | -code
versions.list_versions | agents versions | agent-versions | agents/agentversion | -code
versions.compare_versions | agents diff | agent-version | agents/agentversion | -code
versions.show_version | agents version | agent-version | agents/agentversion | -code
versions.roll_back | agents rollback | agent-version | agents/agentversion | -code
approvals.list_approvals | approve | inbox | -work | Fleet.approvals
approvals.list_uncertain_calls | resolve | inbox | -work | -code
approvals.list_decisions | runs show | run-inspector | agents/decision | -code
approvals.get_question | approve | inbox | -work | Heartbit.on_approval
approvals.decide | approve | inbox-decide | -work | Fleet.decide_call
approvals.resolve_call | resolve | inbox-decide | -work | -code
approvals.dry_run | approve | inbox | -work | -code
artifacts.list_artifacts | artifacts list | run | -work | Result
artifacts.fetch_artifact | artifacts download | run | -work | Result
work_files.list_work_files | artifacts files | run | -work | -code
work_files.fetch_work_file | artifacts file | run | -work | -code
blackboard.list_blackboard | artifacts blackboard | run | -work | Heartbit.blackboard
blackboard.show_blackboard_entry | artifacts entry | run | -work | -code
audit.list_audit_entries | audit list | -rows | base/auditentry | -code
audit.verify_audit | -chain | -rows | base/auditentry | -code
audit.verify_all_audits | audit verify | -rows | base/auditentry | -code
budgets.list_budgets | budgets list | health-usage | agents/budget | -code
budgets.create_budget | budgets add | -rows | agents/budget add | -code
budgets.change_budget | budgets change | -rows | agents/budget change | -code
budgets.remove_budget | budgets remove | -rows | agents/budget delete | -code
calls.list_calls | runs show | run | -work | -code
calls.show_call | runs show | run-inspector | -work | -code
channels.list_channels | channels list | -rows | agents/channel | -code
channels.create_channel | channels add | -rows | agents/channel add | -code
channels.change_channel | channels change | -rows | agents/channel change | -code
channels.remove_channel | channels remove | -rows | agents/channel delete | -code
channels.rotate_channel_secret | channels rotate-secret | -rows | agents/channel change | -code
channels.list_inbound_messages | channels show | -rows | agents/inboundmessage | -code
configuration.export_configuration | config export | -text | -text | -code
configuration.import_configuration | config import | -text | -text | -code
conversations.create_conversation | conversations add | chat-agent | -work | Heartbit.conversation
conversations.list_conversations | conversations list | chat | agents/conversation | -code
conversations.show_conversation | conversations show | conversation | agents/conversation | -code
conversations.change_conversation | conversations change | conversation | -work | -code
conversations.delete_conversation | conversations remove | conversation | -work | -code
private_conversations.list_private_conversations | conversations private | -figures | agents/conversation | -code
conversations.post_message | conversations post | conversation | -work | Conversation.say
credentials.list_credential_types | credentials types | credentials | tools/credential add | -code
credentials.list_credentials | credentials list | credentials | tools/credential | -code
credentials.create_credential | credentials add | credentials | tools/credential add | -code
credentials.change_credential | credentials change | -rows | tools/credential change | -code
credentials.remove_credential | credentials remove | credentials | tools/credential delete | -code
credentials.check_credential | credentials check | credentials | tools/credential | -code
deliveries.list_deliveries | deliveries list | run | agents/delivery | -code
deliveries.redeliver_result | deliveries redeliver | run | agents/delivery | -code
drive.list_drive_files | drive list | -tool | -tool | -code
drive.fetch_drive_file | drive download | -tool | -tool | -code
drive.save_drive_file | drive upload | -tool | -tool | -code
drive.remove_drive_file | drive remove | -tool | -tool | -code
fleet.show_fleet | fleet status | health-fleet | agents/workerheartbeat | -code
fleet.stop_worker | fleet stop | health-fleet | -fleet | -code
fleet.restart_worker | fleet restart | health-fleet | -fleet | -code
pauses.pause_queue | fleet pause-queue | health-fleet | -fleet | -code
pauses.resume_queue | fleet resume-queue | health-fleet | -fleet | -code
pauses.halt_everything | fleet halt | health-fleet | -fleet | -code
pauses.resume_everything | fleet resume | health-fleet | -fleet | -code
pauses.halt_any_workspace | fleet halt | health-fleet | -fleet | -code
pauses.resume_any_workspace | fleet resume | health-fleet | -fleet | -code
pauses.disable_tool | fleet disable-tool | -rows | tools/cataloguetool | -code
pauses.enable_tool | fleet enable-tool | -rows | tools/cataloguetool | -code
pauses.disable_tool_in_any_workspace | fleet disable-tool | -rows | tools/cataloguetool | -code
pauses.enable_tool_in_any_workspace | fleet enable-tool | -rows | tools/cataloguetool | -code
pauses.halt_workspace | fleet halt | health-fleet | -fleet | -code
pauses.resume_workspace | fleet resume | health-fleet | -fleet | -code
pauses.disable_tool_in_workspace | tools disable | -rows | tools/cataloguetool | -code
pauses.enable_tool_in_workspace | tools enable | -rows | tools/cataloguetool | -code
grants.list_grants | grants list | account | agents/grant | -code
grants.revoke_grant | grants revoke | account | agents/grant | -code
knowledge.list_knowledge_bases | knowledge list | -rows | memory/knowledgebase | -code
knowledge.save_knowledge_base | knowledge create | -rows | memory/knowledgebase add | -code
knowledge.show_knowledge_base | knowledge list | -rows | memory/knowledgebase change | -code
knowledge.remove_knowledge_base | knowledge delete | -rows | memory/knowledgebase delete | -code
knowledge.refresh_knowledge_base | knowledge refresh | -rows | memory/knowledgebase | -code
knowledge.list_documents | knowledge documents | -rows | memory/document | -code
knowledge.save_document | knowledge add | -rows | memory/document add | -code
knowledge.show_document | -beside | -rows | memory/document change | -code
knowledge.remove_document | knowledge remove | -rows | memory/document delete | -code
knowledge.search_knowledge | knowledge search | -rows | -work | -code
knowledge.show_passage | knowledge show | passage | -beside | -code
mcp_servers.list_mcp_servers | mcp list | -rows | tools/mcpserver | -code
mcp_servers.create_mcp_server | mcp add | -rows | tools/mcpserver add | -code
mcp_servers.show_mcp_server | mcp show | -rows | tools/mcpserver change | -code
mcp_servers.change_mcp_server | mcp change | -rows | tools/mcpserver change | -code
mcp_servers.remove_mcp_server | mcp remove | -rows | tools/mcpserver delete | -code
mcp_servers.refresh_mcp_server | mcp refresh | -rows | tools/mcpserver | -code
mcp_servers.accept_mcp_changes | mcp accept | -rows | tools/mcpserver | -code
identity.show_me | members me | account | -owner | -code
members.list_members | members list | -rows | base/membership | -code
members.add_member | members add | -rows | base/membership add | -code
members.change_member | members role | -rows | base/membership change | -code
members.remove_member | members remove | -rows | base/membership delete | -code
own_keys.list_own_keys | keys list | account | -owner | -code
own_keys.create_own_key | keys create | account | -owner | -code
own_keys.revoke_own_key | keys revoke | account | -owner | -code
keys.list_keys | keys list | -rows | base/apikey | -code
keys.create_key | keys create | -rows | base/apikey add | -code
keys.revoke_key | keys revoke | -rows | base/apikey | -code
memories.list_memories | memory list | -rows | memory/memoryitem | -code
memories.search_memories | memory recall | -rows | memory/memoryitem | -code
memories.create_memory | memory add | -rows | memory/memoryitem | -code
memories.show_memory_settings | memory settings | -rows | memory/memorypolicy | -code
memories.change_memory_settings | memory settings | -rows | memory/memorypolicy change | -code
memories.export_person | memory export | -rows | memory/memoryitem | -code
state.list_state | state list | -kept | -kept | Heartbit.state
state.get_state | state get | -kept | -kept | Heartbit.state
state.set_state | state set | -kept | -kept | Heartbit.state
state.has_state | state exists | -kept | -kept | Heartbit.state
state.delete_state | state delete | -kept | -kept | Heartbit.state
collections.list_collections | collections list | -kept | -kept | -code
collections.create_collection | collections create | -kept | -kept | Heartbit.collection
collections.show_collection | collections list | -kept | -kept | -code
collections.remove_collection | collections remove | -kept | -kept | Heartbit.collection
collections.upsert_items | collections import | -kept | -kept | Heartbit.collection
collections.delete_items | collections delete | -kept | -kept | Heartbit.collection
collections.search_collection | collections search | -kept | -kept | Heartbit.collection
memories.erase_memories | memory clear | -rows | memory/memoryitem | -code
memories.show_memory | memory show | -rows | memory/memoryitem | -code
memories.change_memory | memory change | -rows | memory/memoryitem | -code
memories.forget_memory | memory forget | -rows | memory/memoryitem | -code
memories.undo_memory_change | memory undo | -rows | memory/memoryitem | -code
messages.list_messages | inbox | run | agents/message | -code
messages.show_message | inbox | run | agents/message | -code
messages.send_message | inbox | -program | -work | -code
prices.list_prices | prices list | -rows | agents/modelprice | -code
prices.set_price | prices set | -rows | agents/modelprice add | -code
prices.remove_price | prices remove | -rows | agents/modelprice delete | -code
provider_accounts.list_provider_accounts | provider-accounts list | -rows | base/provideraccount | -code
provider_accounts.create_provider_account | provider-accounts add | -rows | base/provideraccount add | -code
provider_accounts.change_provider_account | provider-accounts change | -rows | base/provideraccount change | -code
provider_accounts.check_provider_account | provider-accounts check | -rows | base/provideraccount | -code
provider_accounts.remove_provider_account | provider-accounts remove | -rows | base/provideraccount delete | -code
runs.start_run | submit | chat-agent | agents/agent | Fleet.submit
runs.list_runs | runs list | runs | agents/run | Fleet.runs
runs.show_run | runs show | run | agents/run | FleetRun.show
runs.wait_for_result | result | run | -work | FleetRun.result
runs.cancel_run | cancel | run | -work | FleetRun.cancel
runs.steer_run | runs steer | run | -work | FleetRun.steer
runs.retry_run | runs retry | run | -work | -code
runs.unquarantine_run | runs unquarantine | run | -work | -code
runs.discard_run | runs discard | run | -work | -code
runs.release_run | runs release | -restored | -work | -code
schedules.list_schedules | schedules list | schedules | scheduling/schedule | -code
schedules.create_schedule | schedules add | schedule-new | scheduling/schedule add | -code
schedules.preview_schedule | -typed | schedule-preview | scheduling/schedule add | -code
schedules.show_schedule | schedules show | schedule | scheduling/schedule change | -code
schedules.change_schedule | schedules change | schedule | scheduling/schedule change | -code
schedules.remove_schedule | schedules remove | schedule | scheduling/schedule delete | -code
schedules.run_schedule | schedules run | schedule | scheduling/schedule | -code
schedules.backfill_schedule | schedules backfill | schedule | scheduling/schedule | -code
schedules.list_firings | schedules show | schedule | scheduling/firing | -code
skills.list_skills | skills list | -rows | agents/skill | -code
skills.save_skill | skills add | -rows | agents/skill add | -code
skills.show_skill | skills show | -rows | agents/skill change | -code
skills.show_skill_file | skills show | -rows | agents/skill change | -code
skills.remove_skill | skills remove | -rows | agents/skill delete | -code
skills.list_skill_versions | skills versions | -rows | agents/skill change | -code
skills.compare_skill_versions | skills diff | -rows | agents/skill change | -code
skills.roll_skill_back | skills rollback | -rows | agents/skill change | -code
tools.list_tools | tools list | -rows | tools/cataloguetool | tool
tools.show_tool | tools show | -rows | tools/cataloguetool | -code
tools.try_tool | tools try | -rows | tools/cataloguetool | -code
turns.list_turns | runs show | run | -work | -code
turns.show_turn | runs show | run-turn | -work | -code
turns.fork_run | runs fork | run-fork | -work | -code
usage.show_usage | usage | health-usage | base/usageentry | Usage
users.list_users | users list | -rows | auth/user | -code
users.create_user | users create | -rows | auth/user add | -code
users.set_password | users password | account | auth/user change | -code
waits.list_waits | answer | inbox | -work | -code
waits.answer_wait | answer | inbox | -work | -code
chat_apps.list_chat_apps | chat-apps list | account | agents/chatapp | -code
chat_apps.create_chat_app | chat-apps add | -rows | agents/chatapp add | -code
chat_apps.change_chat_app | chat-apps change | -rows | agents/chatapp change | -code
chat_apps.check_chat_app | chat-apps check | -rows | agents/chatapp | -code
chat_apps.remove_chat_app | chat-apps remove | -rows | agents/chatapp delete | -code
chat_apps.link_chat_account | chat-apps link | account | -owner | -code
chat_apps.unlink_chat_account | chat-apps unlink | account | -owner | -code
webhooks.list_webhooks | webhooks list | -rows | agents/webhookendpoint | -code
webhooks.create_webhook | webhooks add | -rows | agents/webhookendpoint add | -code
webhooks.change_webhook | webhooks change | -rows | agents/webhookendpoint change | -code
webhooks.remove_webhook | webhooks remove | -rows | agents/webhookendpoint delete | -code
webhooks.rotate_webhook_secret | webhooks rotate-secret | -rows | agents/webhookendpoint change | -code
webhooks.ping_webhook | webhooks ping | -rows | agents/webhookendpoint | -code
webhooks.list_webhook_deliveries | webhooks deliveries | -rows | agents/webhookdelivery | -code
webhooks.show_webhook_delivery | webhooks delivery | -rows | agents/webhookdelivery | -code
webhooks.redeliver_webhook | webhooks redeliver | -rows | agents/webhookdelivery | -code
workflows.list_workflows | workflows list | -rows | agents/workflow | -code
workflows.create_workflow | workflows publish | -rows | agents/workflow add | Heartbit.workflow
workflows.show_workflow | workflows show | run | agents/workflow change | -code
workflows.change_workflow | workflows publish | -rows | agents/workflow change | -code
workflows.check_workflow | workflows check | -rows | agents/workflow change | -code
workflows.show_statistics | workflows statistics | -rows | agents/workflow | -code
workflows.move_runs | workflows move | -rows | agents/workflow | -code
workspaces.list_all_workspaces | workspaces list | -rows | base/workspace | -code
workspaces.create_workspace | workspaces add | -rows | base/workspace add | -code
workspaces.show_workspace | workspaces show | -rows | base/workspace change | -code
workspaces.change_workspace | workspaces change | -rows | base/workspace change | -code
"""

#: Verbs without an operation, by what stands in for one.
WITHOUT_ROUTE = """
run here | run | -local | -local | Heartbit.run
resume here | resume | -local | -local | Heartbit.resume
archive runs | runs archive | -local | -local | -code
export a run | runs export | -local | -local | -code
run a workflow here | workflows run | -local | -local | Heartbit.workflow
serve MCP here | mcp serve | -local | -local | -code
read documents here | knowledge read | -local | -local | -code
check a file | config check | -local | -local | -code
follow events | events | runs | -work | FleetRun.events
watch runs | status | run | -work | Heartbit.on_event
sign a chat app | chat-apps sign | -rows | agents/chatapp change | -code
connect a chat app | chat-apps connect | -rows | agents/chatapp change | -code
assign a skill | skills assign | agent-publish | agents/agent change | -code
unassign a skill | skills unassign | agent-publish | agents/agent change | -code
sign in to a server | mcp connect | connect | -signed | -code
pause a schedule | schedules pause | schedule | scheduling/schedule | -code
resume a schedule | schedules resume | schedule | scheduling/schedule | -code
draw a workflow | workflows graph | drawing | agents/workflow change | -code
notify a browser | -browser | inbox-notify | -owner | -code
compare runs | -typed | run-compare | -work | -code
limits of a tier | -rows | -rows | base/tier add | -code
groups of approvers | -rows | -rows | auth/group add | -code
alerts of a workspace | -rows | health-alerts | agents/workspacealert | -code
delete a workflow | agents remove | -rows | agents/workflow delete | -code
add one item of a collection | collections add | -kept | -kept | Heartbit.collection
grant by a decision | approve | inbox-decide | -decision | -code
"""

#: Commands of the machine itself, and words of a group that show several operations.
COMMANDS_OF_THE_MACHINE = {
    "serve",
    "web",
    "beat",
    "up",
    "down",
    "doctor",
    "completion",
    "backup",
    "restore",
}
#: Pages that lead to others, show a part of one, or are the frame's.
PARTS_OF_PAGES = {
    *("fleet", "usage", "approvals", "health", "agent-test", "run-node", "picture", "find"),
}
#: Lists of the admin that belong to what is drawn there, or to another package.
OF_OTHER_PACKAGES = {"axes/accessattempt", "agents/toolcall"}
