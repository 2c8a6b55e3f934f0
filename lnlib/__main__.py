"""The commands: ``python -m lnlib replay mnist|noise|sequence|weights``, ``data``, ``bench``."""

from __future__ import annotations

import argparse
import functools
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit status.

    Args:
        arguments: As typed after ``python -m lnlib``; ``None`` takes the process's own.

    Returns:
        0 when done, 1 for a wrong value or a failed download, 130 after Ctrl-C.
    """
    parser = argparse.ArgumentParser(prog="python -m lnlib", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    _add_replay(commands)
    data = commands.add_parser("data", help="download and verify a data set, or name where it is")
    data.add_argument("name", choices=["digits", "mnist"])
    data.add_argument("--folder", type=Path, help="where MNIST is, or is to be downloaded to")
    bench = commands.add_parser("bench", help="measure speed beside what you would pick instead")
    bench.add_argument(
        "--keep",
        action="store_true",
        help="put the rows into book/runs/bench.json too, beside those of other devices",
    )
    chosen = parser.parse_args(arguments)
    try:
        return {"replay": _replay, "data": _data, "bench": _bench}[chosen.command](chosen)
    except (ValueError, OSError, RuntimeError) as error:
        print(f"lnlib {chosen.command}: {error}", file=sys.stderr)
        return 1


def _seed(typed: str) -> int:
    """Refuse a wrong seed before data are asked for or other seeds run for hours."""
    if typed.isascii() and typed.isdigit():
        return int(typed)
    raise argparse.ArgumentTypeError(f"a seed must be a whole number from 0, got {typed!r}")


def _add_replay(commands: argparse._SubParsersAction) -> None:
    replay = commands.add_parser("replay", help="run an experiment of the paper again")
    experiments = replay.add_subparsers(dest="experiment", required=True)
    mnist = experiments.add_parser(
        "mnist",
        help="section 6.6, figure 6: batches of 128 and of 4",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    mnist.add_argument(
        "--norm",
        nargs="+",
        default=["layer", "batch", "none"],
        choices=["none", "batch", "layer", "weight"],
    )
    mnist.add_argument("--batch-size", nargs="+", type=int, default=[4, 128])
    mnist.add_argument(
        "--epochs", type=int, help="if not given, 60 on a GPU, as in the paper, and 20 on a CPU"
    )
    mnist.add_argument(
        "--seeds", nargs="+", type=_seed, help="if not given, 0 to 9 on a GPU and 0 to 2 on a CPU"
    )
    mnist.add_argument(
        "--data",
        default="mnist",
        choices=["mnist", "digits"],
        help="digits: scikit-learn's, with narrower layers, within a minute",
    )
    mnist.add_argument("--learning-rate", nargs="+", type=float, default=[1e-3])
    mnist.add_argument(
        "--momentum", type=float, default=0.1, help="of batch norm's running averages"
    )
    mnist.add_argument("--initialization", default="uniform", choices=["uniform", "he"])
    mnist.add_argument(
        "--step",
        default="auto",
        choices=["auto", "plain", "manual", "compiled", "graph"],
        help="how an update is computed; auto is the fastest here",
    )
    _add_common(mnist)
    _add_noise(experiments)
    _add_sequence(experiments)
    _add_weights(experiments)


def _add_common(experiment: argparse.ArgumentParser) -> None:
    experiment.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")
    experiment.add_argument(
        "--threads", type=int, help="of the CPU; PyTorch's own choice if not given"
    )
    experiment.add_argument("--out", type=Path, default=Path("runs"), help="folder of the records")
    experiment.add_argument("--again", action="store_true", help="repeat what is already recorded")


def _add_noise(experiments: argparse._SubParsersAction) -> None:
    noise = experiments.add_parser(
        "noise",
        help="section 6.6 from inside: what each norm sees in four cases, and the gradient's noise",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = noise.add_argument
    norms = ["batch", "layer", "none"]
    add("--norm", nargs="+", default=norms, choices=norms)
    add("--batch-size", type=int, default=4)
    add("--epochs", type=int, default=3)
    add("--seeds", nargs="+", type=_seed, default=[0, 1, 2])
    add("--data", default="mnist", choices=["mnist", "digits"])
    _add_common(noise)


def _add_sequence(experiments: argparse._SubParsersAction) -> None:
    sequence = experiments.add_parser(
        "sequence",
        help="digits read a row or a pixel a step by an LSTM, a GRU, a simple network",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = sequence.add_argument
    cells = ["lstm", "gru", "rnn"]
    add("--cell", nargs="+", default=cells, choices=cells)
    add("--norm", nargs="+", default=["none", "layer"], choices=["none", "layer"])
    add("--step", nargs="+", default=["row"], choices=["row", "pixel"])
    add("--data", default="digits", choices=["digits", "mnist"])
    add("--epochs", type=int, default=30)
    add("--seeds", nargs="+", type=_seed, default=[0, 1, 2, 3, 4])
    add(
        "--learning-rate",
        nargs="+",
        type=float,
        help="several are several runs; if not given, the tuned one of each cell, norm and step",
    )
    add("--gain", nargs="+", type=float, default=[1.0], help="initial gain of layer norm")
    add("--form", default="paper", choices=["paper", "carried", "per_gate", "draw", "parts"])
    add("--hidden", type=int, default=64)
    add("--batch-size", type=int, default=32)
    add("--recurrent-init", default="uniform", choices=["uniform", "orthogonal"])
    add("--bias-init", default="zeros", choices=["zeros", "uniform"])
    add("--clip", type=_number_or_none, default=1.0, help="longest gradient, or none")
    add(
        "--held-out",
        action="store_true",
        help="measure on a fifth of the training cases in place of the test cases",
    )
    _add_common(sequence)


def _add_weights(experiments: argparse._SubParsersAction) -> None:
    weights = experiments.add_parser(
        "weights",
        help="section 5.2.2: how long the weights grow, and how far an update turns them",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = weights.add_argument
    norms, optimizers = ["none", "layer", "batch"], ["sgd", "adam"]
    add("--norm", nargs="+", default=norms, choices=norms)
    add("--optimizer", nargs="+", default=optimizers, choices=optimizers)
    add(
        "--scale",
        nargs="+",
        type=float,
        help="the hidden weights start so many times as long; if not given, the book's own",
    )
    add("--learning-rate", type=float, help="if not given, 0.1 for sgd and 0.003 for adam")
    add("--epochs", type=int, default=20)
    add("--seeds", nargs="+", type=_seed, default=[0, 1, 2])
    _add_common(weights)


def _number_or_none(text: str) -> float | None:
    return None if text == "none" else float(text)


def _replay(chosen: argparse.Namespace) -> int:
    import torch

    if chosen.threads is not None:
        if chosen.threads < 1:
            raise ValueError(f"--threads must be at least 1, got {chosen.threads}")
        torch.set_num_threads(chosen.threads)
    record_all, settings = {
        "mnist": _mnist,
        "noise": _noise,
        "sequence": _sequence,
        "weights": _weights,
    }[chosen.experiment](chosen)
    rank = os.environ.get("RANK")
    if rank is not None:  # torchrun ends its ranks with SIGTERM, some after Ctrl-C as well
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        record_all(settings, chosen.seeds, out=chosen.out, device=chosen.device, again=chosen.again)
    except KeyboardInterrupt:
        if rank is not None:
            for again in (signal.SIGINT, signal.SIGTERM):
                signal.signal(again, signal.SIG_IGN)
        if rank in (None, "0"):
            print(
                "\nStopped. Whole epochs are kept: the same command goes on from there.",
                file=sys.stderr,
            )
        return 130
    return 0


def _mnist(chosen: argparse.Namespace) -> tuple[Callable[..., list[Path]], list[Any]]:
    from lnlib.replay import mnist
    from lnlib.replay.train import resolve_device

    on_gpu = resolve_device(chosen.device).type == "cuda"
    if chosen.seeds is None:
        chosen.seeds = list(range(10 if on_gpu else 3))
    epochs = (60 if on_gpu else 20) if chosen.epochs is None else chosen.epochs
    settings = [
        mnist.Settings(
            norm=norm,
            batch_size=batch_size,
            epochs=epochs,
            data=chosen.data,
            hidden=mnist.HIDDEN[chosen.data],
            learning_rate=learning_rate,
            momentum=chosen.momentum,
            initialization=chosen.initialization,
        )
        for learning_rate in chosen.learning_rate
        for batch_size in chosen.batch_size
        for norm in chosen.norm
        if (norm, batch_size) != ("batch", 1) or len(chosen.norm) == 1
    ]
    return functools.partial(mnist.record_all, step=chosen.step), settings


def _noise(chosen: argparse.Namespace) -> tuple[Callable[..., list[Path]], list[Any]]:
    from lnlib.replay import mnist, noise

    settings = [
        noise.Settings(
            norm=norm,
            batch_size=chosen.batch_size,
            epochs=chosen.epochs,
            data=chosen.data,
            hidden=mnist.HIDDEN[chosen.data],
        )
        for norm in chosen.norm
    ]
    return noise.record_all, settings


def _sequence(chosen: argparse.Namespace) -> tuple[Callable[..., list[Path]], list[Any]]:
    from lnlib.replay import sequence

    settings = [
        sequence.Settings(
            cell=cell,
            norm=norm,
            step=step,
            data=chosen.data,
            epochs=chosen.epochs,
            learning_rate=learning_rate,
            **{name: getattr(chosen, name) for name in sequence.OPTIONS} | {"gain": gain},
        )
        for step in chosen.step
        for cell in chosen.cell
        for norm in chosen.norm
        for learning_rate in chosen.learning_rate or [None]
        for gain in chosen.gain
    ]
    return sequence.record_all, settings


def _weights(chosen: argparse.Namespace) -> tuple[Callable[..., list[Path]], list[Any]]:
    from lnlib.replay import weights

    settings = [
        weights.Settings(
            norm=norm,
            optimizer=optimizer,
            scale=scale,
            epochs=chosen.epochs,
            learning_rate=chosen.learning_rate,
        )
        for optimizer in chosen.optimizer
        for scale in chosen.scale or weights.SCALES[optimizer]
        for norm in chosen.norm
    ]
    return weights.record_all, settings


def _data(chosen: argparse.Namespace) -> int:
    from lnlib import data

    if chosen.name == "mnist":
        from lnlib.data import mnist

        print(f"MNIST lies in {mnist.fetch(chosen.folder)}")
        loaded = mnist.load(chosen.folder)
    else:
        loaded = data.load(chosen.name)
    print(
        f"{loaded.name}: {len(loaded.x_train):,} training and {len(loaded.x_test):,} test cases of "
        f"{loaded.x_train.shape[1]} features, SHA-256 {loaded.sha256}"
    )
    return 0


def _bench(chosen: argparse.Namespace) -> int:
    try:
        from bench.__main__ import main as bench
    except ModuleNotFoundError as error:
        if error.name not in ("bench", "bench.__main__"):
            raise
        raise ValueError(
            "the benchmarks are not part of the installed package; run this from a clone's root"
        ) from error
    return bench(keep=chosen.keep)


if __name__ == "__main__":
    sys.exit(main())
