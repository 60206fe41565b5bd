"""Pictures of workflows: a neutral model made from the IR, and one renderer per format."""

from wfc.graph.build import to_picture
from wfc.graph.dot import render_dot
from wfc.graph.mermaid import render_mermaid
from wfc.graph.svg import render_svg

RENDERERS = {"mermaid": render_mermaid, "dot": render_dot, "svg": render_svg}

__all__ = ["RENDERERS", "to_picture"]
