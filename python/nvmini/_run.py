"""Kernels in the simulator, on arrays of this process."""
from __future__ import annotations

import ctypes
import operator
import re
import struct
import threading
from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple, Union

from . import _library as lib
from ._compile import IR, PTX, Context, Option, Source
from ._errors import Diagnostic, Finding, OutOfMemoryError

Dimensions = Union[int, Sequence[int]]  #: x, or (x, y), or (x, y, z)


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel: "pointer", "integer", "float", "bfloat", or "bytes" (a structure, or PTX without a type)."""
    kind: str
    bytes: int


@dataclass(frozen=True)
class Result:
    """What a launch did. `counts` has the names of docs/run.md: "instructions", "global.sectors", "shared.bank_conflicts", …"""
    counts: Dict[str, int] = field(repr=False)
    output: str = ""  #: what the kernel printed
    trace: Tuple[str, ...] = field(default=(), repr=False)


class _Buffer(ctypes.Structure):
    """Py_buffer: memoryview neither gives an address nor reads NumPy's complex and structured types."""
    _fields_ = [("buf", ctypes.c_void_p), ("obj", ctypes.py_object), ("len", ctypes.c_ssize_t), ("itemsize", ctypes.c_ssize_t),
                ("readonly", ctypes.c_int), ("ndim", ctypes.c_int), ("format", ctypes.c_char_p), ("shape", ctypes.c_void_p),
                ("strides", ctypes.c_void_p), ("suboffsets", ctypes.c_void_p), ("internal", ctypes.c_void_p)]


_get_buffer, _release_buffer = ctypes.pythonapi.PyObject_GetBuffer, ctypes.pythonapi.PyBuffer_Release
_get_buffer.argtypes, _get_buffer.restype = [ctypes.py_object, ctypes.POINTER(_Buffer), ctypes.c_int], ctypes.c_int
_release_buffer.argtypes, _release_buffer.restype = [ctypes.POINTER(_Buffer)], None


class _Array:
    """The memory of an argument while a launch uses it."""

    def __init__(self, owner: Any):
        self.owner, self.buffer, self.device = owner, _Buffer(), 0
        try:
            _get_buffer(owner, ctypes.byref(self.buffer), 1)  # PyBUF_WRITABLE
        except (BufferError, ValueError):
            _get_buffer(owner, ctypes.byref(self.buffer), 0)
        self.begin, self.bytes = self.buffer.buf or 0, self.buffer.len
        self.writable = not self.buffer.readonly

    def release(self) -> None:
        _release_buffer(ctypes.byref(self.buffer))

    def overlaps(self, other: "_Array") -> bool:
        return self.begin < other.begin + other.bytes and other.begin < self.begin + self.bytes


_FLOATS = {2: "<e", 4: "<f", 8: "<d"}


def _number(value: Any, parameter: Parameter) -> bytes:
    """The bytes of a number for a parameter; a TypeError or OverflowError if it does not fit."""
    kind, size = parameter.kind, parameter.bytes
    if hasattr(value, "dtype"):  # a scalar of NumPy: its own type where the kernel states none
        if kind == "bytes" and memoryview(value).nbytes == size:
            return value.tobytes()
        value = value.item()
    if kind == "float" or (kind == "bytes" and isinstance(value, float) and size in (4, 8)):
        return struct.pack(_FLOATS[size], float(value))
    if kind == "bfloat":
        return _bfloat(float(value))
    if not isinstance(value, int) or (kind == "bytes" and size not in (1, 2, 4, 8)):
        raise TypeError(f"{type(value).__name__} cannot be a parameter of kind '{kind}' with {size} bytes")
    if not -(1 << (8 * size - 1)) <= value < 1 << (8 * size):
        raise OverflowError(f"{value} does not fit in {size} bytes")
    return (value & ((1 << (8 * size)) - 1)).to_bytes(size, "little")


def _bfloat(value: float) -> bytes:
    """Rounded to nearest even, by way of float."""
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    if value != value:
        return b"\xc0\x7f"
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).to_bytes(2, "little")


def _dimensions(value: Dimensions, name: str) -> List[int]:
    numbers = [operator.index(n) for n in ([value] if isinstance(value, int) or _is_scalar(value) else value)]
    if not 1 <= len(numbers) <= 3 or any(not 1 <= n < 1 << 31 for n in numbers):
        raise ValueError(f"{name} must be one to three positive numbers, not {value!r}")
    return numbers + [1] * (3 - len(numbers))


