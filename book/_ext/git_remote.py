"""The public repository that a folder was cloned from, read from its remote ``origin``.

This module only needs the standard library, because ``tools/notebooks.py`` imports it, too.
"""

import re
import subprocess
from pathlib import Path

# The user name and the password or token of a remote are left out.
REMOTE = re.compile(
    r"(?:https?://(?:[^@/]+@)?|git@|ssh://git@)(?P<host>github\.com|gitlab\.com)[:/]"
    r"(?P<owner>[\w.-]+)/(?P<name>[\w.-]+?)(?:\.git)?/?"
)


def git(folder, *arguments):
    """Return the output of a git command, or an empty string if it fails or git is missing."""
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def parse_remote(remote):
    """Return the host, owner and name of a repository on GitHub or GitLab, or ``None``."""
    match = REMOTE.fullmatch(remote)
    return match and match.groups()


def repository_url(folder):
    """Return the URL of the public repository that a folder is a clone of, or an empty string."""
    # A folder inside another clone is not a clone itself.
    if Path(git(folder, "rev-parse", "--show-toplevel") or "/").resolve() != Path(folder).resolve():
        return ""
    parts = parse_remote(git(folder, "remote", "get-url", "origin"))
    return "https://{}/{}/{}".format(*parts) if parts else ""


def default_branch(folder):
    """Return the default branch of the remote."""
    head = git(folder, "symbolic-ref", "--short", "refs/remotes/origin/HEAD")
    return head.removeprefix("origin/") or "main"
