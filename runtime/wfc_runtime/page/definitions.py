"""What the API of the page reads of workflows: their charts, sources, inputs and plans."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from starlette.requests import Request

from wfc_runtime.contract import Json
from wfc_runtime.errors import WfcError
from wfc_runtime.header import read_header
from wfc_runtime.service import WholeRuns
from wfc_runtime.service.ids import check_name

if TYPE_CHECKING:
    from wfc_runtime.machine.chart import Workflow
    from wfc_runtime.registry import Module, Registry

Read = Callable[[Request], Json]
File = Callable[[Request], tuple[str, str, str]]
"""The content, its media type, and the name under which it is saved, if it is."""


class Backend(Protocol):
    """The parts of the server that the page needs. Opening the store may fail, which each call reports."""

    @property
    def service(self) -> WholeRuns: ...
    @property
    def registry(self) -> Registry: ...


class Definitions:
    """The versions that runs go by, and the current ones. `root` is the project's folder."""

    def __init__(self, backend: Backend, root: Path) -> None:
        self._backend, self._root = backend, root

    def replies(self) -> dict[str, Read]:
        return {
            "/api/runs/{run}/picture": self._picture,
            "/api/runs/{run}/source": lambda request: self._source(self._module(request)),
            "/api/workflows": lambda request: {"workflows": [_summary(one) for one in self._modules()]},
            "/api/workflows/{workflow}": self._workflow,
            "/api/workflows/{workflow}/source": lambda request: self._source(self._found(request)),
        }

    def files(self) -> dict[str, File]:
        return {
            "/api/runs/{run}/picture.svg": self._run_svg,
            "/api/workflows/{workflow}/picture.svg": self._workflow_svg,
        }

    @property
    def _service(self) -> WholeRuns:
        return self._backend.service

    def current(self, workflow: str) -> str | None:
        """The digest of the workflow's current version; None if the project no longer has it."""
        try:
            return self._backend.registry.find(workflow).digest
        except WfcError:
            return None

    def _called(self, workflow: str) -> Workflow | None:
        """A workflow that another one calls. Only those are imported: a project may have hundreds."""
        try:
            return self._backend.registry.find(workflow).workflow
        except WfcError:
            return None

    def _picture(self, request: Request) -> Json:
        reply = self._service.picture(request.path_params["run"])
        del reply["svg"]
        return {**reply, "description": _summary(self._module(request))["description"]}

    def _run_svg(self, request: Request) -> tuple[str, str, str]:
        return self._service.picture(request.path_params["run"])["svg"], "image/svg+xml", ""

    def _workflow_svg(self, request: Request) -> tuple[str, str, str]:
        from wfc_runtime.service.pictures import svg_of

        return svg_of(self._found(request)), "image/svg+xml", ""

    def _module(self, request: Request) -> Module:
        return self._service.definition(request.path_params["run"])[0]

    def _found(self, request: Request) -> Module:
        return self._backend.registry.find(check_name(request.path_params["workflow"]))

    def _modules(self) -> list[Module]:
        return self._backend.registry.modules()

    def _source(self, module: Module) -> Json:
        """The YAML, if the project still has the text that the module was compiled from; else only the module."""
        header, path = read_header(module.text), (self._root / module.source).resolve()
        reply = {"file": module.source, "module": module.text, "lines": {**module.workflow.lines}}
        try:
            # The path is written in the module, and must not lead out of the project.
            if not path.is_relative_to(self._root.resolve()):
                return reply
            data = path.read_bytes()
        except OSError:
            return {**reply, "gone": True}
        # The line numbers in the module belong to the text that it was compiled from.
        if header is not None and sha256(data).hexdigest() != header.source:
            return {**reply, "changed": True}
        return {**reply, "text": data.decode("utf-8", "replace")}

    def _workflow(self, request: Request) -> Json:
        from wfc_runtime.plan import explain_plan

        module = self._found(request)
        schema = module.workflow.machine.inputs.model_json_schema(by_alias=True)
        runs = self._service.runs("all", workflow=module.workflow.name, limit=20)["runs"]
        plan = explain_plan(module.workflow, self._called)
        versions = self._service.versions(module.workflow.name)["versions"]
        return {**_summary(module), "inputs": schema, "plan": plan, "runs": runs, "versions": versions}


def _summary(module: Module) -> dict[str, Json]:
    about = " ".join((module.workflow.machine.__doc__ or "").split())
    workflow = module.workflow
    named = {"workflow": workflow.name, "version": workflow.version, "digest": module.digest}
    return {**named, "description": about, "source": module.source, "tags": list(workflow.tags)}
