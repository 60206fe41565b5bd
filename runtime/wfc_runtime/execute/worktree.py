"""The `create_worktree` action: a git worktree on a branch; both are created if they do not exist."""

from __future__ import annotations

import shlex
from pathlib import Path

from wfc_runtime.execute import paths
from wfc_runtime.execute.base import ExecutionError, Executor, Job, Parameters, Result, shortened
from wfc_runtime.execute.permissions import Grant
from wfc_runtime.execute.process import run_process

_SECONDS = 120.0


def _create_worktree(job: Job) -> Result:
    parameters, grant = job.parameters, job.grant
    refused = refusal(parameters, grant)
    if refused:
        raise ExecutionError(refused, "refused")
    branch, base = parameters.text("branch"), parameters.text("base_branch", "") or "HEAD"
    repository = paths.folder(grant, parameters.text("repo", ""))
    located = paths.locate(grant, parameters.text("path", "") or f".worktrees/{branch}", repository)
    place = located.path
    if why := located.protected.why_unwritable(place, located.root):
        raise ExecutionError(why, "refused")
    # Before the names become arguments: one that begins with `-` would be read as an option.
    for name in (branch, base):
        _git(
            job,
            repository,
            "check-ref-format",
            "--allow-onelevel",
            name,
            why=f"{name[:80]!r} is not a valid branch name",
        )
    # An existing worktree is used again, so that a repeated step succeeds.
    created = not _is_worktree(job, repository, place, branch)
    if created:
        known = _succeeds(job, repository, "show-ref", "--verify", "--quiet", f"refs/heads/{branch}")
        new = [str(place), branch] if known else ["-b", branch, str(place), base]
        _git(job, repository, "worktree", "add", *new, why="the worktree can't be created")
    where = str(place)
    return {
        "worktree_path": where,
        "path": where,
        "branch": branch,
        "base_branch": base,
        "created": created,
        "success": True,
    }


def _is_worktree(job: Job, repository: Path, place: Path, branch: str) -> bool:
    """Whether the worktree already exists, on that branch."""
    listed = _git(job, repository, "worktree", "list", "--porcelain", why="not a git repository")
    entries = [entry.splitlines() for entry in listed.split("\n\n")]
    return any(f"worktree {place}" in entry and f"branch refs/heads/{branch}" in entry for entry in entries)


def _git(job: Job, repository: Path, *arguments: str, why: str) -> str:
    code, out, err = _run(job, repository, arguments)
    if code:
        raise ExecutionError(f"{why}: {shortened(err or out, 400)}" if err or out else why)
    return out


def _succeeds(job: Job, repository: Path, *arguments: str) -> bool:
    return _run(job, repository, arguments)[0] == 0


def _run(job: Job, repository: Path, arguments: tuple[str, ...]) -> tuple[int, str, str]:
    finished = run_process(
        ["git", *arguments],
        cwd=repository,
        # git must fail rather than wait for a password that nobody can type.
        env={**job.grant.environment({}), "GIT_TERMINAL_PROMPT": "0"},
        seconds=_SECONDS,
        limits=(job.grant.stdout_bytes, job.grant.stderr_bytes),
        stop=job.stop,
    )
    if finished.stopped or finished.timed_out:
        raise ExecutionError("git was stopped before it ended", "interrupted")
    return finished.exit_code, finished.stdout.text()[0], finished.stderr.text()[0]


def refusal(parameters: Parameters, grant: Grant) -> str:
    """Why the grant does not cover the action: it must cover the command for an existing branch and for a new one."""
    branch, base = parameters.text("branch"), parameters.text("base_branch", "") or "HEAD"
    path = parameters.text("path", "") or f".worktrees/{branch}"
    known, new = [path, branch], ["-b", branch, path, base]
    added = (shlex.join(["git", "worktree", "add", *more]) for more in (known, new))
    return next((why for command in added if (why := grant.refusal(command))), "")


CREATE_WORKTREE = Executor("create_worktree", _create_worktree, refusal)
