from __future__ import annotations

import re
from typing import Any

from wfc.language.fields import TEXT, FieldType, ScalarType, is_template
from wfc.language.shape import Field
from wfc.language.steps.base import Step
from wfc.language.steps.protocol import ChartBuilder
from wfc.language.values import Text
from wfc_runtime.contract import ERROR_CODE, UNNAMED_ERROR

CODE: FieldType[Text] = ScalarType(
    "an error code",
    lambda node: (
        is_template(node) or (isinstance(node.value, str) and bool(re.fullmatch(ERROR_CODE, node.value)))
    ),
    Text,
    {"type": "string", "pattern": rf"^{ERROR_CODE}$|\{{\{{"},
    help="a letter, then letters, digits, `_` and `-`, at most 40 characters, such as `rejected`",
)


class Fail(Step):
    """End the run as failed.

    Nothing after it runs, and no other branch continues. The reply and the history show the code and the message. A
    retry of the run continues at the last question that a person answered before the step (a run that asked nobody: at
    the last step that was answered), so that the decision can be made again. In a task, it fails the child, which the
    `on_error` of the foreach handles.

    ```yaml
    - id: stop-if-broken
      type: fail
      needs_state: [tests]
      when: "{{ state.tests.exit_code != 0 }}"
      code: tests_failed
      message: "The tests of {{ inputs.service }} fail."
    ```
    """

    kind = "fail"
    label = "a fail step"
    color = "failure"
    ends_block = True

    code = Field(CODE, "The error code, for programs.", default=UNNAMED_ERROR, example="rejected")
    message = Field(TEXT, "Why the run fails.", required=True, example="The plan was rejected.")

    def lower(self, chart: ChartBuilder, after: str) -> None:
        chart.state(self, chart.effect("Fail", self, self._arguments))

    def _arguments(self) -> dict[str, Any]:
        return {**({"code": self.code} if self.code else {}), "message": self.message}
