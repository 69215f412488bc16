"""The shared library, by ctypes: the declarations of include/nvmini.h, in its order and with its names.

tests/test_header.py compares the structures with the header.
"""
import ctypes
import os
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint32, c_uint64, c_void_p

OK, REFUSED, OUT_OF_MEMORY, BAD_OPTION, BUG = range(5)
SEVERITIES = ("error", "warning", "remark", "note")
REMARK_KINDS = ("passed", "missed", "analysis")
BYTES, INTEGER, FLOAT, BFLOAT, POINTER_KIND = range(5)
PARAMETER_KINDS = ("bytes", "integer", "float", "bfloat", "pointer")


class Text(ctypes.Structure):
    _fields_ = [("bytes", c_void_p), ("length", c_size_t)]

    def __str__(self) -> str:
        return self.raw().decode(errors="replace")

    def raw(self) -> bytes:
        return ctypes.string_at(self.bytes, self.length) if self.length else b""


class Diagnostic(ctypes.Structure):
    _fields_ = [("severity", c_int), ("id", c_char_p), ("message", Text), ("function", Text), ("hint", Text), ("name", c_char_p),
                ("source", Text), ("begin", c_uint64), ("end", c_uint64), ("line", c_uint32), ("column", c_uint32)]


class RemarkArgument(ctypes.Structure):
    _fields_ = [("key", Text), ("value", Text)]


class Remark(ctypes.Structure):
    _fields_ = [("kind", c_int), ("pass", c_char_p), ("name", c_char_p), ("function", Text), ("file", Text), ("line", c_uint32),
                ("column", c_uint32), ("arguments", POINTER(RemarkArgument)), ("count", c_size_t)]


class Parameter(ctypes.Structure):
    _fields_ = [("kind", c_int), ("bytes", c_uint64)]


class Kernel(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("parameters", POINTER(Parameter)), ("count", c_uint32)]


class Finding(ctypes.Structure):
    _fields_ = [("kind", c_char_p), ("message", Text), ("has_thread", c_int), ("block", c_uint32 * 3), ("thread", c_uint32 * 3),
                ("kernel", Text), ("function", Text), ("line", c_uint32), ("source", Text), ("source_line", c_uint32)]


ON_DIAGNOSTIC = ctypes.CFUNCTYPE(None, c_void_p, POINTER(Diagnostic))
ON_TEXT = ctypes.CFUNCTYPE(None, c_void_p, Text)
ON_REMARK = ctypes.CFUNCTYPE(None, c_void_p, POINTER(Remark))
ON_FINDING = ctypes.CFUNCTYPE(None, c_void_p, POINTER(Finding))
ON_COUNT = ctypes.CFUNCTYPE(None, c_void_p, c_char_p, c_uint64)


class Launch(ctypes.Structure):
    _fields_ = [("kernel", c_char_p), ("grid", c_uint32 * 3), ("block", c_uint32 * 3), ("cluster", c_uint32 * 3),
                ("shared_bytes", c_uint64), ("stack_bytes", c_uint64), ("step_limit", c_uint64), ("arguments", POINTER(c_void_p)),
                ("argument_bytes", POINTER(c_uint64)), ("argument_count", c_uint32), ("no_checks", c_int),
                ("random_schedule", c_int), ("seed", c_uint64), ("user", c_void_p), ("finding", ON_FINDING), ("output", ON_TEXT),
                ("count", ON_COUNT), ("trace", ON_TEXT), ("trace_block", c_uint64), ("trace_thread", c_uint32)]


# name -> (result, arguments)
FUNCTIONS = {
    "create": (c_void_p, [c_void_p, c_size_t]),
    "destroy": (None, [c_void_p]),
    "on_diagnostic": (None, [c_void_p, ON_DIAGNOSTIC, c_void_p]),
    "on_plan": (None, [c_void_p, ON_TEXT, c_void_p, c_int]),
    "on_remark": (None, [c_void_p, ON_REMARK, c_void_p]),
    "set_option": (c_int, [c_void_p, c_char_p]),
    "parse": (c_int, [c_void_p, c_char_p, c_size_t, c_char_p, POINTER(c_void_p)]),
    "release": (None, [c_void_p]),
    "link_library": (c_int, [c_void_p, c_void_p]),
    "check": (c_int, [c_void_p]),
    "print": (c_int, [c_void_p, POINTER(Text)]),
    "print_graphs": (c_int, [c_void_p, POINTER(Text)]),
    "optimize": (c_int, [c_void_p]),
    "compile": (c_int, [c_void_p, POINTER(Text)]),
    "load": (c_int, [c_void_p, POINTER(c_void_p)]),
    "load_ptx": (c_int, [c_void_p, c_char_p, c_size_t, c_char_p, POINTER(c_void_p)]),
    "unload": (None, [c_void_p]),
    "kernels": (POINTER(Kernel), [c_void_p, POINTER(c_uint32)]),
    "allocate": (c_uint64, [c_void_p, c_uint64, c_int]),
    "variable": (c_uint64, [c_void_p, c_char_p, POINTER(c_uint64)]),
    "memory": (c_void_p, [c_void_p, c_uint64, c_uint64]),
    "launch": (c_int, [c_void_p, POINTER(Launch)]),
    "memory_peak": (c_size_t, [c_void_p]),
    "version": (c_char_p, []),
}


def _open() -> ctypes.CDLL:
    """NVMINI_LIBRARY, or the library of the wheel, of the source tree, of the system."""
    here = os.path.dirname(os.path.abspath(__file__))
    named = os.environ.get("NVMINI_LIBRARY")
    tree = os.path.join(os.path.dirname(os.path.dirname(here)), "build", "libnvmini.so")
    for path in [named] if named else [os.path.join(here, "libnvmini.so"), tree]:
        if named or os.path.exists(path):
            return ctypes.CDLL(path)
    try:
        return ctypes.CDLL("libnvmini.so.0")
    except OSError:
        raise ImportError("nvmini: no libnvmini.so beside the package, in the source tree (run `make`) or in the system; "
                          "NVMINI_LIBRARY can name one") from None


_library = _open()


def _function(name: str):
    function = getattr(_library, f"nvmini_{name}")
    function.restype, function.argtypes = FUNCTIONS[name]
    return function


call = {name: _function(name) for name in FUNCTIONS}
VERSION: str = call["version"]().decode()
