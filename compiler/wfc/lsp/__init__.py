"""The language server: what `wfc check` knows, in an editor, while one types.

`analysis` reads one version of a document; `index` says what each name in it stands for; `hover`, `completion`,
`naming` and `findings` answer one kind of question each from that; `server` is the protocol.
"""
