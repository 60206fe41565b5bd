from __future__ import annotations

from wfc.language.fields import BINDINGS, FLAG, TEXT
from wfc.language.shape import Field
from wfc.language.steps.served import Served
from wfc_runtime.contract import RenderTemplateResult


class RenderTemplate(Served):
    """Fill in a Jinja template with variables of its own, and write it to a file if one is named.

    The template sees `variables` only. What stands in `{{ }}` is filled in before, and is then part of the template:
    give values from outside as variables. Put what the template itself shall fill in between `{% raw %}` and
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
    variables = Field(BINDINGS, "What the template may use, by name.", example={"project": "wfc"})
    strict = Field(FLAG, "Whether a name that is not among the variables fails the step.", default=True)
    output_path = Field(TEXT, "The file to write it to.", example="README.md")
    encoding = Field(TEXT, "How the file is encoded.", default="utf-8")
    overwrite = Field(FLAG, "Whether a file that is there may be replaced.", default=True)
    create_parents = Field(FLAG, "Whether folders on the way are made.", default=True)
