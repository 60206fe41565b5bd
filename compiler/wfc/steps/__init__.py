"""The step types, one file each. A new one is a file here and a line in this list."""

from wfc.steps.base import Step
from wfc.steps.break_ import Break
from wfc.steps.call import Call
from wfc.steps.condition import Condition
from wfc.steps.continue_ import Continue
from wfc.steps.create_file import CreateFile
from wfc.steps.create_worktree import CreateWorktree
from wfc.steps.delegate import Delegate
from wfc.steps.foreach import Foreach
from wfc.steps.goto import Goto
from wfc.steps.mcp_call import McpCall
from wfc.steps.merge_json_state import MergeJsonState
from wfc.steps.parallel import Parallel
from wfc.steps.prompt import Prompt
from wfc.steps.read_file import ReadFile
from wfc.steps.read_json_state import ReadJsonState
from wfc.steps.render_template import RenderTemplate
from wfc.steps.return_ import Return
from wfc.steps.set_state import SetState
from wfc.steps.shell import Shell
from wfc.steps.wait import Wait
from wfc.steps.while_ import While
from wfc.steps.write_json_state import WriteJsonState

STEP_TYPES: dict[str, type[Step]] = {
    step.kind: step
    for step in (
        Condition,
        SetState,
        Foreach,
        Return,
        Goto,
        While,
        Break,
        Continue,
        Call,
        Parallel,
        Shell,
        McpCall,
        Prompt,
        Wait,
        Delegate,
        CreateFile,
        ReadFile,
        RenderTemplate,
        ReadJsonState,
        WriteJsonState,
        MergeJsonState,
        CreateWorktree,
    )
}
