from __future__ import annotations

from wfc.language.fields import BINDINGS, FLAG, TEXT
from wfc.language.shape import Field
from wfc.language.steps.served import Served
from wfc_runtime.contract import RenderTemplateResult


class RenderTemplate(Served):
    """Render a Jinja template with its own variables, and write the result to a file if `output_path` is given.

    The template sees only `variables`. The expressions of the field itself are evaluated first, and their values become
    part of the template: pass untrusted values as variables, and write the template between `{% raw %}` and
    `{% endraw %}`.

    ```yaml
    - id: render-readme
      type: render_template
      template: "{% raw %}# {{ project }}{% endraw %}"
      variables:
        project: "{{ inputs.service }}"
      output_path: README.md
    ```
    """

    kind = "render_template"
    label = "a render_template step"
    writes_to = "output_path"
    result = RenderTemplateResult

    template = Field(TEXT, "The template.", required=True, example="{% raw %}# {{ project }}{% endraw %}")
    variables = Field(BINDINGS, "The variables of the template, by name.", example={"project": "wfc"})
    strict = Field(FLAG, "Whether an undefined variable fails the step.", default=True)
    output_path = Field(TEXT, "The file to write the result to.", example="README.md")
    encoding = Field(TEXT, "The encoding of the file.", default="utf-8")
    overwrite = Field(FLAG, "Whether an existing file may be replaced.", default=True)
    create_parents = Field(FLAG, "Whether to create missing parent folders.", default=True)
