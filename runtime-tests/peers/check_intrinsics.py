#!/usr/bin/env python3
"""Compares every row of ir/intrinsics.def with LLVM's and with the vendor's assembler.

For each intrinsic a module is made that declares and calls it with arguments of the signature.
  nvmini  must compile it for the CPU that the row asks for
  ptxas   (where installed) must accept what nvmini wrote
  llc-19  (where installed) must know the name and signature, and its instructions are compared with
          ours: mnemonics with modifiers, registers and moves aside

With --constants each integer argument gets constants in and out of its range, the bounds of ptx/ops.def
among them: nvmini must compile or refuse each call, never fail on its own account, and ptxas must
accept what it compiled. With --overloads each overload gets all kinds of types: nvmini must compile or refuse the call.

usage: check_intrinsics.py [--nvmini build/nvmini] [--gen build/gen/bin/gen_intrinsics]
                           [--only REGEX] [--show] [--no-peers]
                           [--constants|--overloads] [-j N]
Prints what differs and a table of counts. Exit status 1 if nvmini or ptxas refused a row; different
instructions are shown for reading, for there is more than one right answer.
"""
import argparse, concurrent.futures, os, re, shutil, subprocess, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ROW = re.compile(r'^\{"(llvm[^"]*)", "([^"]*)", "((?:[^"\\]|\\.)*)", [^,]*, (\d+), "([^"]*)"\},')
SCALARS = {'f16': 'half', 'bf16': 'bfloat', 'f32': 'float', 'f64': 'double', 'h16': 'bfloat',
           'h32': '<2 x bfloat>', 'void': 'void', 'token': 'token', 'metadata': 'metadata'}
# What overloads are tried with, where the usual choice does not fit.
CHOICES = [(r'\.ldg\.global\.f|\.ldu\.global\.f', {'T': 'float', 'P': 'ptr addrspace(1)'}),
           (r'\.ldg\.global\.p|\.ldu\.global\.p', {'T': 'ptr', 'P': 'ptr addrspace(1)'}),
           (r'\.ldg\.|\.ldu\.', {'T': 'i32', 'P': 'ptr addrspace(1)'}),
           (r'ptr\.(global|shared|constant|local|param)\.to\.gen', {'P': 'ptr', 'P1': 'SPACE'}),
           (r'ptr\.gen\.to\.', {'P': 'SPACE', 'P1': 'ptr'}),
           (r'bswap|bitreverse|fshl|fshr', {'I': 'i32'}),
           (r'vector\.reduce\.f', {'F': '<4 x float>'}),
           (r'vector\.reduce', {'I': '<4 x i32>'}),
           (r'convert\.(to|from)', {'F': 'float'}),
           (r'ptrmask', {'I': 'i64'}),
           (r'(prefetch|applypriority|discard)\.global', {'P': 'ptr addrspace(1)'}),
           (r'prefetch\.local', {'P': 'ptr addrspace(5)'}),
           (r'ldmatrix|stmatrix', {'P': 'ptr addrspace(3)'}),
           (r'llvm\.pow|sin|cos|tan|exp|log', {'F': 'float'})]
SPACES = {'global': 1, 'shared': 3, 'constant': 4, 'local': 5, 'param': 101}


def rows(gen):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([gen, os.path.join(ROOT, 'ir', 'intrinsics.def'), os.path.join(ROOT, 'target', 'nvptx.def'), folder],
                       check=True)
        with open(os.path.join(folder, 'intrinsics.inc')) as f:
            for line in f:
                m = ROW.match(line)
                if m: yield m.groups()


