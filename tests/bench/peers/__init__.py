"""One workload on several engines: `python -m tests.bench.peers.NAME` drives one of them, in its own venv.

Nothing here imports more than the standard library and the engine itself: the other venvs have neither wfc nor pytest.
"""
