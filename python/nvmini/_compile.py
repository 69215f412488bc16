"""Text or bitcode in; PTX, IR, remarks and plans out."""
from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass, field
from typing import Any, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from . import _library as lib
from ._errors import Diagnostic, InputError, InternalError, OptionError, OutOfMemoryError
from ._html import highlighted

Source = Union[str, bytes, bytearray, memoryview]  #: IR text, or LLVM bitcode
Option = Union[str, int, bool, None, Sequence[str], Mapping[str, object]]


@dataclass(frozen=True)
class Remark:
    """What was optimized ("passed"), what was not and why ("missed"), or a result ("analysis")."""
    kind: str
    pass_name: str
    name: str
    function: str
    file: str
    line: int    #: from 1; 0: unknown
    column: int
    arguments: Tuple[Tuple[str, str], ...] = field(repr=False)  #: (key, value); the key of plain text is "String"

    @property
    def message(self) -> str:
        return "".join(value for _, value in self.arguments)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.kind}: {self.message} [{self.pass_name}:{self.name}]"


@dataclass(frozen=True)
class Cost:
    """A row of the costs of a plan: a vectorization factor and an interleave count."""
    vf: int
    uf: int
    per_iteration: float  #: issue slots for an iteration of the source loop
    chosen: bool
    text: str = field(repr=False)


@dataclass(frozen=True)
class Plan:
    """What the loop vectorizer planned for a loop; docs/vectorizer.md of the sources explains the text."""
    function: str
    loop: str    #: the name of its header
    refusal: str  #: why the loop is not vectorized; empty if there is a plan
    costs: Tuple[Cost, ...]
    initial: str = field(repr=False)
    final: str = field(repr=False)  #: empty if the scalar loop remains

    @property
    def chosen(self) -> Optional[Cost]:
        return next((c for c in self.costs if c.chosen), None)

    def _repr_html_(self) -> str:
        return highlighted("\n".join([f"; loop {self.loop} of {self.function}", self.refusal or self.initial,
                                      *(c.text for c in self.costs), self.final]))


class Text(str):
    """What the compiler returns: a str with what was reported meanwhile; highlighted in notebooks."""
    diagnostics: Tuple[Diagnostic, ...] = ()  #: warnings and notes
    remarks: Tuple[Remark, ...] = ()  #: with `remarks=True`
    plans: Tuple[Plan, ...] = ()      #: with `plans=True`

    def _repr_html_(self) -> str:
        return highlighted(self)


class PTX(Text):
    """PTX text."""


class IR(Text):
    """NVVM IR in canonical form, which parses to the same module."""


_COST = re.compile(r"VF=(\d+),UF=(\d+): .* ([\d.]+) issue slots per iteration")


def _parse_plan(text: str) -> Plan:
    head, _, rest = text.partition("\n")
    loop, function, refusal = re.match(r"Loop (?:ir-bb<)?%?(.*?)>? in function '(.*?)'(?:: (.*))?$", head, re.DOTALL).groups()
    costs = tuple(Cost(int(row[1]), int(row[2]), float(row[3]), row.string.endswith("(chosen)"), row.string)
                  for row in map(_COST.match, rest.split("\n")) if row)
    plans = dict(re.findall(r"^(VPlan '(?:Initial|Final))( .*?^\})", rest, re.DOTALL | re.MULTILINE))
    initial, final = (name + plans[name] if name in plans else "" for name in ("VPlan 'Initial", "VPlan 'Final"))
    return Plan(function, loop, refusal or "", costs, initial, final)


def _spelled(name: str, value: Option) -> Iterable[str]:
    """The options of a keyword: ftz=True is --ftz, fma_level=1 --fma-level=1, knobs={"x": 1} --knob=x=1."""
    if name == "opt":
        yield f"-O{value}"
    elif name == "knobs":
        for knob, setting in value.items():  # type: ignore[union-attr]
            yield f"--knob={knob}={setting}"
    elif name == "warnings":
        for warning in [value] if isinstance(value, str) else value or ():  # type: ignore[union-attr]
            yield f"-W{warning}"
    elif value is None or value is False:
        return
    else:
        spelling = f"-{name}" if len(name) == 1 else "--" + name.replace("_", "-")
        yield spelling if value is True else f"{spelling}={value}"