def _is_scalar(value: Any) -> bool:
    """Of NumPy; an array without dimensions counts as one."""
    return hasattr(value, "dtype") and getattr(value, "shape", None) == ()


def _is_array(value: Any) -> bool:
    if isinstance(value, (int, float)) or _is_scalar(value):
        return False
    try:
        memoryview(value).release()
    except TypeError:
        return False
    return True


def _text(source: Source, execute: str, link: Iterable[Source], name: str, options: Dict[str, Option],
          memory_limit: int) -> Tuple[Union[PTX, IR], Tuple[Diagnostic, ...]]:
    """What is executed, and what was reported."""
    if isinstance(source, str) and _is_ptx(source):
        return PTX(source), ()
    with Context(options, memory_limit) as context:
        module = context.parse_linked(source, name, link)
        if execute == "ptx":
            text: Union[PTX, IR] = context.text(PTX, "compile", module)
        else:
            context.expect(lib.call["optimize"](module))
            text = context.text(IR, "print", module)
        return text, text.diagnostics


class Kernel:
    """A kernel of a program: `program["saxpy"](n, a, x, y, grid=4, block=256)`."""

    def __init__(self, program: "Program", name: str, parameters: Tuple[Parameter, ...]):
        self.program, self.name, self.parameters = program, name, parameters

    def __call__(self, *arguments: Any, **launch: Any) -> Result:
        return self.program.launch(self.name, *arguments, **launch)

    def __repr__(self) -> str:
        return f"<kernel {self.name}({', '.join(f'{p.kind}{8 * p.bytes}' for p in self.parameters)})>"


