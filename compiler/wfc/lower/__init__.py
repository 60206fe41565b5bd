"""Lower the core AST to the statechart IR. Each step type lowers itself with the means of this package."""

from wfc.lower.charts import lower_workflow
from wfc.lower.lowering import Lowering

__all__ = ["Lowering", "lower_workflow"]
