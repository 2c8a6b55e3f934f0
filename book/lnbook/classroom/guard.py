"""What a hand-in may do to the machine: limits set from within its own process.

Three fences, each where the system has it: the kernel's limits (memory, size of a file, open
files, seconds of the processor, processes), Landlock (Linux: writing nowhere but in its own
folder), and Python's audit hook (everywhere: no other program, no network, no signals, no look
into the folder of the hand-ins). They hold a class's accidents and pranks. Against somebody who
studies them, grade in a container.
"""

import contextlib
import ctypes
import os
import sys
from collections.abc import Callable
from pathlib import Path

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# From the start of an event's name to what it does.
REFUSED = {
    "os.fork": "start a process",
    "os.posix_spawn": "start a program",
    "os.spawn": "start a program",
    "os.startfile": "start a program",
    "os.exec": "start a program",
    "os.system": "start a program",
    "pty.spawn": "start a program",
    "subprocess.": "start a program",
    "os.kill": "send a signal",
    "signal.pthread_kill": "send a signal",
    "socket.": "use the network",
    "urllib.": "use the network",
    "ctypes.": "call the system past Python",
    "resource.": "change its limits",
    "gc.get_": "look into the grader's objects",
    "os.setxattr": "change a file",
    "os.chown": "change a file",
    "os.lchmod": "change a file",
}
ALLOWED = ("socket.__new__", "socket.gethostname")
CHANGES = ("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink")
CHANGES += ("os.truncate", "os.chmod", "os.utime", "os.chflags", "shutil.")
READS = ("os.listdir", "os.scandir")
FILES = 32  # opened for writing, in all


class Refused(PermissionError):
    """A hand-in tried what homework may not."""


def limit(memory: int, file_size: int, seconds: int) -> None:
    """Set the limits of this process, where the system has them.

    Args:
        memory: Bytes beyond what it has now.
        file_size: Bytes of a file.
        seconds: Of the processor.
    """
    try:
        import resource
    except ImportError:  # Windows has none; there time alone is limited
        return
    wanted = {
        "RLIMIT_AS": _memory_now() + memory,
        "RLIMIT_FSIZE": file_size,
        "RLIMIT_NOFILE": 128,
        "RLIMIT_CPU": seconds,
        "RLIMIT_CORE": 0,
        "RLIMIT_NPROC": 0,  # no further process or thread; it does not bind root
    }
    for name, value in wanted.items():
        if hasattr(resource, name):
            with contextlib.suppress(ValueError, OSError):
                resource.setrlimit(getattr(resource, name), (value, value))


def _memory_now() -> int:
    """Return the address space in use, in bytes."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 8 << 30


def land(folder: Path) -> bool:
    """Let this process write below ``folder`` alone, by Landlock; return whether it is there."""
    if not sys.platform.startswith("linux"):
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(1, 9, 0, 0, 0)  # end with the grader: PR_SET_PDEATHSIG, SIGKILL
    version = libc.syscall(444, None, 0, 1)
    if version < 1:
        return False
    # The rights to change something, by their bits: write, remove, make; refer, truncate later.
    rights = sum(1 << bit for bit in (1, *range(4, 13)))
    rights |= (version >= 2) << 13 | (version >= 3) << 14
    ruleset = libc.syscall(444, ctypes.byref(ctypes.c_uint64(rights)), 8, 0)

    class Beneath(ctypes.Structure):
        _pack_ = 1
        _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))

    for path, allowed in ((folder, rights), ("/dev/null", rights & (1 << 1 | 1 << 14))):
        beneath = Beneath(allowed, os.open(path, os.O_RDONLY))
        libc.syscall(445, ruleset, 1, ctypes.byref(beneath), 0)
        os.close(beneath.parent)
    libc.prctl(38, 1, 0, 0, 0)  # no new privileges, which Landlock asks for
    done = libc.syscall(446, ruleset, 0) == 0
    os.close(ruleset)
    return done


def watch(folder: Path, hidden: list[str]) -> Callable[[], list[str]]:
    """Refuse from now on, in this process, what homework may not; there is no way back.

    Args:
        folder: Where it may write.
        hidden: Folders that it may not read.

    Returns:
        A function that returns what was refused so far.
    """
    refused: list[str] = []
    own = os.path.realpath(folder) + os.sep
    hidden = [os.path.realpath(path) + os.sep for path in hidden]
    left = [FILES]
    real, null, inner = os.path.realpath, os.devnull, [False]

    def below(path: object, folders: list[str]) -> bool:
        try:
            path = os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else ""
            return (real(path) + os.sep).startswith(tuple(folders)) if path else False
        except (ValueError, TypeError):
            return False

    def no(what: str) -> None:
        if what not in refused:
            refused.append(what)
        raise Refused(f"homework may not {what}")

    def hook(event: str, args: tuple) -> None:
        if inner[0]:
            return
        for start, what in REFUSED.items():
            if event.startswith(start) and event not in ALLOWED:
                no(what)
        if event != "open" and not event.startswith((*READS, *CHANGES)):
            return
        inner[0] = True
        try:
            inside = bool(args) and below(args[0], [own])
            secret = bool(args) and not inside and below(args[0], hidden)
            two = event in ("os.rename", "os.link", "os.symlink")
            out = two and not below(args[1], [own])
        finally:
            inner[0] = False
        if event == "open":
            writes = isinstance(args[2], int) and args[2] & WRITES
            if writes and isinstance(args[0], str | bytes) and os.fsdecode(args[0]) != null:
                if not inside:
                    no("write outside its folder")
                left[0] -= 1
                if left[0] < 0:
                    no(f"write more than {FILES} files")
        elif event.startswith(CHANGES) and (out or not inside):
            no("change what is outside its folder")
        if secret and (event == "open" or event.startswith(READS)):
            no("read other hand-ins or the key")

    sys.addaudithook(hook)
    return lambda: list(refused)
