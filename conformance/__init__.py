"""The public conformance suite of the workflow languages: requirements, cases as data, and a runner.

It depends only on the MCP tools of the implementation under test. README.md describes the format.
"""
