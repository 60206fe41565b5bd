"""Templates at compile time: the names they read and the filters they use, with exact positions.

Nothing is evaluated, not even constants.
"""

from wfc.template.parse import Template, parse_template
from wfc.template.reads import Part, Read, Use
from wfc_runtime.expr.errors import TemplateError

__all__ = ["Part", "Read", "Template", "TemplateError", "Use", "parse_template"]
