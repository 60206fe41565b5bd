"""A distribution with own block types, as an installer would leave it in a folder of the path."""

from __future__ import annotations

import tomllib
from pathlib import Path


def installed_from(settings: str, module: str, folder: Path) -> Path:
    """Install the distribution that a pyproject.toml describes, with its one module, in a folder."""
    project = tomllib.loads(settings)["project"]
    points = project["entry-points"]["wfc.blocks"]
    about = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n", encoding="utf-8"
    )
    listed = "".join(f"{name} = {value}\n" for name, value in points.items())
    (about / "entry_points.txt").write_text(f"[wfc.blocks]\n{listed}", encoding="utf-8")
    [name] = {value.partition(":")[0] for value in points.values()}
    (folder / f"{name}.py").write_text(module, encoding="utf-8")
    return folder
