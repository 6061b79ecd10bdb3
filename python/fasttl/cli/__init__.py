"""The command line: ``fasttl PATH…`` writes the report, the other commands have names.

`PathFirstGroup` decides which of the two a command line means, and turns every
outcome into the exit statuses that the documentation promises.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
from typing import TYPE_CHECKING, Any, NoReturn

import click

import fasttl
from fasttl._core import build_profile
from fasttl.cli._common import (
    COMMAND_LINE,
    EXIT_INTERRUPTED,
    EXIT_OUTPUT,
    QuickCommand,
    complete_paths,
    error_text,
    exit_status,
    note,
    warn,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

    from click.shell_completion import CompletionItem

    from fasttl.exceptions import FasttlError

# Each command is a module here with a function of the same name. A command is
# imported when it is used: what one needs must not slow down the others, nor the
# help text, so that its line there stands here.
COMMANDS = {
    "report": "Write the report (what is done without a command).",
    "info": "Say what the input holds.",
    "ranks": "Say how the ranks of a job compare.",
    "diff": "Say what differs between two traces, ranks or compiles.",
    "index": "Keep an index beside each log, so that it loads at once.",
    "findings": "Say what stands out, and what to try.",
    "explain": "Say what one compile is, and why it happened.",
    "query": "Ask the tables in SQL.",
    "size": "Say what makes the logs large.",
    "extract": "Give stored payloads as files.",
    "export": "Write the tables as Parquet or Arrow files.",
}
DEFAULT_COMMAND = "report"
HELP_FLAGS = frozenset({"-h", "--help"})
GROUP_FLAGS = HELP_FLAGS | {"-V", "--version"}

EXAMPLES = """\b
Examples:
  fasttl /tmp/tracedir -o out        the report of every rank in the folder
  fasttl /tmp/tracedir --ranks 0-7   of some ranks only
  fasttl                             of the folder that $TORCH_TRACE names
  fasttl info /tmp/tracedir          what the folder holds
  fasttl findings /tmp/tracedir      what stands out, and what to try
  fasttl ranks /tmp/tracedir         which rank differs, and which one the others wait for
  fasttl explain /tmp/tracedir 0/1   why this compile happened, and what it cost
  fasttl query /tmp/tracedir "select rank, code_name from frames where status = 'error'"
"""


class _ReaderGoneError(Exception):
    """Who read stdout left before all was written, as ``head`` does."""


class PathFirstGroup(QuickCommand, click.Group):
    """A group whose first word may be a path, which then goes to the default command."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - the signature is click's
        """Name the commands in the order of the help text."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        """Import a command."""
        return load_command(cmd_name) if cmd_name in COMMANDS else None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the default command in front where no command is named."""
        ctx.meta[COMMAND_LINE] = [ctx.info_name or "fasttl", *args]
        if ctx.resilient_parsing and not args:
            # A shell completes the first word, which may still become the name of a command.
            return super().parse_args(ctx, args)
        if not (args and args[0] in GROUP_FLAGS) and not self._names_command(ctx, args):
            args = [DEFAULT_COMMAND, *args]
        return super().parse_args(ctx, args)

    def _names_command(self, ctx: click.Context, args: list[str]) -> bool:
        """Tell whether the first word is meant as a command.

        A word that is also a path here is ambiguous. Flags that only one reading
        knows decide, then a further path, which only a command would want after its
        name; else the path wins.
        """
        if not args or args[0] not in COMMANDS:
            return False
        word, rest = args[0], args[1:]
        if not os.path.lexists(word) or HELP_FLAGS.intersection(rest):
            return True
        as_command = _trial_parse(load_command(word), ctx, rest)
        as_path = _trial_parse(load_command(DEFAULT_COMMAND), ctx, args)
        if as_command is None or as_path is None:
            return as_path is None
        is_command = bool(as_command)
        taken, other = ("command", f"fasttl ./{word}") if is_command else ("path", f"fasttl {word} PATH")
        note(f"{word!r} is both a path here and a command; taken as the {taken} (for the other: {other})")
        return is_command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the first word: a command or a path, or an option of the group or of the default command."""
        found = super().shell_complete(ctx, incomplete)
        if not incomplete.startswith("-"):
            return [*found, *complete_paths(ctx, self.params[0], incomplete)]
        known = {item.value for item in found}
        default = load_command(DEFAULT_COMMAND).shell_complete(ctx, incomplete)
        return [*found, *(item for item in default if item.value not in known)]

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - the signature is click's
        """Run the command; click would end the process with status 1 when the reader of stdout leaves."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise _ReaderGoneError from error

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Show both ways to call it."""
        formatter.write_usage(ctx.command_path, "[OPTIONS] [PATH]...")
        formatter.write_usage(ctx.command_path, "COMMAND [ARGS]...", prefix="       ")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the options of the default command with those of the group."""
        default = load_command(DEFAULT_COMMAND)
        with click.Context(default, info_name=DEFAULT_COMMAND) as inner:
            # Not its --help, which is an option of both.
            options = [param for param in default.params if isinstance(param, click.Option)]
            records = [option.get_help_record(inner) for option in options]
        records += [param.get_help_record(ctx) for param in self.get_params(ctx)]
        with formatter.section("Options"):
            formatter.write_dl([record for record in records if record is not None])
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,  # noqa: FBT001, FBT002 - the signature is click's
        **extra: Any,  # noqa: ANN401 - the signature is click's
    ) -> Any:  # noqa: ANN401 - the signature is click's
        """Run, and leave with the exit status of the outcome."""
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        words = list(sys.argv[1:] if args is None else args)
        # A log's text, or a file's name, may hold what the terminal's encoding lacks.
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        sys.exit(self._run(words, prog_name, complete_var, **extra))

    def _run(
        self,
        words: list[str],
        prog_name: str | None,
        complete_var: str | None,
        **extra: Any,  # noqa: ANN401 - passed on to click
    ) -> int:
        try:
            status = super().main(words, prog_name, complete_var, standalone_mode=False, **extra)
            sys.stdout.flush()
        except click.ClickException as error:
            error.show()
            return error.exit_code
        except (click.Abort, KeyboardInterrupt):
            warn("interrupted")
            return EXIT_INTERRUPTED
        except fasttl.FasttlError as error:
            warn(f"error: {error_text(error)}{_hint(error, words)}")
            return exit_status(error)
        except (_ReaderGoneError, BrokenPipeError):
            _silence_stdout()
            return EXIT_OUTPUT
        except OSError as error:
            _silence_stdout()
            warn(f"error: {error}")
            return EXIT_OUTPUT
        return status if isinstance(status, int) else 0


