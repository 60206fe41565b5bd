"""Who may use the page. A link has a key that works once; the page trades it for one of its own.

There are no cookies: a browser would send them to every port of this machine, and with every request that another page
makes. The page sends its key in a header, which another page can't do.
"""

from __future__ import annotations

import hmac
import secrets
from hashlib import sha256
from threading import Lock

_MOST_LINKS = 100


class Keys:
    """The keys of one server. `secret` signs the keys of pages: those that it signed stay valid after a restart."""

    def __init__(self, secret: str | None = None, tokens: tuple[str, ...] = ()) -> None:
        """`tokens` are accepted too: for scripts of the operator."""
        self._secret = (secret or secrets.token_urlsafe(32)).encode()
        self._tokens = tuple(token.encode() for token in tokens)
        self._links: list[str] = []
        self._lock = Lock()

    def new_link(self) -> str:
        """A key that can be traded once."""
        key = secrets.token_urlsafe(24)
        with self._lock:
            # Links that nobody opens must not accumulate.
            self._links = [*self._links[-_MOST_LINKS:], key]
        return key

    def trade(self, given: object) -> str | None:
        """The key of a page for the key of a link; None if the link's key is unknown or was used."""
        if not isinstance(given, str) or not given.isascii():
            return None
        with self._lock:
            known = [key for key in self._links if hmac.compare_digest(key, given)]
            if not known:
                return None
            self._links.remove(known[0])
        return self._signed(secrets.token_urlsafe(24))

    def admits(self, authorization: str) -> bool:
        """Whether the value of an Authorization header has a valid key."""
        scheme, _, given = authorization.partition(" ")
        found = given.strip().encode("utf-8", "surrogatepass")
        if scheme.lower() != "bearer" or not found:
            return False
        nonce, _, _ = found.partition(b".")
        # Compared in constant time, so that the response time reveals nothing.
        candidates = (self._signed(nonce.decode("latin-1")).encode(), *self._tokens)
        return any(hmac.compare_digest(found, one) for one in candidates)

    def _signed(self, nonce: str) -> str:
        return f"{nonce}.{hmac.new(self._secret, nonce.encode(), sha256).hexdigest()}"
