"""Kernels that are forked from a process that has imported PyTorch, which takes two seconds.

``with kernel_managers() as manager:`` gives a class for ``NotebookClient(kernel_manager_class=…)``.
What it starts is this file as a program: it asks the process for a fork, and lives as long as that.
Where a fork is not safe, the class is Jupyter's own.
"""

import contextlib
import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading

IMPORTED = ("ipykernel.kernelapp", "torch", "plotly.graph_objects")


@contextlib.contextmanager
def kernel_managers():
    """Give the class while the process that forks is there."""
    from jupyter_client.manager import AsyncKernelManager

    if sys.platform != "linux":
        yield AsyncKernelManager
        return
    with tempfile.TemporaryDirectory() as folder:
        address = os.path.join(folder, "socket")
        program = [sys.executable, __file__]

        class Forked(AsyncKernelManager):
            def format_kernel_cmd(self, extra_arguments=None):
                command = super().format_kernel_cmd(extra_arguments)
                launched = "ipykernel_launcher" in command
                return [*program, address, *command[3:]] if launched else command

        listening, (ours, theirs) = socket.socket(socket.AF_UNIX), socket.socketpair()
        listening.bind(address)
        listening.listen()
        numbers = [listening.fileno(), theirs.fileno()]
        with (
            subprocess.Popen([*program, *map(str, numbers)], pass_fds=numbers),
            listening,
            ours,  # when this is closed, the process ends
        ):
            theirs.close()
            # Nothing comes if it ended; else all is imported, and no kernel waits for that.
            yield Forked if ours.recv(1) else AsyncKernelManager


def serve(listening, caller):
    """Fork a kernel for each that asks, as long as there is a caller."""
    for name in IMPORTED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a kernel here
    caller.send(b"1")
    threading.Thread(target=lambda: caller.recv(1) or os._exit(0), daemon=True).start()
    while True:
        asking, _ = listening.accept()
        if not os.fork():
            listening.close()
            caller.close()
            run(asking)
        asking.close()


def run(asking):
    """Be the kernel, until it is told to end or who asked is gone."""
    arguments, folder, environment = json.loads(asking.makefile().readline())
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    threading.Thread(target=lambda: asking.recv(1) or os._exit(1), daemon=True).start()
    parent = f"--IPKernelApp.parent_handle={os.getppid()}"
    sys.argv = ["ipykernel_launcher", *arguments, parent]
    sys.modules["ipykernel.kernelapp"].launch_new_instance()
    os._exit(0)


def ask(address, arguments):
    """Ask for a kernel, and wait for its end."""
    with socket.socket(socket.AF_UNIX) as asking:
        asking.connect(address)
        request = json.dumps([arguments, os.getcwd(), dict(os.environ)])
        asking.sendall(f"{request}\n".encode())
        asking.recv(1)


if __name__ == "__main__":
    del sys.path[0]  # this folder
    if sys.argv[1].isdecimal():
        serve(*(socket.socket(fileno=int(number)) for number in sys.argv[1:]))
    with contextlib.suppress(KeyboardInterrupt):  # the kernel is told to end as well
        ask(sys.argv[1], sys.argv[2:])