class Signature:
    """Turns the table's signature into LLVM types; remembers overloads for the suffix."""
    def __init__(self, name, text, given=()):
        self.name, self.text, self.at, self.bound, self.order = name, text.split(';')[0], 0, {}, []
        self.choice = {}
        for pattern, types in CHOICES:
            if re.search(pattern, name):
                self.choice = types
                break
        self.choice = {**self.choice, **dict(given)}
        self.result = self.type()
        self.arguments, self.groups = [], []  # groups: where each named or repeated argument starts
        self.eat(' ')
        self.eat('(')
        while self.peek() != ')':
            self.argument()
            self.eat(',')
            self.eat(' ')

    def peek(self):
        return self.text[self.at] if self.at < len(self.text) else ')'

    def eat(self, c):
        while c == ' ' and self.peek() == ' ': self.at += 1
        if c != ' ' and self.peek() == c: self.at += 1

    def word(self, pattern):
        m = re.compile(pattern).match(self.text, self.at)
        if not m: return None
        self.at = m.end()
        return m

    def repeat(self):
        m = self.word(r'\*(\d+)')
        return int(m.group(1)) if m else 1

    def argument(self):
        if self.word(r'\.\.\.'): return
        imm = bool(self.word(r'imm '))
        t = self.type()
        self.groups.append(len(self.arguments))
        for _ in range(self.repeat()): self.arguments.append((t, imm))

    def variable(self, v):
        if v not in self.bound:
            default = {'I': 'i32', 'F': 'float', 'P': 'ptr', 'T': 'i32', 'S': 'i32'}[v[0]]
            t = self.choice.get(v, default)
            if t == 'SPACE':
                space = next(s for s in SPACES if s in self.name.replace('.gen', ''))
                t = 'ptr addrspace(%d)' % SPACES[space]
            self.bound[v] = t
            self.order.append(v)
        return self.bound[v]

    def scalar(self):
        m = self.word(r'(bf16|f16|f32|f64|h16|h32|void|token|metadata|i\d+|p\d+)')
        w = m.group(1)
        if w in SCALARS: return SCALARS[w]
        if w[0] == 'p': return 'ptr' if w == 'p0' else 'ptr addrspace(%s)' % w[1:]
        return w

    def type(self):
        c = self.peek()
        if c in '{[':
            self.at += 1
            members = []
            while self.peek() not in '}]':
                t = self.type()
                members += [t] * self.repeat()
                self.eat(',')
                self.eat(' ')
            self.at += 1
            return members[0] if c == '[' and len(members) == 1 else '{ ' + ', '.join(members) + ' }'
        if c == '@':
            v = self.word(r'@([A-Z]\d?)').group(1)
            vector = self.choice.get(v, '<4 x i32>')
            return re.sub(r'<\d+ x (.*)>', r'\1', vector)
        m = self.word(r'[IFPTS]\d?')
        if m: return self.variable(m.group(0))
        m = self.word(r'v(\d+)')
        if m: return '<%s x %s>' % (m.group(1), self.scalar())
        t = self.scalar()
        m = self.word(r'@([A-Z]\d?)')
        if m:
            lanes = re.match(r'<(\d+) x', self.bound.get(m.group(1), ''))
            return '<%s x %s>' % (lanes.group(1), t) if lanes else t
        return t


def mangle(t):
    m = re.match(r'<(\d+) x (.*)>', t)
    if m: return 'v%s%s' % (m.group(1), mangle(m.group(2)))
    m = re.match(r'ptr(?: addrspace\((\d+)\))?$', t)
    if m: return 'p%s' % (m.group(1) or '0')
    return {'half': 'f16', 'bfloat': 'bf16', 'float': 'f32', 'double': 'f64'}.get(t, t)


def overload_order(s):
    """LLVM mangles result first, then arguments; vector reductions by their vector alone."""
    return [mangle(s.bound[v]) for v in s.order]


CONSTANTS = {'nvvm.fadd': ['1'], 'prefetch': ['0', '3', '1'], 'is.fpclass': ['3'], 'setmaxnreg': ['40'], 'discard': ['128'], 'applypriority': ['128'],
             'tensormap_generic.acquire': ['128'], 'global_stride': ['2']}


def is_constant(name, t, imm):
    return imm or (name in ('llvm.ctlz', 'llvm.cttz', 'llvm.abs') and t == 'i1')


def usual_constants(name, s):
    """Values of the constant arguments with which the call is right."""
    values = next((list(v) for k, v in CONSTANTS.items() if k in name), [])
    found = []
    for t, imm in s.arguments:
        if not is_constant(name, t, imm): continue
        v = values.pop(0) if values else 'false' if t == 'i1' else '1' if 'tcgen05.mma' in name else '4' if 'ld' in name else '0'
        found.append('1.0' if t == 'double' else v)
    return found


HEAD = 'target triple = "nvptx64-nvidia-cuda"\n'


