"""The language server: the findings of `wfc check`, completion, hover and renames in an editor.

`analysis` is one version of one document, and `index` its symbols. `hover`, `navigation` and `findings` each answer
one kind of request from those. `workspace` keeps the open documents and checks them in the background, `server` is the
protocol. Completion, and everything else that differs between languages, is asked of the document's dialect.
"""