def load_command(name: str) -> click.Command:
    """Import the command of a name in `COMMANDS`."""
    command = getattr(importlib.import_module(f"fasttl.cli.{name}"), name)
    if not isinstance(command, click.Command):
        message = f"fasttl.cli.{name} has no command {name}"
        raise TypeError(message)
    return command


def _hint(error: FasttlError, words: list[str]) -> str:
    """Where the word that was not found looks like a command, say so."""
    if not isinstance(error, fasttl.TraceNotFoundError) or not words:
        return ""
    import difflib  # noqa: PLC0415 - only a mistyped command needs it

    near = difflib.get_close_matches(words[0], COMMANDS, n=1)
    return f"\nDid you mean the command `fasttl {near[0]}`?" if near else ""


def _trial_parse(command: click.Command, parent: click.Context, words: list[str]) -> list[str] | None:
    """Parse words as the arguments of a command: its paths, or None where they do not fit."""
    ctx = click.Context(command, parent=parent, info_name=command.name)
    try:
        values, _, _ = command.make_parser(ctx).parse_args(list(words))
    except click.UsageError:
        return None
    # Without a path, click gives a marker instead of a tuple.
    paths = values.get("paths")
    return list(paths) if isinstance(paths, (tuple, list)) else []


def _silence_stdout() -> None:
    """Send what is still buffered nowhere: its reader is gone, and the flush at exit would complain."""
    try:
        number = sys.stdout.fileno()
    except (OSError, ValueError):
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)


def _show_version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:  # noqa: FBT001 - the signature is click's
    if value and not ctx.resilient_parsing:
        build = "" if build_profile == "release" else f" ({build_profile} build)"
        click.echo(f"{ctx.find_root().info_name} {fasttl.__version__}{build}", color=ctx.color)
        ctx.exit()


@click.group(
    cls=PathFirstGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EXAMPLES,
    help="""Turn PyTorch TORCH_TRACE logs into the compile report and into tables.

    PATH is a log, a folder of logs, a pattern, or - for the standard input; without
    one it is the folder that $TORCH_TRACE names. The path of the page to open is
    printed when the report is written.

    \b
    Exit status: 0 done; 1 done, but --strict or --strict-compile-id found something;
    2 wrong use, or nothing could be read; 3 --fail-on found something; 4 the output could not be written;
    130 interrupted.""",
)
@click.option(
    # Not click's `version_option`, for the reason that `get_help_option` gives.
    "-V",
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_show_version,
    help="Show the version and exit.",
)
def cli() -> None:
    """Group the commands; each does its own work."""


def _terminated(_signal: int, _frame: FrameType | None) -> NoReturn:
    """End as Ctrl-C does, so that a job that is cancelled leaves no half-written report behind."""
    raise KeyboardInterrupt


def main() -> NoReturn:
    """Run the command line of this process."""
    signal.signal(signal.SIGTERM, _terminated)
    cli.main(prog_name="fasttl")
    raise AssertionError  # pragma: no cover - the line above leaves the process