def function(name, signature, given={}, types=(), called='test'):
    """A declaration of the intrinsic, and a function that calls it with the usual constant arguments and
    overloads or the given ones, by their numbers. None: it cannot be called so."""
    s = Signature(name, signature, types)
    full = '.'.join([name] + overload_order(s))
    values = usual_constants(name, s)
    params, args = [], []
    for k, (t, imm) in enumerate(s.arguments):
        if t == 'metadata': return None
        usual = values.pop(0) if is_constant(name, t, imm) else None
        if k in given or usual is not None:
            args.append('%s %s' % (t, given.get(k, usual)))
        else:
            params.append('%s %%a%d' % (t, k))
            args.append('%s %%a%d' % (t, k))
    if s.result == 'token': return None
    types = ', '.join(t for t, _ in s.arguments)
    if name == 'llvm.assume': types, args = 'i1', args[:1]
    flags = 'afn ' if re.match(r'llvm\.(sin|cos|tan|tanh|exp\d*|log\d*|pow)$', name) else ''
    call = 'call %s%s @%s(%s)' % (flags, s.result, full, ', '.join(args))
    body = '  %s\n  ret void' % call if s.result == 'void' else \
           '  %%r = %s\n  store %s %%r, ptr %%out\n  ret void' % (call, s.result)
    return ('declare %s @%s(%s)\n' % (s.result, full, types),
            'define void @%s(%s) {\n%s\n}\n' % (called, ', '.join(params + ['ptr %out']), body))


def module(name, signature, types=()):
    found = function(name, signature, types=types)
    return found and HEAD + ''.join(found)


def cpu_of(needs):
    for word in needs.split():
        if word.startswith('sm_'):
            first = word.split('|')[0]
            number = int(re.match(r'sm_(\d+)', first).group(1))
            return 'sm_90' if number < 90 else first
        if word == 'tmem': return 'sm_100a'
    return 'sm_90'


IGNORED = re.compile(r'^(ld\.param|st\.param|ret|mov\.|st\.(b|u|f|v|global|local|shared)|ld\.param|cvt\.u\d+\.u\d+|cvta\.to\.global|\{|\}|//|\.)')


def mnemonics(ptx):
    found = []
    for line in ptx.split('\n'):
        line = re.sub(r'//.*', '', line).strip().rstrip(';')
        line = re.sub(r'^\{?\s*(\.reg [^;]*;)?\s*', '', line) if 'reg' in line else line
        if not re.match(r'^[@a-z]', line) or line.endswith(':'): continue
        word = re.sub(r'^@!?%p\d+\s+', '', line).split()[0].rstrip(';')
        if not IGNORED.match(word + ' '): found.append(word)
    return found


def run(command, text):
    p = subprocess.run(command, input=text, capture_output=True, text=True)
    return p.returncode, p.stdout, p.stderr


def assemble(ptxas, name, cpu, ptx):
    """The status of the assembler and the first line of its errors."""
    with tempfile.NamedTemporaryFile('w', suffix='.ptx') as f:
        # Textures with samplers apart are another mode of the whole module.
        samplers = re.search(r'\.(tex|tld4)\.(?!unified)', name)
        f.write(re.sub(r'(\.target \w+)', r'\1, texmode_independent', ptx) if samplers else ptx)
        f.flush()
        code, _, errors = run([ptxas, '-c', '-arch=' + cpu, f.name, '-o', '/dev/null'], '')
    return code, errors.strip().split('\n')[0]


def check(row, options):
    name, signature, ptx, _, needs = row
    if signature == '*' or ptx.startswith('!') or 'APPROX_NONE' in ptx or re.search(r'va_start|reflect|texsurf', name): return name, 'skipped', ''
    text = module(name, signature)
    if text is None: return name, 'skipped', ''
    cpu = cpu_of(needs)
    # shfl, vote without .sync are gone from sm_70 on.
    if re.search(r'\.(shfl\.(down|up|bfly|idx)|vote\.(all|any|uni|ballot)$)', name): cpu = 'sm_60'
    code, ours, errors = run([options.nvmini, 'compile', '-', '-O0', '--cpu', cpu, '-o', '-'], text)
    if code != 0: return name, 'nvmini refuses', errors.strip().split('\n')[0]
    if options.ptxas and cpu != 'sm_60':
        code, errors = assemble(options.ptxas, name, cpu, ours)
        if code != 0: return name, 'ptxas refuses', errors
    if not options.llc: return name, 'compiled', ''
    code, theirs, errors = run([options.llc, '-O0', '-mcpu=' + cpu, '-mattr=+ptx85', '-o', '-', '-'], text)
    if code != 0 or re.search(r'\bcall(\.uni)?\b', theirs):
        return name, 'not in llc', (errors.strip() or 'a call').split('\n')[0]
    a, b = mnemonics(ours), mnemonics(theirs)
    if a == b: return name, 'same', ''
    return name, 'different', 'ours: %s | llc: %s' % (' ; '.join(a), ' ; '.join(b))