class Context:
    """A context of the library with its options, and what it reported. For one thread at a time; use it with `with`."""

    def __init__(self, options: Mapping[str, Option], memory_limit: int = 0, plans: bool = False, remarks: bool = False):
        self.diagnostics: List[Diagnostic] = []
        self.remarks: List[Remark] = []
        self.plan_text = ""
        self.modules: List[Any] = []
        self.sources: List[Any] = []  # whose memory the modules borrow
        self.handle = lib.call["create"](None, memory_limit)
        if not self.handle:
            raise OutOfMemoryError("out of memory")
        # The library calls these while it has the handle.
        self._callbacks = (lib.ON_DIAGNOSTIC(self._on_diagnostic), lib.ON_TEXT(self._on_plan), lib.ON_REMARK(self._on_remark))
        lib.call["on_diagnostic"](self.handle, self._callbacks[0], None)
        if plans:
            lib.call["on_plan"](self.handle, self._callbacks[1], None, 0)
        if remarks:
            lib.call["on_remark"](self.handle, self._callbacks[2], None)
        try:
            for name, value in options.items():
                for option in _spelled(name, value):
                    self.expect(lib.call["set_option"](self.handle, option.encode()))
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "Context":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for module in self.modules:
            lib.call["release"](module)
        self.modules = []
        lib.call["destroy"](self.handle)
        self.handle = None

    def expect(self, status: int) -> None:
        """Raises the exception of a status, with the diagnostics since the last."""
        if status == lib.OK:
            return
        kinds = {lib.REFUSED: InputError, lib.OUT_OF_MEMORY: OutOfMemoryError, lib.BAD_OPTION: OptionError}
        reported, self.diagnostics = self.diagnostics, []
        kind = kinds.get(status, InternalError)
        if kind is OptionError:
            raise OptionError("; ".join(d.message for d in reported), reported)
        raise kind("\n".join(map(str, reported)) or "out of memory", reported)

    def parse(self, source: Source, name: str) -> Any:
        data = source.encode() if isinstance(source, str) else bytes(source)
        module, encoded = ctypes.c_void_p(), name.encode()
        self.sources += [data, encoded]
        self.expect(lib.call["parse"](self.handle, data, len(data), encoded, ctypes.byref(module)))
        self.modules.append(module)
        return module

    def parse_linked(self, source: Source, name: str, link: Iterable[Source]) -> Any:
        module = self.parse(source, name)
        for i, library in enumerate(link):
            self.expect(lib.call["link_library"](module, self.parse(library, f"<link {i}>")))
        return module

    def text(self, kind: type, function: str, module: Any) -> Any:
        """The result of a function of the library that returns text, with what was reported."""
        text = lib.Text()
        self.expect(lib.call[function](module, ctypes.byref(text)))
        result = kind(text)
        result.diagnostics, result.remarks = tuple(self.diagnostics), tuple(self.remarks)
        result.plans = tuple(_parse_plan(p) for p in re.split(r"^(?=Loop )", self.plan_text, flags=re.MULTILINE) if p.strip())
        return result

    def _on_diagnostic(self, _user: object, at: Any) -> None:
        d = at.contents
        line = b""
        if d.line:  # without the whole source, which can be large
            begin = d.begin - (d.column - 1)
            line = ctypes.string_at(d.source.bytes + begin, min(d.source.length - begin, 400)).split(b"\n")[0]
        self.diagnostics.append(Diagnostic(lib.SEVERITIES[d.severity], d.id.decode(), str(d.message), (d.name or b"nvmini").decode(),
                                           d.line, d.column, str(d.function), str(d.hint), line.decode(errors="replace")))

    def _on_plan(self, _user: object, text: lib.Text) -> None:
        self.plan_text += str(text)

    def _on_remark(self, _user: object, at: Any) -> None:
        r = at.contents
        arguments = tuple((str(a.key), str(a.value)) for a in r.arguments[:r.count])
        self.remarks.append(Remark(lib.REMARK_KINDS[r.kind], getattr(r, "pass").decode(), r.name.decode(), str(r.function),
                                   str(r.file), r.line, r.column, arguments))


def compile(source: Source, *, cpu: str, opt: Union[int, str] = 3, link: Iterable[Source] = (), name: str = "<input>",
            remarks: bool = False, plans: bool = False, memory_limit: int = 0, **options: Option) -> PTX:
    """Compiles IR text or LLVM bitcode to PTX.

    cpu: e.g. "sm_90a". opt: 0 to 3, "s", "z". link: modules such as libdevice, of which what `source` needs is linked.
    name: of the input, for messages. remarks, plans: collect them in the result. memory_limit: bytes; 0: none.
    Every compiler option of `nvmini compile --help` is a keyword: ftz=True, fma_level=1, g=True, passes="mem2reg",
    knobs={"unroll-count": 4}, warnings=["error", "no-unknown-asm"].

    Raises InputError with all diagnostics, OptionError, OutOfMemoryError.
    """
    with Context({"cpu": cpu, "opt": opt, **options}, memory_limit, plans, remarks) as context:
        return context.text(PTX, "compile", context.parse_linked(source, name, link))


def optimize(source: Source, *, cpu: str, opt: Union[int, str] = 3, link: Iterable[Source] = (), name: str = "<input>",
             remarks: bool = False, plans: bool = False, memory_limit: int = 0, **options: Option) -> IR:
    """Runs the passes of a level, or `passes="…"`, and returns the IR; parameters and exceptions as for `compile`."""
    with Context({"cpu": cpu, "opt": opt, **options}, memory_limit, plans, remarks) as context:
        module = context.parse_linked(source, name, link)
        context.expect(lib.call["optimize"](module))
        return context.text(IR, "print", module)


def canonical(source: Source, *, name: str = "<input>", memory_limit: int = 0) -> IR:
    """Parses IR text or bitcode and returns its canonical text."""
    with Context({}, memory_limit) as context:
        return context.text(IR, "print", context.parse(source, name))


def check(source: Source, *, name: str = "<input>", memory_limit: int = 0, **options: Option) -> Tuple[Diagnostic, ...]:
    """Parses and verifies a module. Returns warnings; raises InputError with all violations."""
    with Context(options, memory_limit) as context:
        context.expect(lib.call["check"](context.parse(source, name)))
        return tuple(context.diagnostics)


def graphs(source: Source, *, name: str = "<input>", memory_limit: int = 0, **options: Option) -> str:
    """The control flow graphs of a module's functions, or of only_function="…", for Graphviz."""
    with Context(options, memory_limit) as context:
        return str(context.text(Text, "print_graphs", context.parse(source, name)))
