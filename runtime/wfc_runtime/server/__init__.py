"""The MCP server: tools, resources and prompts on top of one service. It does not depend on how runs are stored."""
