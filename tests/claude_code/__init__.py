"""The real Claude Code client with a scripted model, offline: `make claude`. Not part of `make test`."""
