"""The commands for a class: ``python -m lnbook homework``, ``grade``, ``export``, ``slides``."""

import argparse
import sys


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit status.

    Args:
        arguments: As typed after ``python -m lnbook``; ``None`` takes the process's own.

    Returns:
        0 when done, 1 for a wrong value, 130 after Ctrl-C.
    """
    args = _parser().parse_args(arguments)
    try:
        commands = {"homework": _homework, "grade": _grade, "export": _export, "slides": _slides}
        return commands[args.command](args)
    except (ValueError, OSError) as error:
        print(f"lnbook {args.command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"lnbook {args.command}: interrupted; the same command goes on", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m lnbook", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    homework = commands.add_parser("homework", help="make notebooks for students, and the key")
    homework.add_argument("exercises", nargs="*", help="exercises, or chapters for all of theirs")
    homework.add_argument("--seed", type=int, default=0, help="the class's number (default: 0)")
    homework.add_argument("--out", default="homework", help="folder (default: homework)")
    homework.add_argument("--name", default="homework", help="of this homework in the folder")
    homework.add_argument("--list", action="store_true", help="list all exercises, and make none")
    grade = commands.add_parser("grade", help="grade a folder of hand-ins into a table")
    grade.add_argument(
        "folder", help="a folder or a notebook a student, such as homework/submitted"
    )
    grade.add_argument("--homework", help="the homework's file (default: the one beside FOLDER)")
    grade.add_argument("--out", help="the table (default: grades.csv beside FOLDER)")
    grade.add_argument("--seconds", type=float, default=60, help="for a cell (default: 60)")
    grade.add_argument("--total", type=float, default=600, help="seconds a notebook (default: 600)")
    grade.add_argument("--memory", type=int, default=2000, help="MB beyond imports (default: 2000)")
    export = commands.add_parser(
        "export", help="write the quizzes for Moodle and as Markdown, the glossary for Anki"
    )
    export.add_argument("--out", default="classroom", help="folder (default: classroom)")
    slides = commands.add_parser("slides", help="make slides of each track from the built pages")
    slides.add_argument("--built", default="_build/html", help="where (default: _build/html)")
    slides.add_argument("--out", default="slides", help="folder (default: slides)")
    return parser


def _homework(args: argparse.Namespace) -> int:
    from lnbook.classroom import homework

    if args.list:
        for task in homework.select(homework.exercises.chapters()):
            drawn = "inputs by seed" if homework.varies(task.name) else "same for all"
            print(f"{task.chapter:24} {task.name:28} {drawn}")
        return 0
    wanted = args.exercises or homework.DEFAULT
    path = homework.make(wanted, args.out, seed=args.seed, name=args.name)
    folder = path.parent
    print(f"For the students: {folder / 'release' / args.name}")
    print(f"The key:          {folder / 'source' / args.name}")
    print(f"Put hand-ins in {folder / 'submitted'}, a folder a student, and grade them by")
    print(f"  python -m lnbook grade {folder / 'submitted'}")
    return 0


def _grade(args: argparse.Namespace) -> int:
    from lnbook.classroom.cell_process import Limits
    from lnbook.classroom.grade import grade, summary

    limits = Limits(seconds=args.seconds, total=args.total, memory=args.memory)
    out = grade(args.folder, homework=args.homework, out=args.out, limits=limits, tell=print)
    print(*summary(out), f"The table: {out}", sep="\n")
    return 0


def _export(args: argparse.Namespace) -> int:
    from lnbook.classroom import exports

    print(*exports.write(args.out), sep="\n")
    return 0


def _slides(args: argparse.Namespace) -> int:
    from lnbook.classroom import chapters, slides

    index = slides.write(args.built, chapters.book(), args.out)
    print(f"The slides of each track. Open: {index.resolve()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
