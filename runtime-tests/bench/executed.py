#!/usr/bin/env python3
"""Instructions that warps execute in our PTX and in a peer's, for every kernel of real modules on made-up arguments.

    executed.py MODULES... [--peer clang|libnvvm | --peer-ptx FOLDER] [--cache FOLDER] [--every N] [--level O3] [--counts FILE] [--sums]

MODULES are unoptimized .ll files that clang 19 wrote, or folders of them. The peer compiles each, clang -O3 for sm_90 or
libNVVM -opt=3 for compute_100, the first architecture for which it takes such text; its PTX is kept in the cache for the
next run. With --peer-ptx, FOLDER/MODULE.ptx is the PTX that another compiler, such as nvcc, generated from the source of
MODULE.ll; kernels are found by their names. ../peers/kernel_cases.c makes arguments without a finding as IR, executes both, and counts. Instructions of
calls, shuffles, conversions and unconditional jumps are counted in the texts as well. Printed: the geometric mean of
ours / theirs, the sums, how many kernels are more than 5 % and 25 % above, and the worst; a kernel that several modules
instantiate counts once. --sums prints no names. --counts writes module, kernel, ours, theirs; --beside reads such a
file, and the mean of ours now / ours then is printed too. Ends with `N kernels, N refused or without a case`."""
import argparse
import collections
import hashlib
import math
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "runtime-tests", "peers"))
import check_kernels  # noqa: E402  (modules_of, build_program)

# At the start of a line, or of a block in braces, as inline assembly has it.
TEXTS = {name: r"^\s*(?:\{\s*)?(?:@\S+\s+)?" + name + after for name, after in
         (("shfl.sync", r"\b"), ("call", r"\b"), ("cvt", r"\."), ("bra.uni", r"\b"))}
PEERS = {"clang": "clang -O3", "libnvvm": "libNVVM -opt=3", "ptx": "the PTX of the folder"}


def run(command, seconds):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds, errors="replace")
    except subprocess.TimeoutExpired:
        return None


def peer_command(module, options):
    if options.peer == "libnvvm":
        return [sys.executable, os.path.join(HERE, "libnvvm.py"), "--arch", f"compute_{options.cpu[3:]}", module]
    return [options.clang, "-x", "ir", "-O3", "-S", "--target=nvptx64-nvidia-cuda", "-Xclang", "-target-feature", "-Xclang",
            "+ptx83", "-Xclang", "-target-cpu", "-Xclang", options.cpu, module]


def precise(text):
    """The module, with libdevice's question for precise square roots answered by yes: LLVM 19 knows no such question and
    answers by no, where nvcc, libNVVM and we say yes. It becomes the question for the architecture, which is not 0."""
    return text.replace(b'[17 x i8] c"__CUDA_PREC_SQRT\\00"', b'[12 x i8] c"__CUDA_ARCH\\00"')


def peer_ptx(module, options):
    """The path of the peer's PTX, or None where it refuses."""
    if options.peer == "ptx":
        path = os.path.join(options.peer_ptx, os.path.basename(module).removesuffix(".ll") + ".ptx")
        return path if os.path.exists(path) else None
    with open(module, "rb") as file:
        text = file.read()
    if options.peer == "clang":
        text = precise(text)
    key = hashlib.sha1(text + options.cpu.encode() + (options.clang if options.peer == "clang" else "libnvvm").encode()).hexdigest()
    path = os.path.join(options.cache, key + ".ptx")
    if not os.path.exists(path):
        part = f"{path}.{os.getpid()}"
        with tempfile.NamedTemporaryFile(suffix=".ll") as asked:
            asked.write(text)
            asked.flush()
            done = run([*peer_command(asked.name, options), "-o", part], 600)
        if not done or done.returncode != 0:
            open(part, "w", encoding="utf-8").close()
        os.replace(part, path)
    return path if os.path.getsize(path) else None


def count_texts(path, totals):
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    for name, pattern in TEXTS.items():
        totals[name] += len(re.findall(pattern, text, re.M))


