"""What a template says, with exact places. Compile time only: nothing is evaluated, not even constants."""

from wfc_runtime.expr.errors import TemplateError

from .model import Part, Read, Use
from .parse import Template, parse_template

__all__ = ["Part", "Read", "Template", "TemplateError", "Use", "parse_template"]
