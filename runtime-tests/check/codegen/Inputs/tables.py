"""Initialized tables of many lengths and element types: `tables.py ir` writes them as IR, `tables.py compare`
reads the PTX of it and compares every byte with what Python's struct module packs.

A byte of an address is ("g", k): byte k of the address of @g, with "generic" before it where it is cast."""
import random
import re
import struct
import sys

WIDTHS = {"b8": 1, "u8": 1, "b16": 2, "u16": 2, "b32": 4, "u32": 4, "b64": 8, "u64": 8, "f32": 4, "f64": 8}


def number(value, size):
    return list(value.to_bytes(size, "little"))


def integers(bits):
    def make(r):
        value = r.choice([0, 1, 2 ** bits - 1, 2 ** (bits - 1), r.getrandbits(bits)])
        return f"i{bits} {value}", number(value, bits // 8)
    return make


def floats(name, code, spelled):
    def make(r):
        value = struct.unpack(code, struct.pack(code, r.choice([0.0, -0.0, 1.5, -2.25, r.uniform(-100, 100)])))[0]
        return f"{name} {spelled(value)}", list(struct.pack(code, value))
    return make


def double_bits(value):
    return "0x%016X" % struct.unpack("<Q", struct.pack("<d", value))[0]


def half_bits(value):
    return "0xH%04X" % struct.unpack("<H", struct.pack("<e", value))[0]


def pointer(r):
    if r.randrange(3) == 0:
        return "ptr addrspace(1) null", number(0, 8)
    return "ptr addrspace(1) @g", [("g", k) for k in range(8)]


def generic(r):
    return "ptr addrspacecast (ptr addrspace(1) @g to ptr)", [("generic(g)", k) for k in range(8)]


def mixed(r):
    """A struct with padding: i8, i32, float, i16."""
    i, f = r.getrandbits(32), r.choice([0.5, -8.0])
    byte, short = r.getrandbits(8), r.getrandbits(16)
    text = f"{{ i8, i32, float, i16 }} {{ i8 {byte}, i32 {i}, float {f:e}, i16 {short} }}"
    return text, [byte, 0, 0, 0] + number(i, 4) + list(struct.pack("<f", f)) + number(short, 2) + [0, 0]


def packed(r):
    """An address that is not aligned."""
    byte = r.getrandbits(8)
    text = f"<{{ i8, ptr addrspace(1) }}> <{{ i8 {byte}, ptr addrspace(1) @g }}>"
    return text, [byte] + [("g", k) for k in range(8)]


TYPES = {
    **{f"i{bits}": integers(bits) for bits in (16, 32, 64, 128)},
    "half": floats("half", "<e", half_bits), "float": floats("float", "<f", double_bits),
    "double": floats("double", "<d", double_bits), "pointer": pointer, "generic": generic, "mixed": mixed,
    "packed": packed,
}
LENGTHS = [*range(1, 40), 63, 64, 65, 127, 128, 129, 255, 256, 257, 258, 511, 512, 513, 600]


def tables():
    """(name, type and initializer as text, bytes)"""
    r = random.Random(16)
    for length in range(601):
        data = bytes((length * 7 + k) & 255 for k in range(length))
        yield f"ramp{length}", f"[{length} x i8] c\"{''.join('%c%02X' % (92, b) for b in data)}\"", list(data)
        full = bytes(r.randrange(100, 256) for _ in range(length)) # the longest text a table can have
        yield f"full{length}", f"[{length} x i8] c\"{''.join('%c%02X' % (92, b) for b in full)}\"", list(full)
    for name, make in TYPES.items():
        for length in LENGTHS:
            made = [make(r) for _ in range(length)]
            element = made[0][0].rsplit(" ", 1)[0] if name not in ("generic", "mixed", "packed") else {
                "generic": "ptr", "mixed": "{ i8, i32, float, i16 }", "packed": "<{ i8, ptr addrspace(1) }>"}[name]
            yield (f"{name}{length}", f"[{length} x {element}] [{', '.join(text for text, _ in made)}]",
                   [byte for _, data in made for byte in data])


def item_bytes(item, size):
    """The bytes of one item of a PTX list."""
    mask = re.fullmatch(r"0xFF((?:00)*)\((.*)\)", item)
    if mask:
        return [(mask[2], len(mask[1]) // 2)]
    if item.startswith("0f") or item.startswith("0d"):
        return number(int(item[2:], 16), size)
    if re.fullmatch(r"-?\d+", item):
        return number(int(item) & (2 ** (8 * size) - 1), size)
    return [(item, k) for k in range(size)]


def compare(ptx):
    found = {}
    for line in ptx.split("\n"):
        variable = re.fullmatch(r"\.visible \.global \.align \d+ \.(\w+) (\w+)(?:\[(\d+)\])?(?: = \{?([^{}]*)\}?)?;", line)
        if variable:
            kind, name, count, items = variable.groups()
            size = WIDTHS[kind]
            data = [byte for item in (items or "").split(", ") if item for byte in item_bytes(item, size)]
            found[name] = data + [0] * (int(count or 1) * size - len(data))
    wrong = count = 0
    for name, _, expected in tables():
        count += 1
        padded = expected or [0]  # PTX has no empty array
        if found.get(name) != padded:
            wrong += 1
            print(f"{name}: expected {padded}, found {found.get(name)}")
    print(f"{count} tables, {wrong} wrong")


if sys.argv[1] == "ir":
    print('target triple = "nvptx64-nvidia-cuda"\n@g = addrspace(1) global i64 0')
    for name, text, _ in tables():
        print(f"@{name} = addrspace(1) global {text}")
else:
    compare(sys.stdin.read())
