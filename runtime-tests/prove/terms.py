"""Terms of bit vectors and truth values, simplified as they are made, and questions to Z3 about them.

Equal terms are one object. Sums are kept as a constant and coefficients of terms, so that two addresses that
differ by a constant show it; whatever has only constants as operands is computed here, so that a function
encoded with constants as its arguments is executed. Widths are in bits; width 0 is a truth value."""
import os
import select
import subprocess
import sys
import threading
import time


class Term:
    __slots__ = ("op", "w", "val", "args", "id", "free")

    def __init__(self, op, w, val, args, number):
        self.op, self.w, self.val, self.args, self.id = op, w, val, args, number
        free = frozenset()
        for a in args:
            if a.free and a.free is not free:
                free = free | a.free if free else a.free
        self.free = free

    def __repr__(self):
        return f"t{self.id}"


class TooMany(Exception):
    """Terms, or the time to make them."""


TABLE = {}
COUNT = [0]
LIMITS = [float("inf"), float("inf")]  # terms; time.monotonic()


def reset(terms=float("inf"), seconds=float("inf")):
    """Forgets every term but the constants true and false: between functions."""
    TABLE.clear()
    COUNT[0] = 2
    LIMITS[:] = [terms, time.monotonic() + seconds]
    for t in (TRUE, FALSE):
        TABLE[("const", 0, t.val, ())] = t


def check_limits():
    if COUNT[0] > LIMITS[0]:
        raise TooMany("too many terms")
    if time.monotonic() > LIMITS[1]:
        raise TooMany("encoding takes too long")


def make(op, w, val, args):
    key = (op, w, val, tuple(a.id for a in args))
    t = TABLE.get(key)
    if t is None:
        COUNT[0] += 1
        if COUNT[0] % 64 == 0:
            check_limits()
        t = TABLE[key] = Term(op, w, val, args, COUNT[0])
    return t


def const(v, w):
    return make("const", w, v & ((1 << w) - 1) if w else bool(v), ())


TRUE, FALSE = const(True, 0), const(False, 0)


def truth(b):
    return TRUE if b else FALSE


def var(name, w):
    return make("var", w, name, ())


def nondet(name, w):
    """A variable that is chosen: it is one of the term's free ones."""
    t = make("nondet", w, name, ())
    t.free = frozenset((t,))
    return t


def uf(name, w, args):
    return make("uf", w, name, tuple(args))


def is_const(t):
    return t.op == "const"


def signed(t):
    return t.val - (1 << t.w) if t.val >> (t.w - 1) else t.val


# --- truth values --------------------------------------------------------------------------------------

def not_(a):
    if a.op == "const":
        return truth(not a.val)
    return a.args[0] if a.op == "not" else make("not", 0, None, (a,))


def junction(op, parts):
    stop = op == "or"
    seen, out = set(), []
    for p in parts:
        for q in (p.args if p.op == op else (p,)):
            if q.op == "const":
                if q.val == stop:
                    return q
                continue
            if q.id in seen:
                continue
            seen.add(q.id)
            out.append(q)
    for q in out:
        if q.op == "not" and q.args[0].id in seen:
            return truth(stop)
    if not out:
        return truth(not stop)
    return out[0] if len(out) == 1 else make(op, 0, None, tuple(sorted(out, key=lambda t: t.id)))


def and_(*parts):
    return junction("and", parts)


def or_(*parts):
    return junction("or", parts)


def ite(c, a, b):
    if c.op == "const":
        return a if c.val else b
    if a is b:
        return a
    if c.op == "not":
        return ite(c.args[0], b, a)
    if a.w == 0:
        if is_const(a):
            return or_(c, b) if a.val else and_(not_(c), b)
        if is_const(b):
            return or_(not_(c), a) if b.val else and_(c, a)
    if a.op == "ite" and a.args[0] is c:
        a = a.args[1]
    if b.op == "ite" and b.args[0] is c:
        b = b.args[2]
    return a if a is b else make("ite", a.w, None, (c, a, b))


