"""Hosts that the operator allows requests to (`--allow-http`): names, ports, addresses and networks.

SECURITY. Two things must be granted: the host and port that a URL names, and the address that is connected to. An
address is granted if it is public, or if the operator named it or its network. A name that resolves to a private
address is therefore refused, whenever it is resolved. `localhost` stands for the addresses of this machine as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address
_Network = IPv4Network | IPv6Network
_LABEL = r"(?!-)[a-z0-9_-]{1,63}(?<!-)"
_NAME = re.compile(rf"(?:\*\.)?{_LABEL}(?:\.{_LABEL})*\.?")
_PORT = re.compile(r"(.*):(\d{1,5})", re.S)
_USUAL = {"http": 80, "https": 443}
_TRANSLATED = IPv6Network("64:ff9b::/96")
"""IPv6 addresses with an IPv4 address in their last 32 bits, to which gateways forward."""
_UNICAST = IPv6Network("2000::/3")
"""All global IPv6 addresses. The rest is local, deprecated or not assigned, and some of it leads to IPv4 addresses."""
_OF_PROTOCOLS = (IPv4Network("192.0.0.0/24"), IPv4Network("192.88.99.0/24"))
"""Addresses of gateways and relays, some of which Python counts as global."""
_LOOPBACK: tuple[_Network, ...] = (IPv4Network("127.0.0.0/8"), IPv6Network("::1/128"))


class NoHostError(ValueError):
    """A text is not a host that can be granted. The message says why."""


@dataclass(frozen=True)
class _Host:
    name: str
    """A host name, `*.` and a name for all hosts below it, or empty for addresses."""
    port: int | None
    """None: the usual ports of http and https."""
    networks: tuple[_Network, ...] = ()


def check_host(text: str) -> None:
    """Raise `NoHostError` if a text can't be granted."""
    _host(text)


def url_refusal(granted: Iterable[str], scheme: str, host: str, port: int | None) -> str:
    """Why no grant covers the host and port of a URL; empty if one does."""
    asked = port if port is not None else _USUAL[scheme]
    # A trailing dot names the same host.
    if any(_covers(_host(one), host.lower().rstrip("."), asked) for one in granted):
        return ""
    place = f"{host}:{asked}" if asked not in _USUAL.values() else host
    return f"{place} is not a host that --allow-http of the server names"


def address_refusal(granted: Iterable[str], address: Address, port: int) -> str:
    """Why no connection may be made to an address; empty if it may."""
    inner = _inner(address)
    for one in map(_host, granted):
        is_port = port == one.port if one.port is not None else port in _USUAL.values()
        if is_port and any(inner.version == network.version and inner in network for network in one.networks):
            return ""
    if _is_public(inner):
        return ""
    return f"{address} is not a public address, and --allow-http of the server does not name it"


def _is_public(address: Address) -> bool:
    # Multicast addresses can be global, but no request should go to a group.
    if not address.is_global or address.is_multicast:
        return False
    if isinstance(address, IPv6Address):
        return address in _UNICAST
    return not any(address in network for network in _OF_PROTOCOLS)


def _covers(granted: _Host, host: str, port: int) -> bool:
    if port != granted.port if granted.port is not None else port not in _USUAL.values():
        return False
    if granted.name.startswith("*."):
        # `*.example.com` covers hosts below the name, and not the name itself.
        return host.endswith(granted.name[1:]) and len(host) > len(granted.name) - 1
    if granted.name:
        return host == granted.name
    try:
        # A URL may name an address directly; brackets belong to the URL's notation.
        address = _inner(ip_address(host.strip("[]")))
    except ValueError:
        return False
    return any(address.version == network.version and address in network for network in granted.networks)


def _inner(address: Address) -> Address:
    """The IPv4 address that an IPv6 address stands for, so that it has no second spelling."""
    if isinstance(address, IPv4Address):
        return address
    if address in _TRANSLATED:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    teredo = address.teredo
    return address.ipv4_mapped or address.sixtofour or (teredo[1] if teredo else None) or address


@lru_cache(maxsize=256)
def _host(text: str) -> _Host:
    text = text.strip().lower()
    if "://" in text or "/" in text.partition("/")[2] or "@" in text:
        raise NoHostError("name a host, not a URL: `api.example.com` or `localhost:8080`")
    # Before the port: an IPv6 address contains colons itself.
    networks = _networks(text)
    port = None
    if not networks and (found := _PORT.fullmatch(text)):
        text, port = found[1], int(found[2])
        if not 0 < port < 65536:
            raise NoHostError(f"{port} is not a port")
        networks = _networks(text)
    if networks:
        return _Host("", port, networks)
    # Some resolvers accept digits and dots that are not an address, such as 127.1.
    if not _NAME.fullmatch(text) or text.replace(".", "").isdigit():
        raise NoHostError(
            "a host is a name, `*.` and a name, an address or a network, and may end in `:port`"
        )
    if text.count(".") < 2 and text.startswith("*."):
        raise NoHostError("`*.` before a name with one part would allow half the internet")
    name = text.rstrip(".")
    return _Host(name, port, _LOOPBACK if name == "localhost" else ())


def _networks(text: str) -> tuple[_Network, ...]:
    """The network of an address; brackets around an IPv6 address are optional without a port."""
    bare = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    try:
        return (ip_network(bare, strict=False),)
    except ValueError:
        return ()
