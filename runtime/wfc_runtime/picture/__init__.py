"""Pictures of workflows: a neutral model, its layout, and one renderer per format.

The compiler builds the model from its IR (`wfc.picture`).
"""

from wfc_runtime.picture.dot import render_dot
from wfc_runtime.picture.mermaid import render_mermaid
from wfc_runtime.picture.svg import render_svg

RENDERERS = {"mermaid": render_mermaid, "dot": render_dot, "svg": render_svg}


__all__ = ["RENDERERS"]