# One argument is tried at a time; the others keep the value that the usual check gives them.
TRIED = set(range(-2, 18)) | {31, 32, 64, 127, 128, 255, 256, 2147483647, -2147483648}
# Arguments that may also be registers: ptxas looks at their constants too.
TRIED_VALUES = {-1, 0, 2, 5, 9, 16, 17, 33, 256, 1025}
BATCH = 400


def bounds():
    """The bounds of the literals of ptx/ops.def, and the values beside them."""
    found = set()
    with open(os.path.join(ROOT, 'ptx', 'ops.def')) as table:
        for low, high, step in re.findall(r'\w\((-?\d+)(?:\.\.(-?\d*)([/*]\d+)?)?\)', table.read()):
            by = int(step[1:]) if step.startswith('/') else 1
            for at in [int(low)] + [int(v) for v in [high] if v]: found |= {at - by, at - 1, at, at + 1, at + by}
    return found


def constant_cases(table):
    """(row, number of the argument, its value), by what they can be assembled with."""
    groups, immediates = {}, sorted(TRIED | bounds())
    for row in table:
        name, signature, ptx, _, needs = row
        if signature == '*' or re.search(r'va_start|reflect|texsurf', name): continue
        s = Signature(name, signature)
        if s.result == 'token' or any(t == 'metadata' for t, _ in s.arguments): continue
        how = (cpu_of(needs), 'before_sm_70' in needs, bool(re.search(r'\.(tex|tld4)\.(?!unified)', name)))
        for k in s.groups:
            if k >= len(s.arguments) or not re.fullmatch(r'i(8|16|32|64)', s.arguments[k][0]): continue
            for value in immediates if s.arguments[k][1] else sorted(TRIED_VALUES):
                if -1 << int(s.arguments[k][0][1:]) - 1 <= value < 1 << int(s.arguments[k][0][1:]):
                    groups.setdefault(how, []).append((row, k, value))
    return [(how, cases[at:at + BATCH]) for how, cases in groups.items() for at in range(0, len(cases), BATCH)]


def compile_cases(cases, cpu, level, options):
    """The status and PTX of those that are not refused, after the numbers of those that are."""
    refused = set()
    while len(refused) < len(cases):
        texts = [function(row[0], row[1], {k: value}, called='f%d' % n)
                 for n, (row, k, value) in enumerate(cases) if n not in refused]
        code, ptx, errors = run([options.nvmini, 'compile', '-', level, '--cpu', cpu, '-o', '-', '--error-limit', '0'],
                                HEAD + ''.join(sorted({t[0] for t in texts})) + ''.join(t[1] for t in texts))
        named = {int(n) for n in re.findall(r': error: .*\[in @f(\d+)\]', errors)}
        if code != 1 or not named: return refused, code, ptx
        refused |= named
    return refused, 0, ''


def refused_by_ptxas(ptxas, how, ptx):
    """Number of the function → the first thing that the assembler says of it."""
    with tempfile.NamedTemporaryFile('w', suffix='.ptx') as f:
        f.write(re.sub(r'(\.target \w+)', r'\1, texmode_independent', ptx) if how[2] else ptx)
        f.flush()
        code, _, errors = run([ptxas, '-c', '-arch=' + how[0], f.name, '-o', '/dev/null'], '')
    if code == 0: return {}
    found, at, names = {}, None, []
    for line in ptx.split('\n'):
        start = re.match(r'\.visible \.func f(\d+)', line)
        at = int(start.group(1)) if start else at
        names.append(at)
    for line, text in re.findall(r'line (\d+); error\s*: (.*)', errors): found.setdefault(names[int(line) - 1], text)
    return found or {None: errors.strip().split('\n')[0]}


