"""wide_integers.py [COUNT [SEED]]: random kernels on integers of 129 to 1024 bits, against Python's own arithmetic.

Each is executed as IR and as PTX of -O0, -O1 and -O3. Prints how many executions there were and how many differ."""
import os
import random
import subprocess
import sys
import tempfile

WIDTHS = [129, 136, 160, 168, 191, 192, 193, 200, 256, 300, 511, 512, 1000, 1024]
OTHER_WIDTHS = [1, 8, 33, 64, 65, 100, 128, 129, 136, 168, 256, 1024]
WAYS = (["--from", "ir"], ["-O0"], ["-O1"], ["-O3"])
SLOT = 136  # bytes that each value gets in memory
PREDICATES = {"eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b,
              "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b}
BINARY = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "and": lambda a, b: a & b,
          "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b}


def mask(width):
    return (1 << width) - 1


def signed(value, width):
    return value - (1 << width) if value >> (width - 1) & 1 else value


def size(width):
    return (width + 7) // 8


class Kernel:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines, self.values = [], []  # values: name, width, number
        self.input = bytearray()
        self.distance = self.random.randrange(140)  # parameter %n
        for k in range(3):
            self.load(k, self.random.choice(WIDTHS))
        self.loaded = len(self.values)
        for k in range(12):
            self.step(f"%r{k}")

    def load(self, k, width):
        value = self.random.choice([self.random.getrandbits(width), mask(width), 1 << (width - 1), 0])
        at = len(self.input)
        self.input += value.to_bytes(size(width), "little").ljust(SLOT, b"\xff")
        self.lines += [f"%p{k} = getelementptr i8, ptr %in, i64 {at}",
                       f"%v{k} = load i{width}, ptr %p{k}, align {self.random.choice([1, 2, 4])}"]
        self.values.append((f"%v{k}", width, value))

    def add(self, name, width, value, text):
        self.lines.append(text)
        self.values.append((name, width, value & mask(width)))

    def operands(self):
        a, width, x = self.random.choice([v for v in self.values if v[1] > 128])
        b, _, y = self.random.choice([v for v in self.values if v[1] == width])
        if self.random.random() < .3:
            y = self.random.choice([0, 1, mask(width), 1 << (width - 1), self.random.getrandbits(width)])
            b = str(signed(y, width))
        return a, x, b, y, width

    def step(self, name):
        a, x, b, y, width = self.operands()
        kind = self.random.choice(["binary", "shift", "compare", "cast", "freeze"])
        if kind == "binary":
            op = self.random.choice(list(BINARY))
            self.add(name, width, BINARY[op](x, y), f"{name} = {op} i{width} {a}, {b}")
        elif kind == "shift":
            self.shift(name, a, x, width)
        elif kind == "compare":
            self.compare(name, a, x, b, y, width)
        elif kind == "cast":
            self.cast(name, a, x, width)
        else:
            self.add(name, width, x, f"{name} = freeze i{width} {a}")

    def shift(self, name, a, x, width):
        op = self.random.choice(["shl", "lshr", "ashr"])
        by = self.random.choice([0, 1, 63, 64, 65, width - 1, self.random.randrange(width)])
        text = str(by)
        if self.random.random() < .5 and self.distance < width:
            by, text = self.distance, f"{name}d"
            self.lines.append(f"{text} = zext i32 %n to i{width}")
        result = x << by if op == "shl" else (signed(x, width) if op == "ashr" else x) >> by
        self.add(name, width, result, f"{name} = {op} i{width} {a}, {text}")

    def compare(self, name, a, x, b, y, width):
        relation, sign = self.random.choice(list(PREDICATES)), self.random.choice("us")
        p, x1, y1 = relation, x, y
        if relation not in ("eq", "ne"):
            p = sign + relation
            if sign == "s":
                x1, y1 = signed(x, width), signed(y, width)
        holds = PREDICATES[relation](x1, y1)
        self.lines.append(f"{name}c = icmp {p} i{width} {a}, {b}")
        use = self.random.choice(["zext", "select", "phi"])
        if use == "zext":
            self.add(name, width, int(holds), f"{name} = zext i1 {name}c to i{width}")
        elif use == "select":
            self.add(name, width, x if holds else y, f"{name} = select i1 {name}c, i{width} {a}, i{width} {b}")
        else:
            k = name[1:]
            self.lines.append(f"br i1 {name}c, label %t{k}, label %f{k}\nt{k}: br label %j{k}\nf{k}: br label %j{k}\nj{k}:")
            self.add(name, width, x if holds else y, f"{name} = phi i{width} [ {a}, %t{k} ], [ {b}, %f{k} ]")

    def cast(self, name, a, x, width):
        to, extend = self.random.choice(OTHER_WIDTHS), self.random.choice(["zext", "sext"])
        if to > width:
            result = signed(x, width) if extend == "sext" else x
            self.add(name, to, result, f"{name} = {extend} i{width} {a} to i{to}")
        elif to < width:
            self.add(name, to, x, f"{name} = trunc i{width} {a} to i{to}")
            low = x & mask(to)
            self.add(name + "b", width, signed(low, to) if extend == "sext" else low,
                     f"{name}b = {extend} i{to} {name} to i{width}")

    def text(self):
        stores = [f"%q{k} = getelementptr i8, ptr %out, i64 {k * SLOT}\nstore i{width} {name}, ptr %q{k}, align 1"
                  for k, (name, width, _) in enumerate(self.values[self.loaded:])]
        return ('target triple = "nvptx64-nvidia-cuda"\ndefine ptx_kernel void @k(ptr %in, ptr %out, i32 %n) {\n' +
                "\n".join(self.lines + stores) + "\nret void\n}\n")

    def output(self):
        slots = [value.to_bytes(size(width), "little").ljust(SLOT, b"\0") for _, width, value in self.values[self.loaded:]]
        return list(b"".join(slots))


def execute(folder, kernel, way):
    expected = kernel.output()
    paths = [os.path.join(folder, name) for name in ("k.nvir", "in")]
    with open(paths[0], "w", encoding="utf-8") as f:
        f.write(kernel.text())
    with open(paths[1], "wb") as f:
        f.write(kernel.input)
    p = subprocess.run(["nvmini", "run", paths[0], *way, "--arg", f"buf:u8:@{paths[1]}", "--arg",
                        f"buf:u8:{len(expected) + 1}:zero", "--arg", f"i32:{kernel.distance}", "--print", "1"],
                       capture_output=True, text=True, check=False)
    if p.returncode != 0 or [int(word) for word in p.stdout.split()][:-1] != expected:
        print(f"{' '.join(way)} differs: exit status {p.returncode}\n{p.stderr}{kernel.text()}")
        return 1
    return 0


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 25
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for k in range(count):
            kernel = Kernel(seed + k)
            wrong += sum(execute(folder, kernel, way) for way in WAYS)
    print(f"{count} kernels in {len(WAYS)} ways, {wrong} wrong")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
