"""What the commands share: options, messages, the progress bar, exit statuses."""

from __future__ import annotations

import functools
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

import fasttl
from fasttl._display import printable
from fasttl._inputs import THREADS_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from click.shell_completion import CompletionItem

    from fasttl._options import Progress
    from fasttl.exceptions import FasttlError
    from fasttl.trace import Trace

    Function = TypeVar("Function", bound=Callable[..., Any])

EXIT_PROBLEMS = 1
EXIT_USAGE = 2
EXIT_MATCHED = 3
EXIT_OUTPUT = 4
EXIT_INTERRUPTED = 130

# Key in click's context for the words of the command line as they were typed.
COMMAND_LINE = "fasttl.command_line"


class QuickCommand(click.Command):
    """A command whose options are read without what click looks up for texts that nobody sees."""

    _help: click.Option | None = None

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """Give the option for help; click's own would search the disk for a translation of its one sentence."""
        if self._help is None:
            self._help = click.Option(
                ctx.help_option_names,
                is_flag=True,
                expose_value=False,
                is_eager=True,
                callback=_show_help,
                help="Show this message and exit.",
            )
        return self._help

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words of the command line, short names of options written out."""
        return super().parse_args(ctx, self._with_long_names(ctx, args))

    def _with_long_names(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Write out short names, up to the first word that may be a mistake: that is for click to judge.

        click takes ``-o`` for a long name first, makes a message with similar names of that it
        is none, and drops it. That takes longer than all the rest of reading a command line.
        """
        options = {name: param for param in self.get_params(ctx) for name in param.opts if name.startswith("-")}
        words = list(args)
        place = 0
        while place < len(words):
            word = words[place]
            if not word.startswith("-") or word == "-":
                if not ctx.allow_interspersed_args:
                    break
                place += 1
                continue
            name, joined, _ = word.partition("=") if word.startswith("--") else (word, "", "")
            option = options.get(name)
            if not isinstance(option, click.Option):
                break
            after = place + (1 if option.is_flag or joined else 2)
            if after > len(words):
                # Its value is missing.
                break
            if not name.startswith("--"):
                words[place] = max(option.opts, key=len)
            place = after
        return words


def _show_help(ctx: click.Context, _param: click.Parameter, value: bool) -> None:  # noqa: FBT001 - the signature is click's
    if value and not ctx.resilient_parsing:
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


def exit_status(error: FasttlError) -> int:
    """Give the exit status that an error ends the process with."""
    return EXIT_OUTPUT if isinstance(error, fasttl.OutputError) else EXIT_USAGE


def error_text(error: FasttlError) -> str:
    """Give the message of an error, with the file that an `OSError` carries apart."""
    text = str(error)
    if isinstance(error, fasttl.InternalError):
        text += "\nThis is a fault of fasttl; please report it with the command and this message."
    return text


def warn(text: str) -> None:
    """Write a message to stderr; each of its lines is made safe to print."""
    for i, line in enumerate(text.split("\n")):
        click.echo(f"{'' if i else 'fasttl: '}{printable(line)}", err=True)


def note(text: str) -> None:
    """Write a message that needs no action to stderr."""
    warn(f"note: {text}")


def read_ranks(_ctx: click.Context, _param: click.Parameter, value: str | None) -> list[int | None] | None:
    """Turn the text of an option such as 0-7,none into ranks."""
    if value is None:
        return None
    from fasttl._options import rank_list  # noqa: PLC0415 - most command lines name no ranks

    try:
        return rank_list(value)
    except fasttl.OptionError as error:
        raise click.BadParameter(str(error)) from error


def read_size(_ctx: click.Context, _param: click.Parameter, value: str | None) -> int | None:
    """Turn the text of an option such as 500M into bytes."""
    if value is None:
        return None
    from fasttl._options import byte_count  # noqa: PLC0415 - most command lines set no limit

    try:
        return byte_count(value)
    except fasttl.OptionError as error:
        raise click.BadParameter(str(error)) from error


# How many threads do the work.
threads_option = click.option(
    "--threads",
    type=click.IntRange(min=1),
    metavar="N",
    envvar=THREADS_VARIABLE,
    show_envvar=True,
    help="Worker threads; one for each core unless told.",
)


def complete_paths(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Leave it to the shell to complete a path."""
    from click.shell_completion import CompletionItem  # noqa: PLC0415 - only a shell that completes needs it

    return [CompletionItem(incomplete, type="file")]


def input_options(command: Function) -> Function:
    """Add the argument PATH and the options that say what to read."""
    decorators: list[Callable[[Any], Any]] = [
        click.argument("paths", metavar="[PATH]...", nargs=-1, shell_complete=complete_paths),
        click.option("--latest", is_flag=True, help="Read the newest run only, with all its ranks."),
        click.option(
            "--ranks",
            callback=read_ranks,
            metavar="LIST",
            help="Read these ranks only, such as 0-7,64,none; none stands for logs without a rank.",
        ),
        threads_option,
        click.option(
            "--max-unpacked",
            callback=read_size,
            metavar="SIZE",
            help="Limit for what compressed inputs unpack to, such as 500M; 64G unless told.",
        ),
    ]
    return functools.reduce(lambda function, decorate: decorate(function), reversed(decorators), command)


def read_trace(  # noqa: PLR0913 - the inputs of one command, all by keyword
    paths: Sequence[str],
    *,
    latest: bool,
    ranks: list[int | None] | None = None,
    threads: int | None,
    max_unpacked: int | None,
    verify: bool = True,
) -> Trace:
    """Load what the common options of a command name, with a bar on stderr; no path stands for ``$TORCH_TRACE``."""
    with progress_bar("Reading") as progress:
        return fasttl.load(
            paths or None,
            latest=latest,
            ranks=ranks,
            verify=verify,
            threads=threads,
            max_unpacked=max_unpacked,
            progress=progress,
        )


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