class Program:
    """A module in the simulator. Its variables keep their values between launches; a lock makes it safe for threads.

    text: what is executed: PTX, or IR with `execute="ir"`; the lines of findings are its.
    kernels: by name.
    """

    def __init__(self, source: Union[Source, PTX, IR], *, execute: str = "ptx", cpu: str = "sm_90a", opt: Union[int, str] = 0,
                 link: Iterable[Source] = (), name: str = "<input>", memory_limit: int = 0, **options: Option):
        if execute not in ("ptx", "ir"):
            raise ValueError(f"execute must be 'ptx' or 'ir', not {execute!r}")
        self._lock = threading.Lock()
        self._machine = ctypes.c_void_p()
        self._free: Dict[int, List[int]] = {}  # bytes -> device addresses of buffers that no launch uses
        options = {"cpu": cpu, "opt": opt, "g": True, **options}
        self.text, self.diagnostics = _text(source, execute, link, name, options, memory_limit)
        # The text is loaded, rather than the module, so that the lines of findings are its lines.
        is_ir = isinstance(self.text, IR)
        self._context = Context({**options, "opt": 0, "passes": None} if is_ir else {}, memory_limit)
        try:
            self._load(name if is_ir else name + ".ptx", is_ir)
            count = ctypes.c_uint32()
            listed = lib.call["kernels"](self._machine, ctypes.byref(count))
            self.kernels: Dict[str, Kernel] = {}
            for k in listed[:count.value]:
                parameters = tuple(Parameter(lib.PARAMETER_KINDS[p.kind], p.bytes) for p in k.parameters[:k.count])
                self.kernels[k.name.decode()] = Kernel(self, k.name.decode(), parameters)
        except BaseException:
            self.close()
            raise

    def _load(self, name: str, is_ir: bool) -> None:
        context, machine = self._context, ctypes.byref(self._machine)
        if is_ir:
            return context.expect(lib.call["load"](context.parse(self.text, name), machine))
        data, encoded = self.text.encode(), name.encode()
        return context.expect(lib.call["load_ptx"](context.handle, data, len(data), encoded, machine))

    def close(self) -> None:
        """Frees the memory, also of `variable`; this otherwise happens with the last reference."""
        if self._context.handle:
            lib.call["unload"](self._machine)
            self._context.close()

    def __enter__(self) -> "Program":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_context", None) is not None:
            self.close()

    def __getitem__(self, kernel: str) -> Kernel:
        return self.kernels[kernel]

    def __repr__(self) -> str:
        return f"<nvmini.Program: {', '.join(map(repr, self.kernels.values())) or 'no kernels'}>"

    def _repr_html_(self) -> str:
        return self.text._repr_html_()

    def variable(self, name: str) -> memoryview:
        """The memory of a variable in global or constant memory, to read and write it between launches: bytes, of which
        `numpy.frombuffer` makes an array. It is valid as long as the program."""
        size = ctypes.c_uint64()
        address = lib.call["variable"](self._open(), name.encode(), ctypes.byref(size))
        if not address:
            raise KeyError(name)
        at = lib.call["memory"](self._machine, address, size.value)
        memory = (ctypes.c_ubyte * size.value).from_address(at)
        memory.program = self  # keeps it
        return memoryview(memory).cast("B")

    def address(self, name: str) -> int:
        """The device address of a variable, for a pointer parameter."""
        address = lib.call["variable"](self._open(), name.encode(), None)
        if not address:
            raise KeyError(name)
        return address

    def launch(self, kernel: Optional[str] = None, *arguments: Any, grid: Dimensions = 1, block: Dimensions = 1,
               cluster: Optional[Dimensions] = None, shared: int = 0, stack: int = 0, checks: bool = True,
               step_limit: int = 10**9, seed: Optional[int] = None, trace: Union[bool, Tuple[int, int]] = False) -> Result:
        """Executes a kernel to its end; a Finding is raised if it does something wrong.

        kernel: None if the program has only one. arguments: one for each parameter:

        - a pointer: a C-contiguous array, or anything else with the buffer protocol, that is copied to the device and, unless
          it is read-only or there was a finding, back; the same object twice is one buffer. Or an address (int), or None.
        - a number: int, float, a scalar of NumPy.
        - a structure: bytes or a record of the size of the parameter.

        grid, block: in blocks and threads; cluster: in blocks, None: as the kernel says. shared: bytes of dynamic shared
        memory. stack: bytes of local memory of a thread; 0: 512 KiB. checks: look for races, uninitialized memory, division
        by zero. step_limit: instructions of all threads. seed: random order of warps, blocks and diverged lanes. trace:
        True, or (block, thread): each instruction of a thread, in the result.
        """
        kernel = self._only_kernel() if kernel is None else kernel
        if kernel not in self.kernels:
            raise KeyError(kernel)
        launch = lib.Launch(kernel=kernel.encode(), shared_bytes=shared, stack_bytes=stack, step_limit=step_limit,
                            no_checks=not checks, random_schedule=seed is not None, seed=seed or 0)
        launch.grid[:], launch.block[:] = _dimensions(grid, "grid"), _dimensions(block, "block")
        if cluster is not None:
            launch.cluster[:] = _dimensions(cluster, "cluster")
        with self._lock:
            self._open()
            arrays: List[_Array] = []
            try:
                values = self._arguments(self.kernels[kernel], arguments, arrays)
                result = self._run(launch, values, trace)
                for array in arrays:
                    if array.writable:
                        ctypes.memmove(array.begin, self._host(array), array.bytes)
                return result
            finally:
                for array in arrays:
                    array.release()
                    if array.device:
                        self._free.setdefault(array.bytes, []).append(array.device)

    def _open(self) -> ctypes.c_void_p:
        if not self._context.handle:
            raise ValueError("the program is closed")
        return self._machine

    def _only_kernel(self) -> str:
        if len(self.kernels) != 1:
            raise ValueError(f"the program has {len(self.kernels)} kernels; name one")
        return next(iter(self.kernels))

    def _host(self, array: _Array) -> int:
        return lib.call["memory"](self._machine, array.device, array.bytes)

    def _arguments(self, kernel: Kernel, arguments: Sequence[Any], arrays: List[_Array]) -> List[bytes]:
        if len(arguments) != len(kernel.parameters):
            raise TypeError(f"kernel {kernel.name} has {len(kernel.parameters)} parameters, but {len(arguments)} arguments were given")
        values = []
        for i, (value, parameter) in enumerate(zip(arguments, kernel.parameters)):
            try:
                values.append(self._argument(value, parameter, arrays))
            except (TypeError, ValueError, OverflowError, BufferError) as error:
                raise type(error)(f"argument {i} of {kernel.name}: {error}") from None
        return values

    def _argument(self, value: Any, parameter: Parameter, arrays: List[_Array]) -> bytes:
        if value is None and parameter.kind in ("pointer", "integer", "bytes"):
            return bytes(parameter.bytes)
        if not _is_array(value):
            return _number(value, parameter)
        if parameter.bytes == 8 and parameter.kind in ("pointer", "integer", "bytes"):
            return self._device_copy(value, arrays).to_bytes(8, "little")
        array = _Array(value)
        data = ctypes.string_at(array.begin, array.bytes)
        array.release()
        if parameter.kind != "bytes" or len(data) != parameter.bytes:
            raise TypeError(f"an array of {len(data)} bytes for a parameter of kind '{parameter.kind}' with {parameter.bytes} bytes")
        return data

    def _device_copy(self, value: Any, arrays: List[_Array]) -> int:
        for other in arrays:
            if other.owner is value:
                return other.device
        array = _Array(value)
        shared = any(array.overlaps(other) and (array.writable or other.writable) for other in arrays)
        arrays.append(array)  # released from here on
        if shared:
            raise ValueError("the array overlaps another argument but is not the same object")
        free = self._free.get(array.bytes)
        array.device = free.pop() if free else lib.call["allocate"](self._machine, array.bytes, 1)
        if not array.device:
            raise OutOfMemoryError("out of memory")
        ctypes.memmove(self._host(array), array.begin, array.bytes)
        return array.device

    def _run(self, launch: lib.Launch, values: List[bytes], trace: Union[bool, Tuple[int, int]]) -> Result:
        counts: Dict[str, int] = {}
        output: List[str] = []
        lines: List[str] = []
        findings: List[Dict[str, Any]] = []
        launch.finding = lib.ON_FINDING(lambda _, f: findings.append(_fields(f.contents)))
        launch.output = lib.ON_TEXT(lambda _, text: output.append(str(text)))
        launch.count = lib.ON_COUNT(lambda _, name, value: counts.__setitem__(name.decode(), value))
        if trace:
            launch.trace = lib.ON_TEXT(lambda _, line: lines.append(str(line)))
            launch.trace_block, launch.trace_thread = (0, 0) if trace is True else trace
        pointers = [ctypes.create_string_buffer(v, len(v)) for v in values]
        launch.arguments = (ctypes.c_void_p * len(values))(*(ctypes.addressof(p) for p in pointers))
        launch.argument_bytes = (ctypes.c_uint64 * len(values))(*map(len, values))
        launch.argument_count = len(values)
        status = lib.call["launch"](self._machine, ctypes.byref(launch))
        if status == lib.REFUSED and findings:
            found = findings[0]
            rows = self.text.split("\n")
            text = rows[found["line"] - 1] if 0 < found["line"] <= len(rows) else ""
            raise Finding(text=text, output="".join(output), trace=lines, **found)
        self._context.expect(status)
        return Result(counts, "".join(output), tuple(lines))


