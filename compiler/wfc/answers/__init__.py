"""Answers files: what agents and the person would say, written down, so that a run needs neither.

`wfc run --answers` works a run with one, the cases of `wfc test` hold one each, `wfc explore` prints them:

```yaml
inputs: {base: main}            # what the run starts with; may be left out
answers:
  list-changes: "a.py | 2 +-"   # the result of a step, by its id
  draft: [first, second]        # a list: one result per time that the step is asked
  list-files: [["a.py"]]        # so a result that is itself a list stands in a list
  build: {exit_code: 1}         # what a shell result leaves out is empty, and exit code 0
  approve: true                 # short for {confirmed: true}
  deploy: {error: no network}   # the agent could not do it; {timed_out: true}: it took too long
  check_one/read-file: "..."    # a step of a task or a called workflow, where its id alone is not clear
```

A result that is not in a list serves every time the step is asked. Times are counted over the whole run, the children
of a foreach included: those are worked one after the other, in the order of their items. Where a result is an object
with one required key, the bare value stands for it: text for a delegate's response, the option for a choice. A task
that is given whole to a named agent is asked as `task_name/do-task`. Waits need no answer.

`read_answers` reads such a file, `check_scripts` compares it with the workflows it is for, `Answers.take` gives the
results out, `write_answers` writes such a file.
"""

from wfc.answers.fill import fill
from wfc.answers.model import Answer, Answers, NoAnswerError, Script
from wfc.answers.reading import AnswersFile, read_answers
from wfc.answers.writing import write_answers, write_tests

__all__ = [
    "Answer",
    "Answers",
    "AnswersFile",
    "NoAnswerError",
    "Script",
    "fill",
    "read_answers",
    "write_answers",
    "write_tests",
]
