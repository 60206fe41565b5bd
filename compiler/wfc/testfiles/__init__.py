"""Test files (`*.test.yaml`): their recognition, their contents, and the questions of their workflow.

`reader` reads any small YAML file with positions, `scripts` the answers for steps, `cases` a whole test file,
`questions` compares answers with the steps of a workflow, and `schema` is the JSON Schema of a test file. `wfc test`
runs the cases (`wfc.cli.test_runner`); `wfc check` reports the mistakes (`wfc.rules.common.tests`).
"""

from __future__ import annotations

TEST_ENDINGS = (".test.yaml", ".test.yml")


def is_test_file(path: str) -> bool:
    """Whether a file holds tests, by its name."""
    return path.endswith(TEST_ENDINGS)


def tested_names(name: str) -> list[str]:
    """The names that the workflow of a test file may have, where the file does not say: the preferred one first."""
    stem = next(name.removesuffix(ending) for ending in TEST_ENDINGS if name.endswith(ending))
    return [f"{stem}.yaml", f"{stem}.yml", f"{stem}.md"]
