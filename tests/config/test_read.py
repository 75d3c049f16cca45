from __future__ import annotations

import os
import textwrap
from typing import TYPE_CHECKING

import pytest

from agents.actions.write_agents import PROMPT
from agents.definitions.definition import BLACKBOARD
from agents.definitions.spec import ToolGrant
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.config.errors import ConfigFileError
from heartbit_site.config.locate import find, read_text, server_url
from heartbit_site.config.read import load, parse

if TYPE_CHECKING:
    from pathlib import Path

A = '[[agents]]\nname = "a"\ndescription = "d"\nsystem_prompt = "p"\n'
B = A.replace('"a"', '"b"')


def problems(text: str, folder: Path | None = None) -> list[str]:
    """The lines of the error that reading a text gives."""
    with pytest.raises(ConfigFileError) as caught:
        parse(textwrap.dedent(text), folder=folder)
    return caught.value.lines


def test_given_a_complete_file_then_every_value_arrives() -> None:
    configuration = parse(
        textwrap.dedent(
            """
            [provider]
            name = "anthropic"
            model = "claude-x"
            [provider.retry]
            max_retries = 5
            [orchestrator]
            name = "lead"
            max_parallel = 3
            team = ["b", "a"]
            [[agents]]
            name = "a"
            description = "d"
            system_prompt = "p"
            temperature = 1
            max_retries = 2
            response_schema = '{"type": "object", "properties": {"x": {"enum": [null, 1]}}}'
            context_strategy = { type = "sliding_window", max_tokens = 1000 }
            tools = [
              { name = "http_get", defaults = { x = 1 } },
              { name = "calculate", approval = "when", approval_when = { required = ["x"] } },
            ]
            [[agents]]
            name = "b"
            description = ""
            system_prompt = "q"
            stop = ["END"]
            [server]
            url = "https://heartbit.example"
            """
        )
    )
    lead, a, b = configuration.agents
    assert (configuration.entry, configuration.default_model) == ("lead", "anthropic:claude-x")
    assert configuration.server_url == "https://heartbit.example"
    assert lead.team == ["a", "b"]
    assert (lead.max_parallel, lead.max_retries) == (3, 5)
    assert lead.system_prompt == PROMPT
    assert a.max_retries == 2
    assert repr(a.temperature) == "1.0"
    assert a.response_schema is not None
    assert a.response_schema["properties"]["x"]["enum"] == [None, 1]
    assert a.context_strategy == {"type": "sliding_window", "max_tokens": 1000}
    assert tuple(tool for tool in a.tools if tool.name not in BLACKBOARD) == (
        ToolGrant(
            name="calculate",
            approval="when",
            approval_when={"required": ["x"]},
        ),
        ToolGrant(name="http_get", defaults={"x": 1}),
    )
    assert (b.stop, b.max_turns, b.queue) == (
        ["END"],
        10,
        "agents",
    )


def test_given_several_agents_without_an_orchestrator_then_heartbits_own_leads_them() -> None:
    configuration = parse(A + B + 'team = ["a"]\n' + A.replace('"a"', '"c"') + "enabled = false")
    lead = configuration.agents[0]
    assert (configuration.entry, lead.name) == ("orchestrator", "orchestrator")
    assert lead.team == ["a"]  # b leads itself, c is stopped
    assert lead.system_prompt == PROMPT


def test_given_one_agent_then_it_is_asked() -> None:
    assert [agent.name for agent in parse(A).agents] == ["a"]
    assert parse(A).entry == "a"


@pytest.mark.parametrize("mark", ['"', "'", '"""', "'''"])
def test_an_unclosed_text_of_a_megabyte_is_found_at_once(mark: str) -> None:
    with pytest.raises(ConfigFileError) as caught:
        parse(f"x = {mark}{'a' * 900_000}")
    assert [problem.column for problem in caught.value.problems] == [5]


