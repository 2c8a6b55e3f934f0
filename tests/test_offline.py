"""No test reaches another machine, and none sees data unless it is marked."""

import os
import socket
import subprocess
import sys

import pytest

from tests.offline.sitecustomize import NetworkRefused, is_local

# Addresses that are reserved for documentation, which no machine has.
REMOTE = ("192.0.2.1", "2001:db8::1", "example.invalid")
STREAM, DATAGRAM = socket.SOCK_STREAM, socket.SOCK_DGRAM


@pytest.mark.parametrize(
    ("host", "local"),
    [
        *((host, True) for host in ("127.0.0.1", "127.5.5.5", "::1", "localhost", "", None, "::")),
        *((host, True) for host in ("::ffff:127.0.0.1", b"127.0.0.1", socket.gethostname())),
        *((host, False) for host in (*REMOTE, "10.0.0.1", "fe80::1%lo", "::ffff:192.0.2.1")),
        *((host, False) for host in ("localhost.example.invalid", "127.0.0.1.example.invalid")),
    ],
)
def test_only_this_machine_is_local(host, local):
    assert is_local(host) == local


@pytest.mark.parametrize(
    ("family", "kind", "method", "arguments"),
    [
        (socket.AF_INET, STREAM, "connect", [("192.0.2.1", 80)]),
        (socket.AF_INET, STREAM, "connect_ex", [("192.0.2.1", 80)]),
        (socket.AF_INET6, STREAM, "connect", [("2001:db8::1", 80, 0, 0)]),
        (socket.AF_INET, DATAGRAM, "sendto", [b"x", ("192.0.2.1", 80)]),
        (socket.AF_INET, DATAGRAM, "sendto", [b"x", 0, ("192.0.2.1", 80)]),
        (socket.AF_INET, DATAGRAM, "sendmsg", [[b"x"], [], 0, ("192.0.2.1", 80)]),
    ],
)
def test_no_socket_sends_to_another_machine(family, kind, method, arguments):
    with (
        socket.socket(family, kind) as sender,
        pytest.raises(NetworkRefused, match="tests reach no other machine"),
    ):
        getattr(sender, method)(*arguments)


@pytest.mark.parametrize("host", REMOTE)
@pytest.mark.parametrize("lookup", ["getaddrinfo", "gethostbyname", "gethostbyname_ex"])
def test_host_names_are_not_resolved(lookup, host):
    with pytest.raises(NetworkRefused, match=host):
        getattr(socket, lookup)(host, *[80] * (lookup == "getaddrinfo"))


@pytest.mark.parametrize(
    ("flags", "error"),
    [
        ([], "NetworkRefused: tests reach no other machine, got '192.0.2.1'"),
        (["-I"], "ConnectionRefusedError"),  # without the guard it meets a proxy that refuses
    ],
    ids=["guarded", "isolated"],
)
def test_child_processes_have_no_network_either(flags, error, monkeypatch):
    if not flags:
        monkeypatch.setenv("no_proxy", "*")
    code = "import urllib.request; urllib.request.urlopen('http://192.0.2.1/', timeout=5)"
    command = [sys.executable, *flags, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True)
    assert error in done.stderr


def test_data_are_hidden_from_a_test_that_is_not_marked():
    assert "LNLIB_DATA" not in os.environ


@pytest.mark.needs_data("mnist")
def test_data_are_shown_to_a_test_that_is_marked():
    assert "LNLIB_DATA" in os.environ
