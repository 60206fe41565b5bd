"""The public conformance suite of the workflow languages: requirements, cases as data, and a runner.

It knows nothing of the implementation that it tests but its MCP tools. README.md describes the format.
"""
