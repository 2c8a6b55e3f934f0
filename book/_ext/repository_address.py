"""The public repository that a folder is a clone of, from the clone's remote ``origin``.

It needs the standard library alone: ``tools/notebooks.py`` imports it, too.
"""

import re
import subprocess
from pathlib import Path

# With or without a user's name and secret in front, which are left out.
REMOTE = re.compile(
    r"(?:https?://(?:[^@/]+@)?|git@|ssh://git@)(?P<host>github\.com|gitlab\.com)[:/]"
    r"(?P<owner>[\w.-]+)/(?P<name>[\w.-]+?)(?:\.git)?/?"
)


def git(folder, *arguments):
    """Ask git; an empty text where there is no clone, or no git."""
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def public(remote):
    """Return host, owner and name of a public repository, or ``None``."""
    result = REMOTE.fullmatch(remote)
    return result and tuple(result.groups())


def home(folder):
    """Return the address of the public repository that a folder is a clone of, or nothing."""
    # A folder within somebody else's clone is no clone of it.
    if Path(git(folder, "rev-parse", "--show-toplevel") or "/").resolve() != Path(folder).resolve():
        return ""
    result = public(git(folder, "remote", "get-url", "origin"))
    return "https://{}/{}/{}".format(*result) if result else ""


def branch(folder):
    """Return the branch that the remote shows first."""
    head = git(folder, "symbolic-ref", "--short", "refs/remotes/origin/HEAD")
    return head.removeprefix("origin/") or "main"