def test_given_nothing_then_nothing_is_configured() -> None:
    assert parse("").agents == ()
    assert parse("").entry == ""


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ('name = "openai"', "openai:gpt-6-sol"),
        ('name = "openai"\nmodel = "x"', "openai:x"),
        ('name = "openai"\nmodel = "openai:x"', "openai:x"),
        ('model = "openai:x"', "openai:x"),
        ('name = "ollama"\nmodel = "qwen3:8b"', "ollama:qwen3:8b"),
        ("", ""),
    ],
)
def test_the_provider_names_the_default_model(provider: str, model: str) -> None:
    assert parse(f"[provider]\n{provider}").default_model == model


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[agents", "1:8: This is not TOML: expected ']' at the end of a table declaration."),
        ('x = "\n', '1:5: This text is not closed on its line: end it with "'),
        ("x = 'y\nz = 1", "1:5: This text is not closed on its line: end it with '"),
        ('z = "it\'s" # "\nx = """y\nz', '2:5: This text is never closed: end it with """'),
        ("x = it's", "1:5: This is not TOML: invalid value: write text in quotes"),
        ("a = 1\nb = 3\na = 2\n", "3:1: The key a is written twice, here and in line 1"),
        ("[p]\na = 1\n'a' = 2", "3:1: The key p.a is written twice, here and in line 2"),
        ("x = {\"a b\" = 1, 'a b' = 2}", '1:17: The key x."a b" is written twice, here and in l'),
        ("x = {a = 1, a = 2, b = [ } ]", "1:13: The key x.a is written twice, here and in line 1"),
        ("[p]\nx = 1\n[q]\n[p]", "4:2: The table [p] is written twice, here and in line 1"),
        ("[[a]]\nx = 1\n[[a]]\nx = 1\nx = 2", "5:1: The key a.2.x is written twice, here and in "),
        (
            "[[agents]]\n[agents]",
            "2:2: Write [[agents]], with two brackets: there is one in line 1",
        ),
        (
            '[[agents]]\ntools = []\n[[agents]]\ntools = ["x"]\n[[agents.tools]]\nname = "y"',
            "5:10: agents.tools already has its whole value in line 4: move what is written here "
            "into that line, or remove that line.",
        ),
        ("[a]\nb = { x = 1 }\nb.c = 2", "3:8: a.b already has its whole value in a line above"),
        ("a.b = 1\na.b.c = 2", "2:10: This is not TOML: a part of the key already has a value."),
        ("x = " + "[" * 5000, " Values are nested too deeply."),
        ("a." * 101 + "b = 1", " Values are nested too deeply."),
        ("[" + "a." * 900 + "b]", " Values are nested too deeply."),
        (
            A + "response_schema." + "a." * 90 + "b = 1",
            "5:1: agents.a.response_schema holds a value t",
        ),
        ("x = " + "1" * 5000, " This is not TOML: exceeds the limit"),
        (
            "agents = 1",
            "1:1: agents must be an array of tables: write [[agents]], with two brackets",
        ),
        ("[agents]", "1:2: agents must be an array of tables: write [[agents]], with two brackets"),
        ("agents = [1]", "1:11: agents[1] must be a table, not 1."),
        ("provider = 1", "1:1: provider must be a table, not 1."),
        ("[telemetry]\notlp_endpoint = 'collector:4317'", "2:1: telemetry.otlp_endpoint is"),
        ("[telemetry]\njson_logs = 'yes'", "2:1: telemetry.json_logs must be true or false"),
        (
            "[mcp_servers]",
            "1:2: mcp_servers must be an array of tables: write [[mcp_servers]]",
        ),
        (
            "[[mcp_servers]]\nname = 'git'",
            "1:3: mcp_servers.git.url is missing (or command, for",
        ),
        (
            "[[mcp_servers]]\nname = 'git'\ncommand = 'rm'",
            '3:1: mcp_servers.git.command is "rm", which is not a program of',
        ),
        (
            "[[mcp_servers]]\nname = 'Git!'\nurl = 'https://x.example/mcp'",
            '2:1: mcp_servers[1].name is "Git!"; use lower-case letters, digits and underscores',
        ),
        (
            "[[mcp_servers]]\nname = 'git'\nurl = 'https://a:b@x.example/mcp'",
            "3:1: mcp_servers.git.url contains a name, a password or a part that begins with #",
        ),
        (
            "[[mcp_servers]]\nname = 'a'\nurl = 'https://x.example'\ncommand = 'b'",
            "4:1: mcp_servers.a.command is given together with url: keep one of them",
        ),
        (
            2 * "[[mcp_servers]]\nname = 'a'\nurl = 'https://x.example'\n",
            '5:1: mcp_servers[2].name is "a", which is already the name of another MCP server',
        ),
        (
            "[[mcp_servers]]\nname = 'a'\nurl = 'https://x.example'\ntimeout_seconds = 0",
            "4:1: mcp_servers.a.timeout_seconds must be at least 1, not 0",
        ),
        ("[orchestator]", "1:2: orchestator is not a section; did you mean orchestrator?"),
        (
            "[zzz]",
            "1:2: zzz is not a section; there are: provider, orchestrator, agents, schedules, mcp_",
        ),
        ('[provider]\nname = "opnai"', '2:1: provider.name names the unknown provider "opnai"; '),
        ('[provider]\nname = "compatible"', "1:2: provider.model is missing: compatible has no"),
        ('[provider]\nmodel = "gpt"', "1:2: provider.name is missing: one of anthropic, openrou"),
        (
            '[provider]\nname = "openai"\nbase_url = "https://evil.example"',
            "3:1: provider.base_url is not accepted for openai: a file must not decide where a key "
            "is sent, so set OPENAI_BASE_URL or the admin's provider account.",
        ),
        (
            '[provider]\nname = "ollama"\nbase_url = "ftp://x"',
            '3:1: provider.base_url is "ftp://x", not an http or https URL; write it like https://',
        ),
        (
            '[server]\nurl = "https://me:pass@x"',
            "2:1: server.url holds a name or password; keys never belong here",
        ),
        (
            '[provider]\nname = "openai"\napi_key = "sk-1"',
            "3:1: provider.api_key is not a setting; keys never belong here: set them in",
        ),
        (
            "[provider.retry]\nmax_retry = 1",
            "2:1: provider.retry.max_retry is not a setting; did you mean max_retries?",
        ),
        (A + "max_turn = 1", "5:1: agents.a.max_turn is not a setting; did you mean max_turns?"),
        (A + "max_turns = 0", "5:1: agents.a.max_turns must be at least 1, not 0."),
        (A + 'max_turns = "9"', '5:1: agents.a.max_turns must be a whole number, not "9".'),
        (A + "enabled = 1", "5:1: agents.a.enabled must be true or false, not 1."),
        (A + "temperature = nan", "5:1: agents.a.temperature must be a number, not NaN."),
        (A + 'approval = "x"', '5:1: agents.a.approval must be "never", "effects" or "always", no'),
        (A + 'stop = ["", "x"]', "5:9: agents.a.stop[1] must not be empty."),
        (A + 'stop = ["1", "2", "3", "4", "5"]', "5:1: agents.a.stop must have at most 4 entries"),
        (
            A.replace('"d"', f'"{"d" * 301}"'),
            "3:1: agents.a.description must have at most 300 characters, not 301 characters.",
        ),
        (A.replace('"p"', '""'), "4:1: agents.a.system_prompt must not be empty."),
        (A + 'tools = ["http_gt"]', '5:10: agents.a.tools[1].name names the unknown tool "http_gt'),
        (A + 'tools = ["http_gt"]', "did you mean http_get?"),
        (A + 'tools = ["calculate", "calculate"]', '5:23: agents.a.tools[2] names "calculate" tw'),
        (A + "tools = [1]", "5:10: agents.a.tools[1] must be a table, not 1."),
        (
            A + 'tools = [{ name = "calculate", approval = "when" }]',
            '5:10: agents.a.tools[1] needs both approval = "when" and approval_when, or neither.',
        ),
        (
            A + 'tools = [{ name = "http_get", defaults.headers.api_key = "x" }]',
            "5:48: agents.a.tools[1].defaults.headers.api_key looks like a secret; keys never",
        ),
        (A + 'model = "gpt-5"', '5:1: agents.a.model is "gpt-5"; write provider:model, such as op'),
        (A + 'model = "opnai:x"', '5:1: agents.a.model names the unknown provider "opnai"; did yo'),
        (A + 'model = "openai:"', '5:1: agents.a.model is "openai:", which names no model; write'),
        (
            A + 'fallback_models = ["x"]',
            '5:20: agents.a.fallback_models[1] is "x"; write provider:model, such as openai:x.',
        ),
        (
            A + 'context_strategy = { type = "sliding" }',
            "5:1: agents.a.context_strategy cannot be used: a context strategy cannot be of type",
        ),
        (
            A + 'response_schema = { type = "objekt" }',
            "5:1: agents.a.response_schema cannot be used: ",
        ),
        (
            A + "response_schema = '{'",
            "5:1: agents.a.response_schema holds no valid JSON: the JSON is malformed at line 1",
        ),
        (
            A + "response_schema.default = 1979-05-27",
            "5:1: agents.a.response_schema holds a value that JSON cannot represent",
        ),
        (A + "response_schema.default = inf", "a value that JSON cannot represent: nan"),
        (A + 'stop = ["\\u0000"]', "5:9: agents.a.stop[1] holds a NUL character, which cannot be"),
        (A + A, '6:1: agents[2].name is "a", which is already the name of another agent.'),
        (A.replace('"a"', '"A b"'), '2:1: agents[1].name is "A b"; use lower-case letters'),
        ('[[agents]]\nname = "x"', "1:3: agents.x.description is missing."),
        ('[[agents]]\nname = "x"', "1:3: agents.x.system_prompt is missing (or system_prompt_f"),
        ("[orchestrator]", "1:2: orchestrator.system_prompt is missing (or system_prompt_file)."),
        (A + B + 'team = ["c"]', '9:9: agents.b.team[1] names "c", not an agent of this file'),
        (A + B + 'team = ["b"]', '9:9: agents.b.team[1] names "b": an agent cannot be in its own '),
        (A + B + 'team = ["a", "a"]', '9:14: agents.b.team[2] names "a" twice.'),
        (
            A.replace('"a"', '"orchestrator"') + B,
            '2:1: agents[1].name is "orchestrator": write that agent as [orchestrator].',
        ),
        (A + 'system_prompt_file = "x"', "5:1: agents.a.system_prompt_file is given with system"),
    ],
)
def test_given_a_mistake_then_one_line_says_where_and_what(text: str, line: str) -> None:
    found = problems(text)
    assert any(line in one for one in found), found
    assert all(one.startswith("heartbit.toml:") for one in found)
    assert all("\n" not in one for one in found)


