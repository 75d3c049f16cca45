"""`[telemetry]` of the file that was named counts where the environment has nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from heartbit_site.base.errors import ConfigurationError
from heartbit_site.config.telemetry import apply_telemetry

SECTION = """
[telemetry]
otlp_endpoint = "http://collector:4317"
service_name = "shop"
json_logs = true
"""


def test_the_settings_of_a_named_file_are_variables(tmp_path: Path) -> None:
    file = tmp_path / "team.toml"
    file.write_text(SECTION)
    expected = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4317",
        "OTEL_SERVICE_NAME": "shop",
        "HEARTBIT_LOG_FORMAT": "json",
    }
    by_option: dict[str, str] = {}
    apply_telemetry(by_option, file)
    assert by_option == expected
    by_variable = {"HEARTBIT_CONFIG": str(file)}
    apply_telemetry(by_variable)
    assert by_variable == expected | {"HEARTBIT_CONFIG": str(file)}


def test_the_environment_comes_first(tmp_path: Path) -> None:
    file = tmp_path / "team.toml"
    file.write_text(SECTION)
    environ = {"OTEL_SERVICE_NAME": "ours", "HEARTBIT_LOG_FORMAT": "text"}
    apply_telemetry(environ, file)
    assert environ["OTEL_SERVICE_NAME"] == "ours"
    assert environ["HEARTBIT_LOG_FORMAT"] == "text"


def test_a_file_that_was_not_named_decides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "heartbit.toml").write_text(SECTION)
    monkeypatch.chdir(tmp_path)
    environ: dict[str, str] = {}
    apply_telemetry(environ)
    assert environ == {}


def test_a_file_without_the_section_sets_nothing(tmp_path: Path) -> None:
    file = tmp_path / "team.toml"
    file.write_text("[telemetry]\njson_logs = false\n")
    environ: dict[str, str] = {}
    apply_telemetry(environ, file)
    assert environ == {}


def test_a_value_of_a_wrong_type_is_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "team.toml"
    file.write_text("[telemetry]\njson_logs = 1\n")
    with pytest.raises(ConfigurationError, match="json_logs has a value of a wrong"):
        apply_telemetry({}, file)
