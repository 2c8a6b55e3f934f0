"""Tools for teaching a class: homework, grading, exported quizzes and slides."""

import argparse
import contextlib
import shlex
import sys
from pathlib import Path


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit status.

    Args:
        arguments: As typed after ``python -m lnbook``; ``None`` takes the process's own.

    Returns:
        0 when done, 1 for a wrong value, 130 after Ctrl-C.
    """
    args = _parser().parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):  # a name that the console cannot write ends nothing
        with contextlib.suppress(AttributeError):
            stream.reconfigure(errors="replace")
    try:
        commands = {"homework": _homework, "grade": _grade, "export": _export, "slides": _slides}
        return commands[args.command](args)
    except (ValueError, OSError) as error:
        print(f"lnbook {args.command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(
            f"lnbook {args.command}: interrupted; run the same command to resume", file=sys.stderr
        )
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m lnbook", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    homework = commands.add_parser("homework", help="generate an nbgrader assignment")
    homework.add_argument(
        "exercises",
        nargs="*",
        help="names of exercises or chapters (default: introduction normalization_axes)",
    )
    homework.add_argument("--seed", type=int, default=0, help="seed of the class (default: 0)")
    homework.add_argument(
        "--out", default="homework", help="folder of the course (default: homework)"
    )
    homework.add_argument(
        "--name", default="homework", help="name of the assignment (default: homework)"
    )
    homework.add_argument("--list", action="store_true", help="list all exercises and exit")
    grade = commands.add_parser("grade", help="grade a folder of submissions with nbgrader")
    grade.add_argument("folder", help="a folder with one folder, zip file, or notebook per student")
    grade.add_argument("--course", help="folder of the course (default: the parent of FOLDER)")
    grade.add_argument("--name", help="name of the assignment (default: the only one)")
    runs = grade.add_mutually_exclusive_group()
    runs.add_argument(
        "--container", metavar="IMAGE", help="run each submission in a container of this image"
    )
    runs.add_argument(
        "--trust", action="store_true", help="run submissions under your user account"
    )
    grade.add_argument(
        "--seconds", type=float, default=60, help="time limit per cell in seconds (default: 60)"
    )
    grade.add_argument(
        "--total", type=float, default=600, help="time limit per notebook in seconds (default: 600)"
    )
    grade.add_argument("--memory", default="4g", help="memory limit of a container (default: 4g)")
    export = commands.add_parser(
        "export", help="export the quizzes (Moodle XML, Markdown) and the glossary (Anki)"
    )
    export.add_argument("--out", default="classroom", help="output folder (default: classroom)")
    slides = commands.add_parser(
        "slides", help="generate slides for each track from the built book"
    )
    slides.add_argument(
        "--built", default="_build/html", help="folder of the built book (default: _build/html)"
    )
    slides.add_argument("--out", default="slides", help="output folder (default: slides)")
    return parser


def _homework(args: argparse.Namespace) -> int:
    from lnbook.classroom import homework

    if args.list:
        for task in homework.select(homework.exercises.chapters()):
            drawn = "inputs by seed" if homework.varies(task.name) else "same for all"
            print(f"{task.chapter:24} {task.name:28} {drawn}")
        return 0
    wanted = args.exercises or homework.DEFAULT
    release = homework.make(wanted, args.out, seed=args.seed, name=args.name)
    course = release.parents[1]
    print(f"For the students: {release}")
    print(f"With solutions:   {course / 'source' / args.name}")
    waits = course / "submitted"
    print(f"Put the submissions in {waits}, one folder per student, then grade them with")
    print(f"  python -m lnbook grade {shlex.quote(str(waits))} --container IMAGE")
    return 0


TRUST = """grading executes code written by other people. Choose where it runs:
  --container IMAGE  run each submission in its own Docker or Podman container without a network
  --trust            run submissions under your user account: they can read and change everything
                     that you can, so use a separate account that contains nothing else"""


def _grade(args: argparse.Namespace) -> int:
    from lnbook.classroom.grade import Sandbox, grade, summary

    if not (args.container or args.trust):
        raise ValueError(TRUST)
    sandbox = Sandbox(args.container, args.seconds, args.total, args.memory)
    graded = grade(args.folder, course=args.course, name=args.name, sandbox=sandbox, tell=print)
    course = Path(args.course) if args.course else Path(args.folder).parent
    print(*graded.sentences, *summary(graded.rows), sep="\n")
    for student in graded.totals:
        print(f"{student.student}: {student.points:g} of {student.of:g} points")
    print(f"By exercise: {course / 'grades.csv'}. By student: {course / 'totals.csv'}.")
    print(f"Feedback for the students: {course / 'feedback'}")
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