def test_given_several_mistakes_then_all_are_told_from_the_top_down() -> None:
    found = problems(
        """\
        [provider]
        name = "opnai"
        [[agents]]
        name = "researcher"
        system_prompt = "p"
        max_turn = 3
        max_tokens = -1
        tools = ["nothing_like_it"]
        [workflows]
        """
    )
    places = [tuple(map(int, line.split(":")[1:3])) for line in found]
    assert places == [(2, 1), (3, 3), (6, 1), (7, 1), (8, 10), (9, 2)]


def test_a_mistake_in_a_workflow_is_told_where_it_is_written() -> None:
    found = problems(
        """\
        [[workflows]]
        name = "digest"
        [workflows.steps.sum]
        pause = "1m"
        [workflows.steps.fact]
        retry = "x"
        pause = "1m"
        [[workflows]]
        name = "count"
        nodes.up = { set = {}, retry = { times = 99 } }
        """
    )
    said = "must be a number of retries, or a table with times."
    assert [line.removeprefix("heartbit.toml:") for line in found] == [
        f"6:1: workflows.digest.steps.fact.retry {said}",
        "10:34: workflows.count.nodes.up.retry.times must be at most 20, not 99.",
    ]


def test_the_error_itself_is_one_sentence_that_says_how_many_more_there_are() -> None:
    with pytest.raises(ConfigFileError) as caught:
        parse("a = 1\nb = 2\n")
    assert str(caught.value).endswith(
        "(and 1 more: `heartbit config check heartbit.toml` lists them)"
    )


