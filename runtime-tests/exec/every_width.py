"""every_width.py: the kernels ops/int_i33.nvir and ops/int_i65.nvir at all other widths, i2 to i128, against ops/reference.c.

Each is executed as IR and as PTX of -O0 and -O3; ops/ has the widths that are executed in every way."""
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "Inputs"))
sys.dont_write_bytecode = True
import c_references  # noqa: E402


def at_width(text, n):
    """The kernel of i33, or of i65, for another width on the same side of 64."""
    old = 33 if n <= 64 else 65
    text = re.sub(rf"(and i{old} %\w+), {31 if old == 33 else 63}$", rf"\1, {2 ** (n.bit_length() - 1) - 1}", text, flags=re.M)
    text = re.sub(rf"(and i{old} %\w+), {2 ** (old - 1) - 1}$", rf"\1, {2 ** (n - 1) - 1}", text, flags=re.M)
    text = re.sub(rf"((?:shl|lshr) i65 %\w+), 1$", rf"\1, {n - 64}", text, flags=re.M)
    return re.sub(rf"\bi{old}\b", f"i{n}", text)


def main():
    wrong = ways = 0
    with tempfile.TemporaryDirectory() as folder:
        for n in [*range(2, 64), *range(66, 129)]:
            with open(os.path.join(HERE, "ops", f"int_i{33 if n < 64 else 65}.nvir"), encoding="utf-8") as f:
                text = at_width(f.read(), n)
            path = os.path.join(folder, "k.nvir")
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            expected = None
            for way in (["--from", "ir"], ["-O0"], ["-O3"]):
                p = subprocess.run(["nvmini", "run", path, *way], capture_output=True, text=True, check=False)
                lists = [line.split() for line in p.stdout.splitlines()]
                if expected is None and len(lists) == 3:
                    expected = c_references.results(os.path.join(HERE, "ops", "reference.c"), f"int_i{n}", p.stdout)[0].split()
                ways += 1
                if not expected or len(lists) != 3 or lists[2] != expected:
                    wrong += 1
                    bad = [k for k, (a, b) in enumerate(zip(lists[2], expected)) if a != b] if expected and len(lists) == 3 else []
                    print(f"i{n} {way[-1]}: {p.stderr.strip() or f'{len(bad)} results, first {bad[:8]}'}")
    print(f"{ways // 3} widths in 3 ways, {wrong} wrong")
    return wrong != 0


sys.exit(main())
