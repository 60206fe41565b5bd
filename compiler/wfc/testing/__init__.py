"""Workflow tests: what a test file says, what a run did, and how the two differ. Nothing here touches the disk.

```yaml
# workflows/release-notes.test.yaml
workflow: release-notes.yaml       # by default the file that the test file is named after
inputs: {since: v1.2}              # for every test, unless it says otherwise
answers: {read-log: "abc123 Add"}  # the same; see `wfc.answers` for the format
tests:
  - name: notes are written again until they are approved
    now: 2026-01-05T09:00:00Z      # what now() says when the run starts; waits and retries pass in no time
    answers:
      write-notes: [First draft., Better.]
      approve: [false, true]
    expect:
      result: Better.
      state: {approval: {confirmed: true}}   # these fields; others may be there too
      actions:                               # by step, or as a list: all of them, in order
        read-log: git log --oneline v1.2..HEAD --
        approve: [{contains: First draft.}, {contains: Better.}]
        publish: []                          # never asked
  - name: a log that can't be read ends it
    answers: {read-log: {error: no git here}}
    expect:
      failure: {step: read-log, code: agent_error, message: no git here}
```

An expected action is the text of its command, message, instructions or tool; or a mapping of parameters that it must
have, with `contains` for parts of that text; or null: it is asked, whatever it says. In a list they stand as ids or as
`id: action`. A `message` of a failure need only be part of the real one. Without `failure` the run has to complete.
"""