def eq(a, b):
    if a is b:
        return TRUE
    if is_const(a) and is_const(b):
        return truth(a.val == b.val)
    if a.w == 0:
        if is_const(a):
            return b if a.val else not_(b)
        if is_const(b):
            return a if b.val else not_(a)
    else:
        d = sub(a, b)
        if is_const(d):
            return truth(d.val == 0)
        if is_const(a):
            a, b = b, a
        if is_const(b):
            if a.op == "ite" and is_const(a.args[1]) and is_const(a.args[2]):
                return ite(a.args[0], eq(a.args[1], b), eq(a.args[2], b))
            if a.op == "zext":
                n = a.args[0].w
                return eq(a.args[0], const(b.val, n)) if b.val >> n == 0 else FALSE
    if a.id > b.id:
        a, b = b, a
    return make("eq", 0, None, (a, b))


def ne(a, b):
    return not_(eq(a, b))


def compare(op, a, b):
    """op: ult ule slt sle."""
    if is_const(a) and is_const(b):
        x, y = (signed(a), signed(b)) if op[0] == "s" else (a.val, b.val)
        return truth(x < y if op[1:] == "lt" else x <= y)
    if a is b:
        return truth(op[1:] == "le")
    if op == "ult" and is_const(b) and b.val == 0:
        return FALSE
    if op == "ule" and is_const(a) and a.val == 0:
        return TRUE
    if op[1:] == "le":
        return not_(compare(op[0] + "lt", b, a))
    return make(op, 0, None, (a, b))


def ult(a, b): return compare("ult", a, b)
def ule(a, b): return compare("ule", a, b)
def slt(a, b): return compare("slt", a, b)
def sle(a, b): return compare("sle", a, b)


# --- sums -----------------------------------------------------------------------------------------------

def parts_of(t):
    """(constant, {term: coefficient})."""
    if t.op == "const":
        return t.val, {}
    if t.op == "lin":
        return t.val[0], dict(zip(t.args, t.val[1]))
    return 0, {t: 1}


def linear(w, c, terms):
    m = (1 << w) - 1
    items = sorted(((t, k & m) for t, k in terms.items() if k & m), key=lambda x: x[0].id)
    c &= m
    if not items:
        return const(c, w)
    if c == 0 and len(items) == 1 and items[0][1] == 1:
        return items[0][0]
    return make("lin", w, (c, tuple(k for _, k in items)), tuple(t for t, _ in items))


def combine(a, b, factor):
    c, terms = parts_of(a)
    d, more = parts_of(b)
    for t, k in more.items():
        terms[t] = terms.get(t, 0) + k * factor
    return linear(a.w, c + d * factor, terms)


def add(a, b): return combine(a, b, 1)
def sub(a, b): return combine(a, b, -1)


def mul(a, b):
    if is_const(a):
        a, b = b, a
    if is_const(b):
        c, terms = parts_of(a)
        return linear(a.w, c * b.val, {t: k * b.val for t, k in terms.items()})
    if a.id > b.id:
        a, b = b, a
    return make("mul", a.w, None, (a, b))


def neg(a): return sub(const(0, a.w), a)


# --- bits -----------------------------------------------------------------------------------------------

def bits(op, a, b):
    """op: bvand bvor bvxor."""
    if is_const(a) and is_const(b):
        return const({"bvand": a.val & b.val, "bvor": a.val | b.val, "bvxor": a.val ^ b.val}[op], a.w)
    if is_const(a):
        a, b = b, a
    ones = (1 << a.w) - 1
    if is_const(b):
        if b.val == 0:
            return b if op == "bvand" else a
        if b.val == ones and op != "bvxor":
            return a if op == "bvand" else b
        if op == "bvxor" and a.op == "bvxor" and is_const(a.args[1]):
            return bits(op, a.args[0], const(a.args[1].val ^ b.val, a.w))
    elif a is b:
        return const(0, a.w) if op == "bvxor" else a
    elif a.id > b.id:
        a, b = b, a
    return make(op, a.w, None, (a, b))


def band(a, b): return bits("bvand", a, b)
def bor(a, b): return bits("bvor", a, b)
def bxor(a, b): return bits("bvxor", a, b)
def bnot(a): return bxor(a, const(-1, a.w))