def measure(program, module, options, texts):
    """{kernel: {side: warp instructions}} of a module."""
    theirs = peer_ptx(module, options)
    if not theirs:
        return None
    with tempfile.TemporaryDirectory() as folder:
        done = run([program, module, "--cpu", options.cpu, "--levels", options.level, "--ptx", folder, "--measure", "--beside",
                    f"peer={theirs}"], options.seconds)
        if not done or "done" not in done.stdout.splitlines():
            return None
        if os.path.exists(f"{folder}/{options.level}.ptx"):
            count_texts(f"{folder}/{options.level}.ptx", texts["ours"])
            count_texts(theirs, texts["theirs"])
    counts = collections.defaultdict(dict)
    for line in done.stdout.splitlines():
        kind, *fields = line.split("\t")
        if kind == "counted":
            counts[fields[0]]["theirs" if fields[3] == "peer" else "ours"] = int(fields[4])
        elif kind == "differs" and fields[3] != "peer":
            print("finding:", *(fields if not options.sums else fields[4:]), flush=True)
    return {k: c for k, c in counts.items() if len(c) == 2 and c["theirs"]}


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else float("nan")


def distinct(rows):
    """A kernel that several modules instantiate counts once."""
    seen, kept = set(), {}
    for (module, kernel), counts in rows.items():
        key = (kernel, counts["ours"], counts["theirs"])
        if key not in seen:
            seen.add(key)
            kept[module, kernel] = counts
    return kept


def print_report(rows, texts, options):
    ratios = [r["ours"] / r["theirs"] for r in rows.values()]
    ours, theirs = (sum(r[side] for r in rows.values()) for side in ("ours", "theirs"))
    print(f"ours / {PEERS[options.peer]}: {mean(ratios):.3f} (geometric mean), {ours / max(theirs, 1):.3f} (sums); more than 5 % above: "
          f"{sum(r > 1.05 for r in ratios)}, more than 25 %: {sum(r > 1.25 for r in ratios)}")
    print("in the texts:", ", ".join(f"{name} {texts['ours'][name]} / {texts['theirs'][name]}" for name in TEXTS))
    if options.beside:
        with open(options.beside, encoding="utf-8") as file:
            before = {tuple(f[:2]): int(f[2]) for f in (line.rstrip("\n").split("\t") for line in file)}
        both = {k: r["ours"] / before[k] for k, r in rows.items() if k in before}
        print(f"now / then: {mean(list(both.values())):.4f} of {len(both)} kernels")
        if not options.sums:
            for k, ratio in sorted(both.items(), key=lambda item: -item[1])[:options.worst]:
                print(f"  {ratio:.3f}  {k[1]}  {k[0]}")
    if not options.sums:
        print(f"the worst beside {options.peer}:")
        for (module, kernel), r in sorted(rows.items(), key=lambda item: -item[1]["ours"] / item[1]["theirs"])[:options.worst]:
            print(f"  {r['ours'] / r['theirs']:.2f}  {r['ours']} / {r['theirs']}  {kernel}  {module}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    add = parser.add_argument
    add("modules", nargs="+")
    add("--cache", default=os.path.join(tempfile.gettempdir(), "executed-cache"))
    add("--clang", default="clang-19")
    peer = parser.add_mutually_exclusive_group()
    peer.add_argument("--peer", choices=("clang", "libnvvm"), default="clang")
    peer.add_argument("--peer-ptx", metavar="FOLDER")
    add("--cpu", help="default: sm_90, sm_100 beside libNVVM")
    add("--level", default="O3")
    add("--every", type=int, default=1)
    add("--counts", metavar="FILE")
    add("--beside", metavar="FILE")
    add("--sums", action="store_true")
    add("--worst", type=int, default=20)
    add("--seconds", type=float, default=120, help="for each module (default: %(default)s)")
    options = parser.parse_args()
    options.peer = "ptx" if options.peer_ptx else options.peer
    options.cpu = options.cpu or ("sm_100" if options.peer == "libnvvm" else "sm_90")
    os.makedirs(options.cache, exist_ok=True)
    rows, texts, left_out = {}, {"ours": collections.Counter(), "theirs": collections.Counter()}, 0
    with tempfile.TemporaryDirectory() as folder:
        program = check_kernels.build_program(folder)
        for module in list(check_kernels.modules_of(options.modules))[::options.every]:
            counts = measure(program, module, options, texts)
            left_out += not counts
            rows.update({(os.path.basename(module), kernel): c for kernel, c in (counts or {}).items()})
    if options.counts:
        with open(options.counts, "w", encoding="utf-8") as file:
            file.writelines(f"{m}\t{k}\t{r['ours']}\t{r['theirs']}\n" for (m, k), r in rows.items())
    rows = distinct(rows)
    print_report(rows, texts, options)
    print(f"{len(rows)} different kernels; {left_out} modules without a kernel that both compile and execute")


if __name__ == "__main__":
    main()
