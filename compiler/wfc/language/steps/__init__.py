"""The step types, one file each. A new one is a file here and a line in this list."""

from wfc.language.steps.base import Step
from wfc.language.steps.break_ import Break
from wfc.language.steps.call import Call
from wfc.language.steps.change import Change
from wfc.language.steps.check_files import CheckFiles
from wfc.language.steps.condition import Condition
from wfc.language.steps.continue_ import Continue
from wfc.language.steps.create_file import CreateFile
from wfc.language.steps.create_worktree import CreateWorktree
from wfc.language.steps.delegate import Delegate
from wfc.language.steps.each import Each
from wfc.language.steps.edit_file import EditFile
from wfc.language.steps.fail import Fail
from wfc.language.steps.foreach import Foreach
from wfc.language.steps.git_changes import GitChanges
from wfc.language.steps.git_snapshot import GitSnapshot
from wfc.language.steps.goto import Goto
from wfc.language.steps.http_call import HttpCall
from wfc.language.steps.mcp_call import McpCall
from wfc.language.steps.merge_json_state import MergeJsonState
from wfc.language.steps.parallel import Parallel
from wfc.language.steps.prompt import Prompt
from wfc.language.steps.read_file import ReadFile
from wfc.language.steps.read_files import ReadFiles
from wfc.language.steps.read_json_state import ReadJsonState
from wfc.language.steps.render_template import RenderTemplate
from wfc.language.steps.return_ import Return
from wfc.language.steps.run_block import RunBlock
from wfc.language.steps.say import Say
from wfc.language.steps.set_state import SetState
from wfc.language.steps.shell import Shell
from wfc.language.steps.sql import Sql
from wfc.language.steps.wait import Wait
from wfc.language.steps.while_ import While
from wfc.language.steps.write_json_state import WriteJsonState

STEP_TYPES: dict[str, type[Step]] = {
    step.kind: step
    for step in (
        Condition,
        SetState,
        Change,
        Foreach,
        Return,
        Fail,
        Goto,
        While,
        Each,
        Break,
        Continue,
        Call,
        Parallel,
        Shell,
        McpCall,
        Prompt,
        Say,
        Wait,
        Delegate,
        CheckFiles,
        CreateFile,
        EditFile,
        ReadFile,
        ReadFiles,
        HttpCall,
        Sql,
        RunBlock,
        RenderTemplate,
        ReadJsonState,
        WriteJsonState,
        MergeJsonState,
        CreateWorktree,
        GitSnapshot,
        GitChanges,
    )
}
