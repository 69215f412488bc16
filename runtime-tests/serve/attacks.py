"""The hostile requests of hostile.py: each class is a generator of endless different requests."""
import base64
import dataclasses

STORE = "define ptx_kernel void @k(ptr %p) {\n  store i32 42, ptr %p\n  ret void\n}\n"
CANARY_MODULE = "; CANARY-IN-A-FILE\ndefine i32 @secret() {\n  ret i32 7\n}\n"
LOOP = "define ptx_kernel void @k(ptr %p) {\n  br label %a\na:\n BODY\n  br label %a\n}\nREST\n"
PRINTF = """@f = private constant [FORMATSIZE x i8] c"FORMAT\\00"
declare i32 @vprintf(ptr, ptr)
define ptx_kernel void @k(ptr %p) {
  br label %a
a:
  %r = call i32 @vprintf(ptr @f, ptr null)
  br label %a
}
"""
DEBUG = """source_filename = "FILE"
define ptx_kernel void @k(ptr %p) !dbg !3 {
  store i32 1, ptr %p, !dbg !5
  ret void, !dbg !5
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "FILE", directory: "FOLDER")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = distinct !DISubprogram(name: "k", file: !1, line: 1, type: !4, unit: !0, spFlags: DISPFlagDefinition)
!4 = !DISubroutineType(types: !{})
!5 = !DILocation(line: 1, column: 1, scope: !3)
"""
PTX = """.version 7.8
.target sm_90
.address_size 64
.file 1 "FILE"
.visible .entry k(.param .u64 p)
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<4>;
  .loc 1 1 1
BODY
  ret;
}
"""
COMMANDS = ("compile", "explain", "run")
CPUS = ("sm_90a", "sm_50", "sm_100a", "", "native", "sm_90 --link FILE", "@FILE", "-o", "compute_90", "sm_" + "9" * 300)
LEVELS = ("-O0", "-O1", "-O2", "-O3", "-Os", "-Oz", "-Ofc max", "", "-O9", "--passes *", "--link FILE", "@FILE", "-o FILE.out")
# In every spelling of docs and tables.
FILE_OPTIONS = (
    "--link FILE", "--link=FILE", "-link FILE", "-link=FILE", "-o FILE", "-oFILE", "-o=FILE", "--output FILE", "-output=FILE", "-o FILE/",
    "--remarks-file FILE", "--remarks-file=FILE", "-foptimization-record-file=FILE", "-pass-remarks-output FILE", "--save 0:FILE",
    "--save=0:FILE.npy", "-save 0:FILE", "--expect 0:FILE", "-expect=0:FILE", "--arg buf:u8:@FILE", "--arg=buf:@FILE", "-arg buf:i8:@FILE",
    "--test FILE", "@FILE", "FILE", "-- FILE", "- FILE", "--reference FILE", "--knob FILE=1", "-W FILE", "--print-before FILE",
    "--only-function FILE", "--triple FILE", "--format FILE", "--emit FILE", "--why FILE", "--kernel FILE", "--on gpu", "--bind FILE",
    "--help FILE", "--diagnostics json --link FILE", "--print-cache-key --link FILE", "--features FILE", "--passes FILE", "--ptx FILE")
PATHS = ("/etc/passwd", "FOLDER/canary.nvir", "FOLDER/canary.txt", "canary.nvir", "./canary.txt", "../../../../../../etc/passwd", "//etc//passwd",
         "/proc/self/environ", "/proc/self/cwd/canary.txt", "/proc/self/fd/0", "/dev/fd/700", "/dev/stdin", "/proc/self/maps", "/dev/zero",
         "file:///etc/passwd", "%2e%2e/canary.txt", "/etc/passwd%00", "~/.profile", "$CANARY", "`cat canary.txt`", "canary.tx?", "-", "/", ".",
         "FOLDER", "/proc/self/root/etc/passwd", "/dev/stdout", "/dev/tcp/127.0.0.1/1", "c\\anary.txt", "'canary.txt'")


