"""The declarations of nvmini/_library.py are those of include/nvmini.h."""
import ctypes
import os
import re
import unittest

from nvmini import _library as lib

HEADER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "include", "nvmini.h")
TYPES = {"uint32_t": ctypes.c_uint32, "uint64_t": ctypes.c_uint64, "size_t": ctypes.c_size_t, "int": ctypes.c_int}


def declared():
    """Without comments."""
    with open(HEADER, encoding="utf-8") as f:
        return re.sub(r"/\*.*?\*/", "", f.read(), flags=re.DOTALL)


def members(body):
    """(name, type) of each member; the type is None for a pointer or callback."""
    for text in filter(str.strip, body.split(";")):
        text = " ".join(text.split())
        callback = re.match(r"void \(\*(\w+)\)", text)
        if callback:
            yield callback[1], None
            continue
        kind, names = re.match(r"(?:const )?((?:struct |enum )?\w+)(?: const)? (.*)", text).groups()
        for name in names.split(","):
            plain = re.match(r" *((?:const )?\**)(?:const )?\*?(\w+)((?:\[3\])?)", name)
            yield plain[2], None if "*" in name else (kind, 3 if plain[3] else 1)


class Header(unittest.TestCase):
    def test_structures(self):
        for name in ("Text", "Diagnostic", "RemarkArgument", "Remark", "Parameter", "Kernel", "Finding", "Launch"):
            in_c = re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()
            body = re.search(rf"struct nvmini_{in_c} {{(.*?)}};", declared(), re.DOTALL)[1]
            expected = list(members(body))
            fields = getattr(lib, name)._fields_
            self.assertEqual([n for n, _ in expected], [f[0] for f in fields], name)
            for (member, kind), (_, found) in zip(expected, fields):
                if kind is None:
                    self.assertEqual(ctypes.sizeof(found), ctypes.sizeof(ctypes.c_void_p), f"{name}.{member}")
                    continue
                word, count = kind
                base = lib.Text if word == "struct nvmini_text" else TYPES.get(word, ctypes.c_int)
                self.assertEqual(found, base * 3 if count == 3 else base, f"{name}.{member}")

    def test_enumerations(self):
        def names(enum):
            body = re.search(rf"enum nvmini_{enum} {{(.*?)}}", declared(), re.DOTALL)[1]
            return [n.split("=")[0].strip()[len("NVMINI_"):].lower() for n in body.split(",") if n.strip()]
        self.assertEqual(names("status"), ["ok", "refused", "out_of_memory", "bad_option", "bug"])
        self.assertEqual(names("severity"), list(lib.SEVERITIES))
        self.assertEqual(names("remark_kind"), list(lib.REMARK_KINDS))
        self.assertEqual(names("parameter_kind"), list(lib.PARAMETER_KINDS))

    def test_functions(self):
        for name, (_, arguments) in lib.FUNCTIONS.items():
            list_of = re.search(rf"nvmini_{name}\(([^;]*)\);", declared())
            self.assertIsNotNone(list_of, name)
            count = 0 if list_of[1].strip() == "void" else list_of[1].count(",") + 1
            self.assertEqual(count, len(arguments), name)


if __name__ == "__main__":
    unittest.main()
