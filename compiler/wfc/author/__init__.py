"""Tools for authors of workflows that need no agent: scripted answers, tests, exploration, and semantic diffs."""
