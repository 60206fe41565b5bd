"""JavaScript expressions at compile time: what they read, what they call, and whether they parse.

Nothing is evaluated. The parser (tree-sitter) belongs to the extra `reactive` and is imported for the first file that
has JavaScript in it.
"""

from wfc.javascript.parse import Script, is_installed, parse_script
from wfc.javascript.template import ScriptTemplate, parse_script_template

__all__ = ["Script", "ScriptTemplate", "is_installed", "parse_script", "parse_script_template"]
