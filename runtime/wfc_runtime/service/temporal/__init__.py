"""The engine for many machines: runs live on a Temporal cluster, and any number of workers work them."""
