"""Lower the core AST to the statechart IR. Each step lowers itself, with the `ChartBuilder` that `Lowering` is."""

from wfc.lower.charts import lower_workflow
from wfc.lower.lowering import Lowering

__all__ = ["Lowering", "lower_workflow"]
