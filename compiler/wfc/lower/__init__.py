"""Core AST -> statechart IR. Steps lower themselves; this package gives them the means."""

from wfc.lower.charts import lower_workflow
from wfc.lower.lowering import Lowering

__all__ = ["Lowering", "lower_workflow"]
