"""wfc: agent workflows in YAML, compiled ahead of time into typed Python statecharts."""
