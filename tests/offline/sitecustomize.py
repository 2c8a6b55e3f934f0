"""Refuses connections to other machines in the Python process that imports this module.

``conftest.py`` at the repository's root puts this folder on ``PYTHONPATH``, so that Python imports
it at the start of each process that a test starts. Loopback and Unix sockets stay open.
"""

import functools
import socket


class NetworkRefused(RuntimeError):
    """A test tried to reach another machine.

    Not an ``OSError``: code that handles a failed connection would hide it.
    """


def is_local(host: str | bytes | None) -> bool:
    """Return whether a host name or address is this machine's own."""
    from ipaddress import ip_address

    name = host.decode() if isinstance(host, bytes) else host or ""
    if name in ("", "localhost", socket.gethostname()):
        return True
    try:
        address = ip_address(name.partition("%")[0])
    except ValueError:
        return False
    address = getattr(address, "ipv4_mapped", None) or address
    return address.is_loopback or address.is_unspecified


def _check(host: str | bytes | None) -> None:
    if not is_local(host):
        raise NetworkRefused(
            f"tests reach no other machine, got {host!r}; serve the test's data from 127.0.0.1, "
            "or mark the test with needs_data"
        )


def _guard_method(name: str) -> None:
    method = getattr(socket.socket, name)

    @functools.wraps(method)
    def guarded(self, *args):
        internet = self.family in (socket.AF_INET, socket.AF_INET6)
        # The address is the last argument of each; sendmsg may come without one.
        if internet and isinstance(args[-1], tuple):
            _check(args[-1][0])
        return method(self, *args)

    setattr(socket.socket, name, guarded)


def _guard_lookup(name: str) -> None:
    function = getattr(socket, name)

    @functools.wraps(function)
    def guarded(host, *args, **options):
        _check(host)
        return function(host, *args, **options)

    setattr(socket, name, guarded)


for _name in ("connect", "connect_ex", "sendto", "sendmsg"):
    _guard_method(_name)
for _name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex"):
    _guard_lookup(_name)