@dataclasses.dataclass
class Attack:
    kind: str
    command: str
    text: bytes
    options: str = ""
    cpu: str = "sm_90a"
    level: str = "-O2"
    raw: bytes = None  # instead of all this

    def __post_init__(self):
        if isinstance(self.text, str):
            self.text = self.text.encode()

    def __str__(self):
        shown = self.text[:160] if self.raw is None else self.raw[:200]
        return f"{self.kind}: /{self.command} {self.cpu!r} {self.level!r} {self.options[:200]!r} {shown!r}"


def path(chance, folder):
    name = chance.choice(PATHS).replace("FOLDER", folder)
    return f"{'./' * chance.randrange(4)}{name}" if name[0] == "c" and chance.random() < 0.5 else name


def files(chance, folder):
    """Options that name files: in the options, the level, the CPU, in the text's own launch."""
    while True:
        option = chance.choice(FILE_OPTIONS).replace("FILE", path(chance, folder))
        command, launch = chance.choice(COMMANDS), "--arg buf:i32:1:zero"
        place = chance.randrange(5)
        a = Attack("files", command, STORE, launch if command == "run" else "")
        if place == 0:
            a.level = option
        elif place == 1:
            a.cpu = chance.choice(CPUS).replace("FILE", path(chance, folder)) + chance.choice(("", " ", "\t")) + option
        elif place == 2:
            a.text = f"; nvmini-run: {launch} {option}\n{STORE}".encode()
            a.options = ""
        else:
            a.options = f"{option} {a.options}" if chance.random() < 0.5 else f"{a.options} --ftz {option}"
        yield a


def locations(chance, folder):
    """Modules and PTX that name source files."""
    while True:
        name = path(chance, folder)
        quoted = name.replace("\\", "\\5C").replace('"', "\\22")
        if chance.random() < 0.3:
            body = f'  .pragma "{name}";' if chance.random() < 0.5 else f'.file 2 "{name}"\n  .loc 2 1 1'
            yield Attack("locations", "run", PTX.replace("FILE", name).replace("BODY", body), "--arg buf:i32:1:zero --trace")
        elif chance.random() < 0.3:
            text = f'module asm ".file 1 \\22{quoted}\\22"\nmodule asm ".include \\22{quoted}\\22"\n{STORE}'
            yield Attack("locations", chance.choice(COMMANDS), text, chance.choice(("", "-g", "--from ir")))
        else:
            text = DEBUG.replace("FILE", quoted).replace("FOLDER", chance.choice((folder, "/", "", ".", "/proc/self/cwd")))
            yield Attack("locations", chance.choice(("explain", "explain", "run", "compile")), text,
                         chance.choice(("", "-g", "--format json", "--asm-verbose -g", "--arg buf:i32:1:zero")), level=chance.choice(LEVELS[:6]))


def endless(chance, _):
    bodies = (("  store volatile i32 1, ptr %p", ""), ("  call void @k2(ptr %p)", "define void @k2(ptr %p) {\n  call void @k2(ptr %p)\n  ret void\n}"),
              ("  %x = atomicrmw add ptr %p, i32 1 seq_cst", ""), ("  call void @llvm.nvvm.barrier0()", "declare void @llvm.nvvm.barrier0()"),
              ("  call void asm sideeffect \"nanosleep.u32 1000000;\", \"\"()", ""), ("  fence seq_cst", ""),
              ("  %c = cmpxchg volatile ptr %p, i32 5, i32 6 seq_cst seq_cst", ""))
    while True:
        body, rest = chance.choice(bodies)
        grid = f"--grid {chance.choice((1, 7, 60000, 2147483647))} --block {chance.choice((1, 32, 33, 1024))}"
        options = f"{grid} --step-limit {10 ** chance.randrange(10, 19) + chance.randrange(99)} --arg buf:i32:1:zero"
        command = chance.choice(("run", "run", "explain"))
        more = chance.choice(("", "--stats", "--no-checks", f"--schedule random:{chance.randrange(99)}", "--from ir")) if command == "run" else ""
        yield Attack("endless", command, LOOP.replace("BODY", body).replace("REST", rest), f"{options} {more}", level=chance.choice(LEVELS[:6]))


