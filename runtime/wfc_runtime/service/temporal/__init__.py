"""The Temporal engine: a Temporal cluster stores the runs, and any number of workers execute them."""