def shift(op, a, b):
    """op: bvshl bvlshr bvashr; total as in SMT-LIB."""
    if is_const(b):
        if b.val == 0:
            return a
        if b.val >= a.w and op != "bvashr":
            return const(0, a.w)
        if op == "bvshl":
            return mul(a, const(1 << b.val, a.w))
        if is_const(a):
            return const(signed(a) >> b.val if op == "bvashr" else a.val >> b.val, a.w)
    return make(op, a.w, None, (a, b))


def divide(op, a, b):
    """op: bvudiv bvurem bvsdiv bvsrem."""
    if is_const(a) and is_const(b) and b.val:
        if op in ("bvudiv", "bvurem"):
            return const(a.val // b.val if op == "bvudiv" else a.val % b.val, a.w)
        x, y = signed(a), signed(b)
        q = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        return const(q if op == "bvsdiv" else x - q * y, a.w)
    return make(op, a.w, None, (a, b))


def extract(t, hi, lo):
    w = hi - lo + 1
    if w == t.w:
        return t
    if t.op == "const":
        return const(t.val >> lo, w)
    if t.op == "extract":
        return extract(t.args[0], t.val[1] + hi, t.val[1] + lo)
    if t.op in ("zext", "sext"):
        n = t.args[0].w
        if hi < n:
            return extract(t.args[0], hi, lo)
        if t.op == "zext" and lo >= n:
            return const(0, w)
        if lo == 0:
            return make(t.op, w, None, (t.args[0],)) if w > n else t.args[0]
    if t.op == "concat":
        out, top = [], t.w
        for a in t.args:
            bottom = top - a.w
            if bottom <= hi and top > lo:
                out.append(extract(a, min(hi, top - 1) - bottom, max(lo, bottom) - bottom))
            top = bottom
        return concat(*out)
    if t.op == "ite" and (is_const(t.args[1]) or is_const(t.args[2]) or t.args[1].op == "concat" or t.args[2].op == "concat"):
        return ite(t.args[0], extract(t.args[1], hi, lo), extract(t.args[2], hi, lo))
    if t.op == "lin" and lo == 0:  # the low bits of a sum are the sum of the low bits
        return linear_of(t, w)
    return make("extract", w, (hi, lo), (t,))


def linear_of(t, w):
    total = const(t.val[0], w)
    for a, k in zip(t.args, t.val[1]):
        total = add(total, mul(extract(a, w - 1, 0), const(k, w)))
    return total


def join(a, b):
    """One term for two neighbours of a concatenation, or None."""
    if a.op == "const" and b.op == "const":
        return const(a.val << b.w | b.val, a.w + b.w)
    if a.op == "extract" and b.op == "extract" and a.args[0] is b.args[0] and a.val[1] == b.val[0] + 1:
        return extract(a.args[0], a.val[0], b.val[1])
    if a.op == "ite" and b.op == "ite" and a.args[0] is b.args[0]:
        return ite(a.args[0], concat(a.args[1], b.args[1]), concat(a.args[2], b.args[2]))
    return None


def concat(*parts):
    """The most significant first."""
    out = []
    for p in parts:
        for q in (p.args if p.op == "concat" else (p,)):
            while out:
                one = join(out[-1], q)
                if one is None:
                    break
                out.pop()
                q = one
            out.extend(q.args if q.op == "concat" else (q,))
    if len(out) == 1:
        return out[0]
    w = sum(p.w for p in out)
    if out[0].op == "const" and out[0].val == 0 and len(out) == 2:
        return zext(out[1], w)
    return make("concat", w, None, tuple(out))


def zext(t, w):
    if w == t.w:
        return t
    if t.op == "const":
        return const(t.val, w)
    return make("zext", w, None, (t.args[0] if t.op == "zext" else t,))


def sext(t, w):
    if w == t.w:
        return t
    if t.op == "const":
        return const(signed(t), w)
    if t.op in ("zext", "sext"):
        return make(t.op, w, None, t.args)
    return make("sext", w, None, (t,))


def overflow(op, a, b):
    """Whether a product leaves its width: op is umul or smul."""
    if is_const(a) and is_const(b):
        if op == "umul":
            return truth(a.val * b.val >> a.w != 0)
        p = signed(a) * signed(b)
        return truth(not -(1 << (a.w - 1)) <= p < 1 << (a.w - 1))
    if is_const(a):
        a, b = b, a
    if is_const(b) and b.val in (0, 1) and a.w > 1:
        return FALSE
    return make(op, 0, None, (a, b) if is_const(b) or a.id < b.id else (b, a))


def bool_bit(b): return ite(b, const(1, 1), const(0, 1))
def bit_bool(t): return eq(t, const(1, 1))


# --- substitution -----------------------------------------------------------------------------------------

BINARY = {"bvand": band, "bvor": bor, "bvxor": bxor, "eq": eq, "mul": mul,
          "ult": ult, "slt": slt}


def rebuild(t, args):
    if t.op in BINARY:
        return BINARY[t.op](*args)
    if t.op in ("bvshl", "bvlshr", "bvashr"):
        return shift(t.op, *args)
    if t.op in ("bvudiv", "bvurem", "bvsdiv", "bvsrem"):
        return divide(t.op, *args)
    if t.op in ("umul", "smul"):
        return overflow(t.op, *args)
    if t.op == "not":
        return not_(*args)
    if t.op in ("and", "or"):
        return junction(t.op, args)
    if t.op == "ite":
        return ite(*args)
    if t.op == "extract":
        return extract(args[0], *t.val)
    if t.op == "concat":
        return concat(*args)
    if t.op == "zext":
        return zext(args[0], t.w)
    if t.op == "sext":
        return sext(args[0], t.w)
    if t.op == "lin":
        total = const(t.val[0], t.w)
        for a, k in zip(args, t.val[1]):
            total = add(total, mul(a, const(k, t.w)))
        return total
    return make(t.op, t.w, t.val, tuple(args))


def substitute(t, by, memo=None):
    """t with the free variables of the dictionary replaced."""
    memo = {} if memo is None else memo
    keys = by.keys()
    stack = [t]
    while stack:
        x = stack[-1]
        if x in memo:
            stack.pop()
        elif not x.free or x.free.isdisjoint(keys):
            memo[x] = x
            stack.pop()
        elif x.op == "nondet":
            memo[x] = by[x]
            stack.pop()
        else:
            missing = [a for a in x.args if a not in memo]
            if missing:
                stack.extend(missing)
            else:
                memo[x] = rebuild(x, [memo[a] for a in x.args])
                stack.pop()
    return memo[t]


# --- SMT-LIB ----------------------------------------------------------------------------------------------

def literal(v, w):
    return f"(_ bv{v} {w})" if w else ("true" if v else "false")


def sort(w):
    return f"(_ BitVec {w})" if w else "Bool"


def text_of(t, names):
    a = [names[x] for x in t.args]
    if t.op == "not":
        return f"(not {a[0]})"
    if t.op in ("and", "or"):
        return f"({t.op} {' '.join(a)})"
    if t.op == "ite":
        return f"(ite {a[0]} {a[1]} {a[2]})"
    if t.op == "eq":
        return f"(= {a[0]} {a[1]})"
    if t.op in ("ult", "slt"):
        return f"(bv{t.op} {a[0]} {a[1]})"
    if t.op in ("umul", "smul"):
        w, word = t.args[0].w, "zero" if t.op == "umul" else "sign"
        wide = [f"((_ {word}_extend {w}) {x})" for x in a]
        product, low = f"(bvmul {wide[0]} {wide[1]})", f"((_ {word}_extend {w}) (bvmul {a[0]} {a[1]}))"
        return f"(not (= {product} {low}))"
    if t.op == "lin":
        words = [x if k == 1 else f"(bvneg {x})" if k == (1 << t.w) - 1 else f"(bvmul {literal(k, t.w)} {x})"
                 for x, k in zip(a, t.val[1])]
        if t.val[0]:
            words.append(literal(t.val[0], t.w))
        return words[0] if len(words) == 1 else f"(bvadd {' '.join(words)})"
    if t.op == "mul":
        return f"(bvmul {a[0]} {a[1]})"
    if t.op == "extract":
        return f"((_ extract {t.val[0]} {t.val[1]}) {a[0]})"
    if t.op == "concat":
        return f"(concat {' '.join(a)})"
    if t.op in ("zext", "sext"):
        word = "zero_extend" if t.op == "zext" else "sign_extend"
        return f"((_ {word} {t.w - t.args[0].w}) {a[0]})"
    if t.op == "uf":
        return f"(|{t.val}| {' '.join(a)})" if a else f"|{t.val}|"
    return f"({t.op} {a[0]} {a[1]})"


def topological(t):
    order, seen, stack = [], set(), [(t, False)]
    while stack:
        x, done = stack.pop()
        if done:
            order.append(x)
        elif x not in seen:
            seen.add(x)
            stack.append((x, True))
            stack.extend((a, False) for a in x.args)
    return order


def question(t, bound=()):
    """The SMT-LIB text that asserts t, for all values of the bound variables; (text, names of its variables)."""
    bound, names, head, lets, shown = set(bound), {}, [], [], []
    for x in topological(t):
        if x.op == "const":
            names[x] = literal(x.val, x.w)
        elif x.op in ("var", "nondet"):
            names[x] = f"|{x.val}|"
            if x not in bound:
                head.append(f"(declare-const {names[x]} {sort(x.w)})")
                shown.append(names[x])
        else:
            if x.op == "uf":
                line = f"(declare-fun |{x.val}| ({' '.join(sort(a.w) for a in x.args)}) {sort(x.w)})"
                if line not in names:
                    names[line] = line
                    head.append(line)
            names[x] = f"t{x.id}"
            if bound and not x.free.isdisjoint(bound):
                lets.append(f"(let (({names[x]} {text_of(x, names)}))")
            else:
                head.append(f"(define-fun {names[x]} () {sort(x.w)} {text_of(x, names)})")
    if not bound:
        return "\n".join([*head, f"(assert {names[t]})"]), shown
    variables = " ".join(f"(|{x.val}| {sort(x.w)})" for x in sorted(bound, key=lambda x: x.id))
    return "\n".join([*head, f"(assert (forall ({variables})", *lets, names[t] + ")" * len(lets), "))"]), shown


class Solver:
    """One Z3 process after another; a question has a limit, after which the answer is `unknown`."""

    def __init__(self, milliseconds):
        self.milliseconds, self.process = milliseconds, None
        self.questions, self.seconds = 0, 0.0

    def start(self):
        self.process = subprocess.Popen(["z3", "-in", "-smt2", "-memory:3000"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, bufsize=0)
        os.set_blocking(self.process.stdin.fileno(), False)

    def close(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()
            self.process.stdin.close()
            self.process = None

    def read(self, until):
        data = b""
        while True:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                self.close()
                return None
            chunk = self.process.stdout.read(65536)
            if not chunk:
                self.close()
                return None
            data += chunk
            if b"end-of-answer" in data:
                return data.decode().replace("end-of-answer", "").replace('""', "").strip()

    def tell(self, text, seconds):
        data, until = memoryview(text.encode() + b'\n(echo "end-of-answer")\n'), time.monotonic() + seconds
        while data:
            left = until - time.monotonic()
            try:
                if left <= 0 or not select.select([], [self.process.stdin], [], left)[1]:
                    raise BrokenPipeError
                data = data[os.write(self.process.stdin.fileno(), data[:65536]):]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                self.close()
                return None
        return self.read(until)

    def ask(self, text, quantified, variables=()):
        """(sat, unsat or unknown; the values of the variables if sat)."""
        if not self.process:
            self.start()
        begin, self.questions = time.monotonic(), self.questions + 1
        logic = "" if quantified else "(set-logic QF_UFBV)\n"  # the tactic for UFBV decides less than the general one
        answer = self.tell(f"(reset)\n(set-option :timeout {self.milliseconds})\n{logic}{text}\n(check-sat)",
                           self.milliseconds / 1000 + 2)
        self.seconds += time.monotonic() - begin
        if answer is None or answer in ("unknown", "timeout"):
            return "unknown", ""
        if answer not in ("sat", "unsat"):
            raise RuntimeError("z3: " + answer[:500])
        values = ""
        if answer == "sat" and variables:
            values = self.tell(f"(get-value ({' '.join(variables)}))", 5) or ""
        return answer, values


def run_deep(main):
    """Calls main() in a thread whose stack holds the recursion over deep terms; its result, 1 after an exception."""
    sys.setrecursionlimit(200000)
    threading.stack_size(512 << 20)
    status = []
    thread = threading.Thread(target=lambda: status.append(main()))
    thread.start()
    thread.join()
    return status[0] if status else 1