def numbers(chance, _):
    """Sizes and counts beyond all memory."""
    huge = ("0", "-1", "99999999999", "18446744073709551615", "18446744073709551616", "1e9", "0x7fffffff", "4294967296", "2147483648", "4000000000")
    while True:
        options = [f"--arg buf:{chance.choice(('i8', 'f64', 'u32', 'bf16'))}:{chance.choice(huge)}:{chance.choice(('zero', 'iota', 'random:1', 'fill:-1'))}"]
        for option in chance.sample(("--grid", "--block", "--cluster", "--shared", "--stack", "--step-limit", "--trace"), 2):
            options.append(f"{option}{'=' if option == '--trace' else ' '}{','.join(chance.choice(huge) for _ in range(chance.randrange(1, 4)))}")
        options.append(f"--print 0[{chance.choice(huge)}:{chance.choice(huge)}]")
        yield Attack("numbers", "run", STORE, " ".join(options), level="-O0")


def deep(chance, _):
    """Nesting, long chains and large counts in the text."""
    while True:
        n = int(10 ** chance.uniform(2, 5))
        shape = chance.randrange(14)
        text = (
            lambda: "@g = external global " + "{" * n + "i8" + "}" * n,
            lambda: "@g = external global " + "[2 x " * n + "i8" + "]" * n,
            lambda: f"@g = global [{n * 10 ** 9} x i64] zeroinitializer\n{STORE}",
            lambda: "!0 = !{" * n + "}" * n,
            lambda: "\n".join(f"!{k} = !{{!{k + 1}}}" for k in range(n)) + f"\n!{n} = !{{!0}}\n" + STORE,
            lambda: "define i32 @f(i32 %v0) {\n" + "".join(f"  %v{k + 1} = add i32 %v{k}, %v{k}\n" for k in range(n)) + f"  ret i32 %v{n}\n}}\n",
            lambda: "define i32 @f(i32 %x) {\nb0:\n" + "".join(f"  br label %b{k + 1}\nb{k + 1}:\n" for k in range(n)) + "  ret i32 %x\n}\n",
            lambda: "define i32 @f(i32 %x) {\n  switch i32 %x, label %d [" + " ".join(f"i32 {k}, label %d" for k in range(n)) + "]\nd:\n  ret i32 0\n}\n",
            lambda: "define i32 @f(i32 %x) {\nb0:\n" + "".join(
                f"  %c{k} = icmp eq i32 %x, {k}\n  br i1 %c{k}, label %b{k + 1}, label %e\nb{k + 1}:\n" for k in range(n // 4)) + "  br label %e\ne:\n  ret i32 0\n}\n",
            lambda: "".join(f"define void @f{k}() {{\n  call void @f{(k + 1) % n}()\n  ret void\n}}\n" for k in range(n // 4)),
            lambda: "".join(f"@a{k} = alias i32, ptr @a{(k + 1) % n}\n" for k in range(n // 4)),
            lambda: f"define <{n} x i32> @f(<{n} x i32> %x) {{\n  %y = mul <{n} x i32> %x, %x\n  ret <{n} x i32> %y\n}}\n",
            lambda: f"define i{n} @f(i{n} %x) {{\n  %y = mul i{n} %x, %x\n  ret i{n} %y\n}}\n",
            lambda: "define ptx_kernel void @k(ptr %p) {\nb0:\n" + "".join(f"  br label %l{k}\nl{k}:\n" for k in range(n // 20)) + "".join(
                f"  br i1 undef, label %l{k}, label %m{k}\nm{k}:\n" for k in reversed(range(n // 20))) + "  ret void\n}\n",
        )[shape]()
        yield Attack("deep", chance.choice(COMMANDS), text[:1 << 20], level=chance.choice(LEVELS[:6]), cpu=chance.choice(("sm_90a", "sm_50")))


def floods(chance, _):
    """Output without end, also of bytes that JSON must escape."""
    formats = ("x", "\\01\\1B[2J", "\\FF\\FE", '\\22\\5C\\22', "\\0A", "</script><img src=x>", "\\C3\\A9", "%d%s%n%p", "\\F0\\9F\\98\\80")
    while True:
        piece = chance.choice(formats)
        times = chance.randrange(1, 400)
        size = (len(piece.replace("\\", "")) - piece.count("\\")) * times + 1
        kind = chance.randrange(3)
        if kind == 0:
            yield Attack("floods", "run", PRINTF.replace("FORMATSIZE", str(size)).replace("FORMAT", piece * times), "--arg buf:i32:1:zero")
        elif kind == 1:
            yield Attack("floods", "run", LOOP.replace("BODY", "  store volatile i32 1, ptr %p").replace("REST", ""),
                         f"--trace=0,{chance.randrange(32)} --block 32 --arg buf:i32:1:zero")
        else:
            options = f"--arg buf:{chance.choice(('f64', 'u64', 'i8'))}:{chance.randrange(10 ** 6, 10 ** 7)}:{chance.choice(('iota', 'random:2'))} --print 0 --print 0"
            yield Attack("floods", "run", STORE, options)


def noise(chance, _):
    """Bytes that are no module: random, bitcode that is cut or changed, parts of IR in another order."""
    words = (STORE + DEBUG + PRINTF).split()
    bitcode = base64.b64decode("QkPA3jUUAAAFAAAAYgwwJElZvmbu0z5tIwEAAA==")
    while True:
        kind = chance.randrange(4)
        if kind == 0:
            text = bytes(chance.randrange(256) for _ in range(chance.randrange(1, 3000)))
        elif kind == 1:
            text = bitcode[:chance.randrange(4, len(bitcode))] + bytes(chance.randrange(256) for _ in range(chance.randrange(400)))
        elif kind == 2:
            text = " ".join(chance.choice(words) for _ in range(chance.randrange(1, 200))).encode()
        else:
            text = bytearray(chance.choice((STORE, DEBUG, PTX, PRINTF)).encode())
            for _ in range(chance.randrange(1, 9)):
                text[chance.randrange(len(text))] = chance.randrange(256)
        yield Attack("noise", chance.choice(COMMANDS), bytes(text), cpu=chance.choice(CPUS[:5]), level=chance.choice(LEVELS[:9]),
                     options=chance.choice(("", "--emit ir", "--print-changed", "--emit cfg", "--stats", "\x01\x7f\xff", "--" * 50, "a " * 300)))


def broken(chance, _):
    """Bytes that are not a request, or hardly one."""
    seeds = [f"POST /{command}?cpu=sm_90&level=-O2&options={options} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(STORE)}\r\n\r\n{STORE}".encode()
             for command, options in (("compile", "--emit+ir"), ("run", "--stats"), ("explain", ""))]
    seeds += [f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() for target in (
        "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/canary.txt", "//canary.txt", "/./canary.txt", "/choices/../canary.txt", "/\\canary.txt")]
    strange = (b"\0", b"\r\n\r\n", b"%", b"\xff" * 40, b"Content-Length: 5\r\n", b"A" * 3000, b"Transfer-Encoding: chunked\r\n", b"@", b"Host: x\r\n", b"\n",
               b"Origin: http://example.com\r\n", b" " * 100, b"Expect: 100-continue\r\n", b": \r\n", b"Content-Length: 1048577\r\n", b"X" * 17000)
    while True:
        data = bytearray(chance.choice(seeds))
        for _ in range(chance.randrange(1, 6)):
            data = data or bytearray(b"?")
            at, kind = chance.randrange(len(data)), chance.randrange(4)
            if kind == 0:
                data[at] = chance.randrange(256)
            elif kind == 1:
                del data[at:at + chance.randrange(1, 30)]
            elif kind == 2:
                data[at:at] = chance.choice(strange)
            else:
                data[at:at] = data[at:at + chance.randrange(1, 200)]
        if b"\r\n\r\n" not in data or len(data) < 100:
            data += b"\r\n\r\n" + b" " * 100
        yield Attack("broken", "", b"", raw=bytes(data) + b" " * 300)


# Of 100 requests.
SHARES = {files: 34, locations: 12, endless: 6, numbers: 8, deep: 10, floods: 4, noise: 12, broken: 14}


def choose(chance, folder, count, only):
    """`count` requests of all classes, none twice, in any order."""
    chosen, seen = [], set()
    for kind, share in SHARES.items():
        if only and kind.__name__ != only:
            continue
        wanted = count if only else max(1, count * share // 100)
        generator = kind(chance, folder)
        while wanted:
            attack = next(generator)
            if repr(attack) not in seen:
                seen.add(repr(attack))
                chosen.append(attack)
                wanted -= 1
    chance.shuffle(chosen)
    return chosen