def test_given_hundreds_of_mistakes_then_the_first_ones_are_told_and_that_there_are_more() -> None:
    text = "".join(f"key_{number} = 1\n" for number in range(50_000))
    with pytest.raises(ConfigFileError) as caught:
        parse(text)
    lines = caught.value.lines
    assert len(caught.value.problems) == 200
    assert len(lines) == 201
    assert lines[199].startswith("heartbit.toml:200:1: key_199 ")
    assert lines[200] == ("heartbit.toml: There are more than these 200 problems: fix them first.")
    assert "(and at least 200 more: " in str(caught.value)
    just = "".join(f"key_{number} = 1\n" for number in range(200))
    assert len(problems(just)) == 200


@pytest.mark.parametrize(
    "line",
    ["a{} = 1", "[a{}]", "[[a{}]]", "x = {{ a{} = 1 }}"],
    ids=["key", "header", "array", "inline"],
)
def test_given_a_line_with_thousands_of_dots_then_it_is_refused_before_it_costs_hours(
    line: str, tmp_path: Path
) -> None:
    text = "\n" + line.format(".a" * 400_000)
    [told] = problems(text)
    assert told == "heartbit.toml:2:1: The line has more than 1,000 dots: break it up."
    (tmp_path / "f").write_text(text)
    with pytest.raises(ConfigurationError, match=r"line 2 has more than 1,000 dots"):
        server_url(tmp_path / "f")


def test_given_a_line_with_a_thousand_dots_then_it_is_read() -> None:
    prompt = "." * 1_000
    assert parse(A.replace('"p"', f'"{prompt}"')).agents[0].system_prompt == prompt


