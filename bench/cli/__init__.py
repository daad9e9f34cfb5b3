"""The command `costaware`. Command `foo-bar` lives in `foo_bar.py` here and is imported when it is asked for.

Exit codes: 0 done, 1 something failed (named), 2 wrong use. Errors are one line that says how to mend it; the traceback
of an error that nobody foresaw goes to a file, or to the terminal under COSTAWARE_DEBUG=1.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import shlex
import sys
import tempfile
import traceback
from collections.abc import Sequence

import click

HELPERS = ("options", "__main__")  # modules of this package that are no commands
FAILED, WRONG_USE, INTERRUPTED = 1, 2, 130


class LazyGroup(click.Group):
    """A group whose commands are the modules of this package; `list_.py` is `list`, a name that Python needs itself."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        names = (module.name for module in pkgutil.iter_modules(__path__) if module.name not in HELPERS)
        return sorted(name.rstrip("_").replace("_", "-") for name in names)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        if cmd_name not in self.list_commands(ctx):
            from strategies.errors import unknown

            raise unknown("command", cmd_name, self.list_commands(ctx))
        stem = cmd_name.replace("-", "_")
        known = {module.name for module in pkgutil.iter_modules(__path__)}
        module = importlib.import_module(f"{__name__}.{stem if stem in known else stem + '_'}")
        command: click.Command = module.command
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="costaware-bench", prog_name="costaware", message="%(prog)s %(version)s")
def cli() -> None:
    """Which sampling strategy trains with the fewest tokens, and how sure are we?

    Start with `costaware sweep smoke` (seconds), then `costaware leaderboard runs/smoke --out site`.
    """


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code."""
    # One thread a process, set before numpy loads: parallel runs do not fight for cores, and sums add in one order.
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")
    sys.exit(_guarded(args))


def _guarded(args: Sequence[str] | None) -> int:
    try:
        typed = shlex.join(["costaware", *(sys.argv[1:] if args is None else args)])
        code = cli.main(args, prog_name="costaware", standalone_mode=False, obj=typed)
        return code if isinstance(code, int) else 0
    except (KeyboardInterrupt, click.Abort):
        return _say("interrupted; the same command goes on from here", INTERRUPTED)
    except Exception as error:
        return _explain(error)


def _explain(error: Exception) -> int:
    from strategies.errors import WrongUse

    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.ctx.get_help() if error.ctx else error.format_message())
        return WRONG_USE
    if isinstance(error, click.ClickException):
        return _say(error.format_message(), WRONG_USE)
    if isinstance(error, WrongUse):
        return _say(str(error), WRONG_USE)
    if isinstance(error, BrokenPipeError):  # `costaware list | head`: the reader has what it wanted
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    if isinstance(error, OSError):
        return _say(f"{error.filename}: {error.strerror}" if error.filename else str(error), FAILED)
    return _unforeseen(error)


def _say(message: str, code: int) -> int:
    click.echo(f"costaware: error: {' '.join(message.split())}", err=True)
    return code


def _unforeseen(error: Exception) -> int:
    if os.environ.get("COSTAWARE_DEBUG"):
        traceback.print_exception(error)
    with tempfile.NamedTemporaryFile("w", prefix="costaware-", suffix=".log", delete=False) as file:
        traceback.print_exception(error, file=file)
    return _say(f"{type(error).__name__}: {error} (unforeseen; the traceback is in {file.name})", FAILED)
