"""How a loop counts, and what its counter and its accesses are in each of 256 threads: for enumerate_loops.py.

The values are computed here by counting, not by formulas, so that they are right where everything wraps."""

LANES = 256
LIMIT = 300                # iterations of a thread at most; others do not run the loop
MOST_ELEMENTS = 300000     # of all threads together
PREDICATES = ["ne", "ult", "ule", "ugt", "uge", "slt", "sle", "sgt", "sge", "eq"]
STEPS = [1, -1, 2, -2, 3, -3, 16, 127]
FLAGS = ["", "nsw", "nuw", "nuw nsw"]
FORMS = ["do", "guarded", "while"]


def wrap(width, v):
    return v & ((1 << width) - 1)


def signed(width, v):
    return wrap(width, v) - (1 << width if wrap(width, v) >> (width - 1) else 0)


def is_signed_number(width, v):
    return -1 << (width - 1) <= v < 1 << (width - 1)


def compare(width, predicate, a, b):
    if predicate in ("eq", "ne"):
        return (a == b) == (predicate == "eq")
    if predicate[0] == "s":
        a, b = signed(width, a), signed(width, b)
    return {"lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[predicate[1:]]


class Control:
    """Width, predicate on which the loop goes on, step, the step's flags, the value tested (old or new), the form. The rest
    is drawn: what the compiler knows of start and bound, how the step is written, whether the test is one of i32."""

    def __init__(self, width, predicate, step, flags, tested, form, r):
        self.width, self.predicate, self.step, self.flags, self.tested, self.form = width, predicate, step, flags, tested, form
        self.type = f"i{width}"
        self.increment = r.choice(["add", "add", "sub", "ext"])
        if self.increment == "ext" and (width >= 32 or flags):
            self.increment = "add"
        self.wide_test = width < 32 and r.random() < 0.3
        self.finite = r.random() < 0.5
        self.bound_code, self.start_code = [], []
        self.choose_bounds(r)
        self.choose_starts(r)
        if self.bounds is None:
            self.bound_from_start()
        self.ways = [self.walk(lane) for lane in range(LANES)]

    def describe(self):
        return (f"{self.type} {self.form} {self.predicate} step {self.step} {self.flags or 'wraps'} tests {self.tested} "
                f"start {self.start_kind} bound {self.bound_kind} {self.increment}{' wide test' if self.wide_test else ''}")

    # ---- bounds and starts: the value in each thread, and the code that makes it
    def near_edge(self, r):
        edges = [0, 1 << (self.width - 1), (1 << self.width) - 1, 32, 100]
        return wrap(self.width, r.choice(edges) + r.randrange(-40, 41))

    def choose_bounds(self, r):
        w, t = self.width, self.type
        constant = self.near_edge(r) if w > 8 else r.randrange(256)
        self.bound_kind = r.choice(["const", "const", "table", "narrow", "start", "tid"])
        if self.bound_kind == "const":
            self.bounds = [constant] * LANES
        elif self.bound_kind == "table":
            few = [wrap(w, constant + r.randrange(-20, 21)) for _ in range(4)]
            self.bounds = self.bound_table = [r.choice(few) for _ in range(LANES)]
        elif self.bound_kind == "narrow":
            mask, more = r.choice([3, 7, 15, 31, 63]), r.choice([0, 1, 3, 17])
            self.bound_table = [r.randrange(1 << w) for _ in range(LANES)]
            self.bounds = [(v & mask) + more for v in self.bound_table]
            self.bound_code = [f"%bm = and {t} %bt, {mask}", f"%bound = add nuw nsw {t} %bm, {more}"]
        elif self.bound_kind == "tid":
            self.bounds = [wrap(w, constant - lane) for lane in range(LANES)]
            self.bound_code = [f"%bound = sub {t} {signed(w, constant)}, %lane"]
        else:
            self.bounds = None
            self.distance = r.choice([3, 5, 20, 70, -3, -20]) * (1 if self.step > 0 else -1)

    def bound_from_start(self):
        w = self.width
        self.bounds = [wrap(w, s + self.distance) for s in self.starts]
        nuw = self.distance >= 0 and all(s + self.distance < 1 << w for s in self.starts)
        nsw = all(is_signed_number(w, signed(w, s) + self.distance) for s in self.starts)
        self.bound_code = [f"%bound = add{' nuw' * nuw}{' nsw' * nsw} {self.type} {self.start_name()}, {self.distance}"]

    def choose_starts(self, r):
        w, t = self.width, self.type
        base = self.bounds[0] if self.bounds else self.near_edge(r)
        self.start_kind = r.choice(["tid", "tid", "table", "const", "and", "sub"])
        if self.start_kind == "tid":
            more = 0 if w == 8 else wrap(w, base - r.choice([0, 128, 255]))
            self.starts = [wrap(w, lane + more) for lane in range(LANES)]
            self.start_code = [f"%start = add {t} %lane, {signed(w, more)}"]
        elif self.start_kind == "table" and w == 8:
            self.starts = self.start_table = [(lane * 5 + 3) % 256 for lane in range(LANES)]
        elif self.start_kind == "table":
            self.starts = self.start_table = [
                wrap(w, (self.bounds[lane] if self.bounds else base) - self.step * r.randrange(90) + r.choice([0, 0, 1, -1]))
                for lane in range(LANES)]
        elif self.start_kind == "const":
            v = wrap(w, base - self.step * r.randrange(70)) if r.random() < 0.7 else r.choice([0, 0, 1, 5])
            self.starts = [v] * LANES
        elif self.start_kind == "and":
            mask, more = r.choice([3, 7, 31, 127]), r.choice([0, 0, 1, 3])
            self.starts = [(lane & mask) + more for lane in range(LANES)]
            nsw = " nsw" * ((mask + more) >> (w - 1) == 0)
            self.start_code = [f"%sm = and {t} %lane, {mask}", f"%start = add nuw{nsw} {t} %sm, {more}"]
        else:
            top = 255 if w == 8 else 4352
            self.starts = [wrap(w, top - lane) for lane in range(LANES)]
            self.start_code = [f"%start = sub nuw{' nsw' * (w > 8)} {t} {signed(w, top)}, %lane"]

    def start_name(self):
        return str(signed(self.width, self.starts[0])) if self.start_kind == "const" else "%start"

    def bound_name(self):
        return str(signed(self.width, self.bounds[0])) if self.bound_kind == "const" else "%bound"

    # ---- the counter in a thread
    def is_poison(self, i):
        """Whether the step from i breaks a promise of its flags."""
        w, s = self.width, signed(self.width, i)
        if self.increment == "sub":
            by = wrap(w, -self.step)
            return ("nuw" in self.flags and i < by) or ("nsw" in self.flags and not is_signed_number(w, s - signed(w, by)))
        by = wrap(w, self.step)
        return ("nuw" in self.flags and i + by >= 1 << w) or ("nsw" in self.flags and not is_signed_number(w, s + signed(w, by)))

    def goes_on(self, i, bound):
        p = self.predicate
        if self.wide_test and p[0] == "s":  # both sides were zero-extended
            p = "u" + p[1:]
        return compare(self.width, p, i, bound)

    def walk(self, lane):
        """The counter in each iteration; None where the loop must not run: it branches on poison, or is too long."""
        i, bound, values = self.starts[lane], self.bounds[lane], []
        if self.form != "do" and not self.goes_on(i, bound):
            return values
        tests_new = self.form == "while" or self.tested == "new"
        while len(values) < LIMIT:
            values.append(i)
            after, poison = wrap(self.width, i + self.step), self.is_poison(i)
            if tests_new and poison:
                return None
            if not self.goes_on(after if tests_new else i, bound):
                return values
            if poison:
                return None
            i = after
        return None


class Once(Control):
    """No loop: each thread has a number of its own, near where its type ends or anywhere."""

    def __init__(self, width, r):
        self.width, self.type, self.form, self.bound_kind, self.bound_code, self.start_code = width, f"i{width}", "once", "none", [], []
        self.bounds, self.step, self.finite = [0] * LANES, 1, False
        self.choose_starts(r)
        self.ways = [[s] for s in self.starts]

    def describe(self):
        return f"{self.type} straight code, start {self.start_kind}"


def index_value(width, form, i, n):
    """The element that iteration n accesses, the counter being i, by the form of the index."""
    kind, k = form
    return {"zext": lambda: i, "sext": lambda: signed(width, i), "count": lambda: n, "narrow": lambda: wrap(width, i + k),
            "narrow_sext": lambda: signed(width, i + k), "wide": lambda: i + k, "reverse": lambda: wrap(width, k - i),
            "double": lambda: wrap(width, 2 * i), "stride": lambda: 2 * i, "quad": lambda: wrap(width, 4 * i + k),
            "quad_sext": lambda: signed(width, 4 * i + k)}[kind]()


class Layout:
    """Where each thread's part of a buffer begins: a part is as long as the thread accesses, at each index that the
    forms make and up to `more` elements behind, and next to the next thread's. `ok` is false if it became too long."""

    def __init__(self, control, forms, more, aligned):
        self.forms, self.more, self.aligned, self.offsets, self.parts = forms, more, aligned, [], []
        at = 0
        for values in control.ways:
            indices = [index_value(control.width, form, i, n) for n, i in enumerate(values or []) for form in forms]
            low, length = (min(indices), max(indices) + more - min(indices) + 1) if indices else (0, 0)
            if aligned:  # the element of index 0 is the first of 32
                at += (low - at) % 32
            self.offsets.append(at - low)
            self.parts.append((at, length))
            at += length
        self.total = at
        self.ok = at <= MOST_ELEMENTS
