"""What the commands share: options, messages, the progress bar, exit statuses."""

from __future__ import annotations

import functools
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from fasttl._options import THREADS_VARIABLE, byte_count, rank_list
from fasttl.exceptions import FasttlError, InternalError, OptionError, OutputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fasttl._options import Progress

    Function = TypeVar("Function", bound=Callable[..., Any])

EXIT_PROBLEMS = 1
EXIT_USAGE = 2
EXIT_OUTPUT = 4
EXIT_INTERRUPTED = 130

# Key in click's context for the command line as it was typed.
COMMAND_LINE = "fasttl.command_line"


def exit_status(error: FasttlError) -> int:
    """Give the exit status that an error ends the process with."""
    return EXIT_OUTPUT if isinstance(error, OutputError) else EXIT_USAGE


def error_text(error: FasttlError) -> str:
    """Give the message of an error, with the file that an `OSError` carries apart."""
    text = str(error)
    if isinstance(error, InternalError):
        text += "\nThis is a fault of fasttl; please report it with the command and this message."
    return text


def printable(text: str) -> str:
    r"""Show what a terminal would obey rather than print, such as escape sequences, as text.

    Names and messages come from logs and archives of other people.

    Example:
        >>> print(printable("a\x1b[2Jb\nc"))
        a\x1b[2Jb\nc
    """
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def warn(text: str) -> None:
    """Write a message to stderr; each of its lines is made safe to print."""
    for i, line in enumerate(text.split("\n")):
        click.echo(f"{'' if i else 'fasttl: '}{printable(line)}", err=True)


def note(text: str) -> None:
    """Write a message that needs no action to stderr."""
    warn(f"note: {text}")


def _read_ranks(_ctx: click.Context, _param: click.Parameter, value: str | None) -> list[int | None] | None:
    try:
        return rank_list(value)
    except OptionError as error:
        raise click.BadParameter(str(error)) from error


def _read_size(_ctx: click.Context, _param: click.Parameter, value: str | None) -> int | None:
    try:
        return byte_count(value)
    except OptionError as error:
        raise click.BadParameter(str(error)) from error


def input_options(command: Function) -> Function:
    """Add the argument PATH and the options that say what to read."""
    decorators: list[Callable[[Any], Any]] = [
        click.argument("paths", metavar="[PATH]...", nargs=-1),
        click.option("--latest", is_flag=True, help="Read the newest run only, with all its ranks."),
        click.option(
            "--ranks",
            callback=_read_ranks,
            metavar="LIST",
            help="Read these ranks only, such as 0-7,64,none; none stands for logs without a rank.",
        ),
        click.option(
            "--threads",
            type=click.IntRange(min=1),
            metavar="N",
            envvar=THREADS_VARIABLE,
            show_envvar=True,
            help="Worker threads; one for each core unless told.",
        ),
        click.option(
            "--max-unpacked",
            callback=_read_size,
            metavar="SIZE",
            help="Limit for what compressed inputs unpack to, such as 500M; 64G unless told.",
        ),
    ]
    return functools.reduce(lambda function, decorate: decorate(function), reversed(decorators), command)


@contextmanager
def progress_bar(label: str) -> Iterator[Progress | None]:
    """Give a callback that draws a bar on stderr; None where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    with click.progressbar(length=1, label=label, file=sys.stderr) as bar:

        def show(done: int, total: int) -> None:
            # The total grows while compressed inputs are unpacked.
            bar.length = max(total, 1)
            bar.update(min(done, bar.length) - bar.pos)

        yield show
