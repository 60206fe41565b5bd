"""A project on disk: its files, its generated modules, its runs, and the cache of findings."""
