"""What the library reports, as objects and exceptions."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Sequence, Tuple


@dataclass(frozen=True)
class Diagnostic:
    """One message of the compiler about its input. Lines and columns count from 1, columns in bytes; 0: unknown."""
    severity: str  #: "error", "warning", "remark" or "note"
    id: str        #: stable, e.g. "undefined-local"; `nvmini diagnostics` lists all
    message: str
    name: str      #: of the input
    line: int
    column: int
    function: str = ""
    hint: str = ""
    text: str = ""  #: the line of the source

    def __str__(self) -> str:
        place = f"{self.name}:{self.line}:{self.column}" if self.line else self.name
        lines = [f"{place}: {self.severity}: {self.message}"]
        if self.text:
            lines += [f"  {self.text}", "  " + " " * (self.column - 1) + "^"]
        lines += [f"  hint: {line}" for line in self.hint.splitlines()]
        return "\n".join(lines)


class Error(Exception):
    """The base of nvmini's exceptions. `line` and `column` are those of the first error, 0 if it has none."""

    def __init__(self, message: str, diagnostics: Sequence[Diagnostic] = ()):
        super().__init__(message)
        self.diagnostics: Tuple[Diagnostic, ...] = tuple(diagnostics)
        first = next((d for d in self.diagnostics if d.severity == "error"), None)
        self.line: int = first.line if first else 0
        self.column: int = first.column if first else 0


class InputError(Error):
    """The input was refused; `diagnostics` has every error."""


class OptionError(Error, ValueError):
    """An option is unknown or has an invalid value."""


class OutOfMemoryError(Error, MemoryError):
    """The memory limit was reached."""


class InternalError(Error):
    """A bug in nvmini."""


class Finding(Error):
    """An error of a program in execution, which ended the launch.

    `docs/run.md` of the sources lists the kinds: "race", "out-of-bounds", "uninitialized", "deadlock", …
    """

    def __init__(self, kind: str, message: str, kernel: str = "", function: str = "",
                 block: Optional[Tuple[int, int, int]] = None, thread: Optional[Tuple[int, int, int]] = None, line: int = 0,
                 source: str = "", source_line: int = 0, text: str = "", output: str = "", trace: Sequence[str] = ()):
        where = f"kernel {kernel}, block {_triple(block)}, thread {_triple(thread)} " if block and thread else ""
        what = f"{kind}: {where}{message}"
        if line:
            what += f", in {function}, line {line}"
        if source_line:
            what += f", {source}:{source_line}"
        super().__init__(what + (f"\n  {text.strip()}" if text else ""))
        self.kind, self.message, self.kernel, self.function = kind, message, kernel, function
        self.block, self.thread = block, thread  #: x, y, z; None if the finding has no thread
        self.line = line  #: of the text that was executed, `Program.text`; 0: unknown
        self.source, self.source_line = source, source_line  #: by debug locations
        self.text = text  #: that line
        self.output = output  #: what the kernel had printed
        self.trace: Tuple[str, ...] = tuple(trace)


def _triple(numbers: Tuple[int, int, int]) -> str:
    return "({},{},{})".format(*numbers)
