"""A run's outcome in one form: status, data, artifacts, metrics, error."""

from __future__ import annotations

import json

import pytest

from agents.output.results import MAX_ARTIFACTS, ArtifactOut, MetricsOut, build

METRICS = MetricsOut(
    duration_ms=1200,
    queued_ms=20,
    model_calls=2,
    tool_calls=3,
    input_tokens=0,
    output_tokens=0,
    cost_usd="0.01",
)
ANSWER = "Run this:\n\n```python\nprint(1)\n```\n\nand then\n\n```\nls"


@pytest.mark.parametrize(
    ("status", "text", "data", "error", "expected"),
    [
        ("succeeded", "done", None, None, ("success", None)),
        ("succeeded", "", None, None, ("success", None)),
        ("succeeded", "done", None, "left over", ("success", None)),
        ("failed", "half", None, "Stopped.", ("partial", "Stopped.")),
        ("failed", " \n", None, "Stopped.", ("failure", "Stopped.")),
        ("failed", "", {}, "Stopped.", ("partial", "Stopped.")),
        ("cancelled", "half", None, None, ("partial", "The run was cancelled.")),
        ("cancelled", "", None, "", ("failure", "The run was cancelled.")),
        ("quarantined", "", None, None, ("failure", "The run was quarantined.")),
    ],
)
def test_given_how_a_run_ended_then_the_result_says_what_there_is(
    status: str,
    text: str,
    data: dict[str, int] | None,
    error: str | None,
    expected: tuple[str, str | None],
) -> None:
    result = build(
        status,
        text=text,
        data=None if data is None else dict(data),
        error=error,
        metrics=METRICS,
    )
    assert (result.status, result.error) == expected
    assert result.metrics == METRICS
    assert result.text == text


def test_given_that_something_failed_meanwhile_then_a_run_that_succeeded_is_partial() -> None:
    result = build(
        "succeeded", text="", data=None, error=None, metrics=METRICS, left_out="It failed."
    )
    assert (result.status, result.error) == ("partial", "It failed.")


@pytest.mark.parametrize("status", ["queued", "running", "waiting", "success", ""])
def test_given_a_run_that_has_not_ended_then_there_is_no_result(status: str) -> None:
    with pytest.raises(ValueError, match="has no result"):
        build(status, text="", data=None, error=None, metrics=METRICS)


def test_given_code_in_the_text_and_data_then_they_are_artifacts_in_order() -> None:
    result = build("succeeded", text=ANSWER, data={"b": 1, "a": [2]}, error=None, metrics=METRICS)
    assert [tuple(one.model_dump().values()) for one in result.artifacts] == [
        ("code", "code-1", "print(1)\n", "python"),
        ("code", "code-2", "ls\n", ""),
        ("data", "data", '{\n  "a": [\n    2\n  ],\n  "b": 1\n}', "json"),
    ]


def test_given_data_that_is_falsy_then_it_is_data_all_the_same() -> None:
    result = build("succeeded", text="", data=[], error=None, metrics=METRICS)
    assert result.artifacts == [
        ArtifactOut(kind="data", name="data", content="[]", language="json")
    ]
    assert result.data == []


def test_given_no_code_then_there_is_no_artifact() -> None:
    text = "No code, only `inline` and an empty block:\n```\n\n```"
    assert build("succeeded", text=text, data=None, error=None, metrics=METRICS).artifacts == []


def test_given_very_many_blocks_then_the_first_are_kept() -> None:
    text = "```\nx\n```\n" * (MAX_ARTIFACTS + 5)
    result = build("succeeded", text=text, data=None, error=None, metrics=METRICS)
    assert len(result.artifacts) == MAX_ARTIFACTS


def test_given_a_result_then_its_dictionary_is_json() -> None:
    result = build("succeeded", text=ANSWER, data={"a": 1}, error=None, metrics=METRICS)
    value = result.model_dump()
    assert json.loads(json.dumps(value)) == value
    assert value.keys() == {
        *("status", "data", "text", "artifacts", "metrics", "error", "finish_reason"),
        "reviewed_by",
    }
    assert value["artifacts"][0] == {
        "kind": "code",
        "name": "code-1",
        "content": "print(1)\n",
        "language": "python",
    }
    assert value["metrics"]["cost_usd"] == "0.01"