def try_constants(batch, options):
    """A batch of cases at -O0 and the default level: ({what: number}, [what is wrong])."""
    how, cases = batch
    counts, wrong = {'tried': len(cases)}, []
    say = lambda n, what: '%s argument %d = %d: %s' % (cases[n][0][0], cases[n][1] + 1, cases[n][2], what)
    for level in ('-O0', '-O2'):
        refused, code, ptx = compile_cases(cases, how[0], level, options)
        counts['refused'] = counts.get('refused', 0) + len(refused)
        if code != 0 and len(cases) > 1:  # one of them makes nvmini fail: try halves
            halves = [try_constants((how, half), options) for half in (cases[:len(cases) // 2], cases[len(cases) // 2:])]
            return {w: sum(h[0].get(w, 0) for h in halves) for w in ('tried', 'refused', 'fails', 'ptxas refuses')}, halves[0][1] + halves[1][1]
        if code != 0:
            wrong.append('fails ' + say(0, 'exit %d' % code))
            counts['fails'] = counts.get('fails', 0) + 1
        elif ptx and options.ptxas and not how[1]:
            for n, text in refused_by_ptxas(options.ptxas, how, ptx).items():
                wrong.append('ptxas refuses ' + (say(n, text) if n is not None else text))
                counts['ptxas refuses'] = counts.get('ptxas refuses', 0) + 1
    return counts, wrong


POINTERS = ['ptr'] + ['ptr addrspace(%d)' % k for k in (1, 2, 3, 4, 5, 6, 7, 101)]
INTEGERS = ['i1', 'i7', 'i8', 'i16', 'i32', 'i64', 'i128', 'i200']
FLOATS = ['half', 'bfloat', 'float', 'double', 'fp128']
VECTORS = ['<2 x %s>', '<3 x %s>', '<8 x %s>']
OVERLOADS = {'I': INTEGERS + [v % t for v in VECTORS for t in INTEGERS], 'F': FLOATS + [v % t for v in VECTORS for t in FLOATS],
             'P': POINTERS + [v % t for v in VECTORS[:1] for t in POINTERS], 'S': INTEGERS,
             'T': INTEGERS + FLOATS + POINTERS + ['<2 x i32>', '<3 x half>', '<4 x i1>', '{ i32, i64 }', '[3 x i8]']}


def try_overloads(row, options):
    """Calls with every type that each overload of the intrinsic could have."""
    name, signature, ptx, _, needs = row
    if signature == '*' or re.search(r'va_start|reflect|texsurf', name): return name, 'skipped', ''
    variables = Signature(name, signature).order
    for v in variables:
        for t in OVERLOADS[v[0]]:
            text = module(name, signature, types={v: t})
            if text is None: return name, 'skipped', ''
            for level in ('-O0', '-O2'):
                code, _, errors = run([options.nvmini, 'compile', '-', level, '--cpu', cpu_of(needs), '-o', '-'], text)
                if code not in (0, 1):
                    return name, 'fails', '%s = %s: exit %d: %s' % (v, t, code, errors.strip().split('\n')[0])
    return name, 'tried' if variables else 'skipped', ''


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--nvmini', default=os.path.join(ROOT, 'build', 'nvmini'))
    p.add_argument('--gen', default=os.path.join(ROOT, 'build', 'gen', 'bin', 'gen_intrinsics'))
    p.add_argument('--only', default='')
    p.add_argument('--show', action='store_true', help='print every row, not only the odd ones')
    p.add_argument('--constants', action='store_true', help='try constant arguments in and out of their range')
    p.add_argument('--overloads', action='store_true', help='try every type of overloads')
    p.add_argument('--no-peers', action='store_true', help='only nvmini')
    p.add_argument('-j', type=int, default=os.cpu_count() or 1)
    options = p.parse_args()
    asked = () if options.no_peers or options.overloads else ('ptxas',) if options.constants else ('llc', 'ptxas')
    options.llc = 'llc' in asked and shutil.which('llc-19')
    options.ptxas = 'ptxas' in asked and (shutil.which('ptxas') or shutil.which('/usr/local/cuda/bin/ptxas'))
    for peer in asked:
        if not getattr(options, peer): print('%s is not installed: not compared' % peer)
    table = [r for r in rows(options.gen) if re.search(options.only, r[0])]
    counts = {}
    if options.constants:
        with concurrent.futures.ThreadPoolExecutor(options.j) as pool:
            for some, wrong in pool.map(lambda batch: try_constants(batch, options), constant_cases(table)):
                for what, n in some.items(): counts[what] = counts.get(what, 0) + n
                for line in wrong: print(line)
        print(', '.join('%d %s' % (n, what) for what, n in sorted(counts.items())))
        return 1 if counts.get('fails') or counts.get('ptxas refuses') else 0
    check_row = try_overloads if options.overloads else check
    with concurrent.futures.ThreadPoolExecutor(options.j) as pool:
        for name, what, detail in pool.map(lambda r: check_row(r, options), table):
            counts[what] = counts.get(what, 0) + 1
            if options.show or what in ('nvmini refuses', 'ptxas refuses', 'different', 'not in llc', 'fails'):
                print('%-16s %s  %s' % (what, name, detail))
    print(', '.join('%d %s' % (n, what) for what, n in sorted(counts.items())))
    return 1 if any(counts.get(what) for what in ('nvmini refuses', 'ptxas refuses', 'fails')) else 0


if __name__ == "__main__":
    sys.exit(main())
