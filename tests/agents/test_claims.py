"""The claim of an action that an agent does: kept after a result that does not fit, given back by the dead."""

from __future__ import annotations

import pytest

from tests.execute.serving import Site
from tests.runtime.support import steps
from wfc_runtime.errors import RefusedError

SCHEMA = "result_schema: {type: object, required: [n]}"


@pytest.fixture
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return Site(tmp_path_factory.mktemp("site"))


def test_a_result_that_does_not_fit_keeps_the_claim_so_that_nobody_else_does_the_work_again(
    site: Site,
) -> None:
    site.compile(steps(f"{{id: a, type: delegate, instructions: x, {SCHEMA}, output_to: a_out}}"))
    service, other = site.server(), site.server()
    run = service.start("w")["workflow_id"]
    assert service.lease(run, "a")
    with pytest.raises(RefusedError, match="does not fit"):
        service.submit_leased(run, "a", {}, actor="stub", call={})
    assert not other.lease(run, "a")
    with pytest.raises(RefusedError, match="do not do it yourself"):
        other.submit(run, "a", {"n": 1})
    service.submit_leased(run, "a", {"n": 1}, actor="stub", call={})
    assert service.status(run)["status"] == "completed"
    assert service.store.queries.all_claims() == []
    site.close()
