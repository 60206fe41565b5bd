"""Where a value that begins with a dash would be an option, and where `--` would not help."""

from __future__ import annotations

import pytest

from tests.unit.taint.test_shell import spots
from wfc.rules.common.injection import may_be_option


@pytest.mark.parametrize(
    "command",
    [
        "rm {{ x }}",
        "rm -rf {{ x }}",
        "/bin/rm {{ x }}",
        "sudo LANG=C cat {{ x }}",
        "cp a.txt {{ x }}",
        "grep --regexp=a {{ x }}",
        "git clone {{ x }}",
        "git clone --depth=1 {{ x }}",
        "docker run --rm {{ x }} make",
        "kubectl delete pod {{ x }}",
        "true && ls {{ x }}",
        "rm {{ x | trim }}",
    ],
)
def test_an_argument_of_a_known_tool_may_be_an_option(command: str) -> None:
    assert may_be_option(spots(command)[0])


@pytest.mark.parametrize(
    "command",
    [
        "rm -- {{ x }}",
        "rm ./{{ x }}",
        "rm {{ 'a-' ~ x }}",
        "rm {{ ('a-' ~ x) | shquote }}",
        "head -n {{ x }}",
        "tar -czf {{ x }}",
        "find {{ x }}",
        "git checkout {{ x }}",
        "git log {{ x }}",
        "git clone --branch {{ x }}",
        "docker run image {{ x }}",
        "docker run -v a:b {{ x }}",
        "kubectl exec {{ x }}",
        "cat a > {{ x }}",
        "my-tool {{ x }}",
        "{{ x }}",
        "npm run {{ x }}",
    ],
)
def test_elsewhere_nothing_is_said(command: str) -> None:
    assert not may_be_option(spots(command)[0])