def test_a_key_is_never_repeated_in_the_complaint() -> None:
    assert "hunter2" not in " ".join(problems('[provider]\nname = "openai"\ntoken = "hunter2"\n'))


def test_max_tokens_is_no_token() -> None:
    assert parse(A + "max_tokens = 7").agents[0].max_tokens == 7


# ------------------------------------------------------------------------------------ prompt files


def test_given_a_prompt_file_then_its_text_is_the_prompt(tmp_path: Path) -> None:
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts/a.md").write_bytes("Été\r\nline 2\n".encode())
    (tmp_path / "heartbit.toml").write_text(
        A.replace('system_prompt = "p"', 'system_prompt_file = "prompts/a.md"')
    )
    [agent] = load(tmp_path / "heartbit.toml").agents
    assert agent.system_prompt == "Été\nline 2\n"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../secret", "which is outside the folder of this file"),
        ("/etc/passwd", "which is outside the folder of this file"),
        ("link", "which is outside the folder of this file"),
        ("missing", "names a file that cannot be used"),
        (".", 'names ".", which is not a file'),
        ("pipe", 'names "pipe", which is not a file'),
        ("empty", "which is empty"),
        ("latin1", "is not UTF-8"),
        ("x\\u0000", "contains a NUL character"),
    ],
)
def test_given_a_prompt_file_that_cannot_be_used_then_it_is_refused(
    tmp_path: Path, name: str, reason: str
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "secret").write_text("s")
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "empty").write_text(" \n")
    os.mkfifo(folder / "pipe")
    (folder / "latin1").write_bytes(b"\xe9")
    text = A.replace('system_prompt = "p"', f'system_prompt_file = "{name}"')
    [line] = problems(text, folder)
    assert "agents.a.system_prompt_file" in line
    assert reason in line


def test_given_text_without_a_folder_then_a_prompt_file_is_refused() -> None:
    [line] = problems(A.replace("system_prompt =", "system_prompt_file ="))
    assert "needs a configuration that is itself a file" in line


# ------------------------------------------------------------------------------- where the file is


def test_the_file_named_wins_over_the_variable_and_the_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("option.toml", "variable.toml", "heartbit.toml"):
        (tmp_path / name).write_text("")
    monkeypatch.chdir(tmp_path)
    variable = {"HEARTBIT_CONFIG": str(tmp_path / "variable.toml")}
    assert find(tmp_path / "option.toml", variable) == tmp_path / "option.toml"
    assert find(None, variable) == tmp_path / "variable.toml"
    found = find(None, {})
    assert found is not None
    assert found.name == "heartbit.toml"
    (tmp_path / "heartbit.toml").unlink()
    assert find(None, {}) is None


def test_given_a_file_that_is_not_there_then_who_named_it_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"^The file .*nope does not exist: name your"):
        find(tmp_path / "nope", {})
    with pytest.raises(ConfigurationError, match=r"^HEARTBIT_CONFIG names .*, which is not a file"):
        find(None, {"HEARTBIT_CONFIG": str(tmp_path)})


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"# " + b"x" * 1_000_000, "is larger than 1 MB"),
        (b"a = 1\nb = '\xff'", ":2 is not UTF-8"),
    ],
)
def test_given_a_file_that_cannot_be_read_then_it_says_why(
    tmp_path: Path, content: bytes, reason: str
) -> None:
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(ConfigurationError, match=reason):
        load(tmp_path / "f")


def test_a_byte_order_mark_and_windows_line_endings_do_not_matter(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"\xef\xbb\xbf[server]\r\nurl = 'http://x'\r\n")
    assert read_text(tmp_path / "f") == "[server]\nurl = 'http://x'\n"
    assert load(tmp_path / "f").server_url == "http://x"


def test_the_server_is_known_without_looking_at_the_rest(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("[server]\nurl = ' http://x '\n[nonsense]\n")
    assert server_url(tmp_path / "f") == "http://x"
    (tmp_path / "f").write_text("server = 1")
    assert server_url(tmp_path / "f") == ""
    (tmp_path / "f").write_text("server")
    with pytest.raises(ConfigurationError, match=r"is not TOML .*config check"):
        server_url(tmp_path / "f")


def test_given_an_empty_fallback_model_then_it_must_not_be_empty() -> None:
    assert problems(f'{A}fallback_models = [""]\n') == [
        "heartbit.toml:5:20: agents.a.fallback_models[1] must not be empty."
    ]