def _fields(f: lib.Finding) -> Dict[str, Any]:
    return {"kind": f.kind.decode(), "message": str(f.message), "kernel": str(f.kernel), "function": str(f.function),
            "block": tuple(f.block) if f.has_thread else None, "thread": tuple(f.thread) if f.has_thread else None,
            "line": f.line, "source": str(f.source), "source_line": f.source_line}


def _is_ptx(text: str) -> bool:
    """PTX begins with .version, after comments."""
    return re.match(r"(?:\s|//[^\n]*|/\*.*?\*/)*\.version\b", text, re.DOTALL) is not None


def load(source: Union[Source, PTX, IR], *, execute: str = "ptx", cpu: str = "sm_90a", opt: Union[int, str] = 0,
         link: Iterable[Source] = (), name: str = "<input>", memory_limit: int = 0, **options: Option) -> Program:
    """A program in the simulator, from PTX of any compiler, IR text or bitcode.

    execute: "ptx" compiles IR first, with the parameters of `compile`; "ir" executes the IR as its passes left it, which
    also finds uses of poison.
    """
    return Program(source, execute=execute, cpu=cpu, opt=opt, link=link, name=name, memory_limit=memory_limit, **options)


def run(source: Union[Source, PTX, IR], *arguments: Any, kernel: Optional[str] = None, grid: Dimensions = 1,
        block: Dimensions = 1, **options: Any) -> Result:
    """Loads a program, executes a kernel, and forgets it: `run(text, n, a, x, y, grid=4, block=256)`.

    The parameters are those of `load` and of `Program.launch`.
    """
    launch = {name: options.pop(name) for name in ("cluster", "shared", "stack", "checks", "step_limit", "seed", "trace")
              if name in options}
    with load(source, **options) as program:
        return program.launch(kernel, *arguments, grid=grid, block=block, **launch)
