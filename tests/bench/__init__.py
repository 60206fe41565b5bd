"""Measurements: each number beside the floor it is compared with, taken in the same run.

`python -m tests.bench [word]` measures every file in rows/, or those whose name holds the word.
"""
