"""The MCP server: tools, resources and prompts over one service. How runs are kept is not known here."""
