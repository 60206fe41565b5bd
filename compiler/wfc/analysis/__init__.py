"""Static analyses of workflows: control flow, call graph, types, and taint."""
