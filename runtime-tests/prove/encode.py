"""Encodes one function of our IR for Z3: for all arguments and initial memories, what it returns, leaves in memory
and calls, and when its behaviour is undefined. Written from LLVM's language reference and the semantics of Alive2
(PLDI 2021), not from the compiler's evaluator.

A value is bits, whether it is poison, and undef variables, renamed at each use. Control flow is unrolled: blocks of
loops are executed at most BOUND times in each run of the loop; what needs more is reported by `bounded`. Equal calls
of unknown functions with equal arguments, memory and history have equal results; the history is a term, `epoch`.
What is not known of floats is an uninterpreted function whose name begins with `f.`.
"""
import heapq

import integers
import memory
import terms as T
from irtext import Unsupported
from memory import EXT, c64

BOUND, COUNTED, NODES, BYTES = 3, 20, 160, 512


class Val:
    __slots__ = ("bits", "poison", "undefs", "tags")

    def __init__(self, bits, poison=T.FALSE, undefs=(), tags=EXT):
        self.bits, self.poison, self.tags = bits, poison, tags
        self.undefs = frozenset(undefs)


# --- types ------------------------------------------------------------------------------------------------

def width(t):
    if t[0] == "p":
        return 64
    if t[0] in ("i", "f"):
        return t[1]
    raise Unsupported("width of " + str(t[0]))


def round_up(n, a):
    return (n + a - 1) // a * a


def power(n):
    p = 1
    while p < n:
        p *= 2
    return p


def align_of(t):
    if t[0] in ("i", "f", "p"):
        return min(power((width(t) + 7) // 8), 16)
    if t[0] == "v":
        return power(max(1, store_size(t)))
    if t[0] == "a":
        return align_of(t[2])
    if t[0] == "s":
        return 1 if t[2] else max([align_of(m) for m in t[1]], default=1)
    raise Unsupported("type " + t[0])


def store_size(t):
    if t[0] in ("i", "f", "p"):
        return (width(t) + 7) // 8
    if t[0] == "v":
        return (t[1] * width(t[2]) + 7) // 8
    return size_of(t)


def size_of(t):
    if t[0] == "a":
        return t[1] * size_of(t[2])
    if t[0] == "s":
        at = 0
        for m in t[1]:
            at = round_up(at, 1 if t[2] else align_of(m)) + size_of(m)
        return round_up(at, align_of(t))
    return round_up(store_size(t), align_of(t))


def member_offset(t, k):
    at = 0
    for j, m in enumerate(t[1]):
        at = round_up(at, 1 if t[2] else align_of(m))
        if j == k:
            return at
        at += size_of(m)
    raise Unsupported("member index")


def children(t):
    """[(offset in bytes, type)] of an aggregate or vector, None of a scalar."""
    if t[0] == "s":
        return [(member_offset(t, k), m) for k, m in enumerate(t[1])]
    if t[0] == "a":
        return [(k * size_of(t[2]), t[2]) for k in range(t[1])]
    if t[0] == "v":
        if width(t[2]) % 8:
            return [(None, t[2])] * t[1]
        return [(k * width(t[2]) // 8, t[2]) for k in range(t[1])]
    return None


def each(f, *values):
    """f on the scalars of values of one shape."""
    if isinstance(values[0], list):
        return [each(f, *parts) for parts in zip(*values)]
    return f(*values)


def flat(v):
    return [x for part in v for x in flat(part)] if isinstance(v, list) else [v]


def scalar_types(t):
    inner = children(t)
    return [s for _, m in inner for s in scalar_types(m)] if inner is not None else [t]


# --- loops ------------------------------------------------------------------------------------------------

class Flow:
    """Blocks, loops and an order in which each block follows those that lead to it."""

    def __init__(self, f):
        self.successors = {b: self.targets(f, code) for b, code in f.blocks.items()}
        self.entry = next(iter(f.blocks))
        self.order = self.postorder()[::-1]
        self.index = {b: k for k, b in enumerate(self.order)}
        self.find_dominators()
        self.find_loops()
        self.keys()

    @staticmethod
    def targets(f, code):
        if not code:
            raise Unsupported("empty block")
        return list(dict.fromkeys(getattr(code[-1], "targets", [])))

    def postorder(self):
        out, seen, stack = [], {self.entry}, [(self.entry, iter(self.successors[self.entry]))]
        while stack:
            b, rest = stack[-1]
            for s in rest:
                if s not in seen:
                    seen.add(s)
                    stack.append((s, iter(self.successors[s])))
                    break
            else:
                out.append(b)
                stack.pop()
        return out

    def find_dominators(self):
        before = {b: [] for b in self.order}
        for b in self.order:
            for s in self.successors[b]:
                before[s].append(b)
        self.before = before
        dom = {b: set(self.order) for b in self.order}
        dom[self.entry] = {self.entry}
        changed = True
        while changed:
            changed = False
            for b in self.order[1:]:
                new = set.intersection(*(dom[p] for p in before[b])) | {b}
                if new != dom[b]:
                    dom[b], changed = new, True
        self.dom = dom

    def find_loops(self):
        self.loops = {}
        for b in self.order:
            for s in self.successors[b]:
                if s in self.dom[b]:
                    body, stack = self.loops.setdefault(s, {s}), [b]
                    while stack:
                        x = stack.pop()
                        if x not in body:
                            body.add(x)
                            stack += self.before[x]
                elif self.index[s] <= self.index[b]:
                    raise Unsupported("irreducible loop")

    def keys(self):
        """Per block its loops, outermost first, and its place among their parts."""
        self.chain = {b: sorted((h for h in self.loops if b in self.loops[h]), key=lambda h: -len(self.loops[h])) for b in self.order}
        self.place = {}
        for region in [None, *self.loops]:
            inside = [b for b in self.order if region is None or b in self.loops[region]]
            depth = 0 if region is None else self.chain[region].index(region) + 1

            def part(b, depth=depth):
                return self.chain[b][depth] if len(self.chain[b]) > depth else b
            graph = {}
            for b in inside:
                graph.setdefault(part(b), [])
                for s in self.successors[b]:
                    if s in inside and s != region and part(s) != part(b):
                        graph[part(b)].append(part(s))
            self.number(region, graph, part(inside[0]))

    def number(self, region, graph, first):
        out, seen, stack = [], {first}, [(first, iter(graph[first]))]
        while stack:
            b, rest = stack[-1]
            for s in rest:
                if s not in seen:
                    seen.add(s)
                    stack.append((s, iter(graph[s])))
                    break
            else:
                out.append(b)
                stack.pop()
        for k, b in enumerate(reversed(out)):
            self.place[region, b] = k

    def key(self, b, counts):
        out, region = [], None
        for h in self.chain[b]:
            out += [self.place[region, h], counts[h]]
            region = h
        return (*out, self.place[region, b])


def live_in(f, flow):
    """Names that each block, or one after it, uses and does not define; those of phis belong to the edges."""
    uses, defined = {}, {}
    for b in flow.order:
        u, d = set(), set()
        for i in f.blocks[b]:
            if i.op != "phi":
                u |= {n for n in names_used(i) if n not in d}
            d.add(i.name)
        uses[b], defined[b] = u, d
    live = {b: set() for b in flow.order}
    changed = True
    while changed:
        changed = False
        for b in reversed(flow.order):
            out = set()
            for s in flow.successors[b]:
                out |= live[s]
                out |= {v[1] for i in f.blocks[s] if i.op == "phi" for v, p in i.incoming if p == b for v in locals_of(v)}
            new = uses[b] | (out - defined[b])
            if new != live[b]:
                live[b], changed = new, True
    return live


def locals_of(v):
    if v[0] == "local":
        yield v
    elif v[0] == "list":
        for _, x in v[1]:
            yield from locals_of(x)


def names_used(i):
    values = [a[1] for a in i.args] + ([i.callee] if i.op == "call" else [])
    return {x[1] for v in values for x in locals_of(v)}


# --- path conditions ----------------------------------------------------------------------------------------

def conjuncts(c):
    return set(c.args) if c.op == "and" else set() if c is T.TRUE else {c}


def either(conditions):
    """The disjunction; (p and c) or (p and not c) is p."""
    sets = [frozenset(conjuncts(c)) for c in conditions if c is not T.FALSE]
    changed = True
    while changed and 1 < len(sets) <= 40:
        changed = False
        for i in range(len(sets)):
            for j in range(i + 1, len(sets)):
                a, b = sets[i] - sets[j], sets[j] - sets[i]
                if not a or not b:
                    one = sets[i] & sets[j]
                elif len(a) == 1 and len(b) == 1 and next(iter(a)) is T.not_(next(iter(b))):
                    one = sets[i] & sets[j]
                else:
                    continue
                sets = [s for k, s in enumerate(sets) if k not in (i, j)] + [one]
                changed = True
                break
            if changed:
                break
    return T.or_(*(T.and_(*s) for s in sets))


def apart(conditions):
    """The conditions of edges without what they have in common."""
    sets = [conjuncts(c) for c in conditions]
    common = set.intersection(*sets)
    return [T.and_(*sorted(s - common, key=lambda t: t.id)) for s in sets]


class State:
    def __init__(self, path, env, mem, epoch, escapes):
        self.path, self.env, self.mem, self.epoch, self.escapes = path, env, mem, epoch, escapes


class Final:
    """What a function may end with, where its condition holds."""

    def __init__(self, condition, returns, value, mem, epoch, escapes):
        self.condition, self.returns, self.value, self.mem, self.epoch = condition, returns, value, mem, epoch
        self.escapes = escapes


def merge_values(conditions, values):
    if all(v is values[0] for v in values):
        return values[0]
    if isinstance(values[0], list):
        return [merge_values(conditions, parts) for parts in zip(*values)]
    bits, poison = values[-1].bits, values[-1].poison
    for c, v in zip(reversed(conditions[:-1]), reversed(values[:-1])):
        bits, poison = T.ite(c, v.bits, bits), T.ite(c, v.poison, poison)
    return Val(bits, poison, frozenset().union(*(v.undefs for v in values)), frozenset().union(*(v.tags for v in values)))


class Run:
    """One function, executed on symbols. `side` names what is chosen in it."""

    def __init__(self, world, side, module, bodies, bound=BOUND):
        self.world, self.side, self.module, self.bodies, self.bound = world, side, module, bodies, bound
        self.chosen, self.undefined, self.bounded, self.names = [], [], [], {}
        self.view = memory.View(world, self.undef_byte, world.initial)
        self.uninterpreted, self.nodes, self.depth, self.fresh_undefs = set(), 0, 0, set()
        self.alloca_blocks, self.active, self.seen, self.picks = [], [], 0, {}

    # --- choices
    def choose(self, what, w, undef=False):
        k = self.names[what, w] = self.names.get((what, w), -1) + 1
        t = T.nondet(f"{self.side}.{what}.{w}.{k}", w)
        self.chosen.append(t)
        if undef:
            self.fresh_undefs.add(t)
        return t

    def undef_byte(self):
        return self.choose("undef", 8, True)

    def undef(self, w):
        t = self.choose("undef", w, True)
        return Val(t, T.FALSE, (t,))

    def read(self, bits, poison, tags=EXT):
        """A value whose undef variables are those in its bits."""
        free = (bits.free | poison.free) & self.fresh_undefs
        return Val(bits, poison, free, tags)

    def use(self, v):
        """One use: its undef variables are chosen anew."""
        if isinstance(v, list):
            return [self.use(x) for x in v]
        undefs = v.undefs & (v.bits.free | v.poison.free)
        if not undefs:
            return v
        by = {u: self.choose("undef", u.w, True) for u in sorted(undefs, key=lambda u: u.id)}
        return Val(T.substitute(v.bits, by), T.substitute(v.poison, by), by.values(), v.tags)

    def node(self, word):
        return self.module.nodes.get(word, word)

    def ub(self, state, condition):
        c = T.and_(state.path, condition)
        if c is not T.FALSE:
            self.undefined.append(c)

    def must_be_defined(self, state, v):
        """Poison or undef here is undefined behaviour; returns a value that is fixed."""
        for x in flat(v):
            self.ub(state, x.poison)
            undefs = x.undefs & x.bits.free
            if undefs:
                self.ub(state, T.ne(x.bits, self.use(x).bits))

    # --- operands
    def constant(self, t, v):
        kind = v[0]
        if kind == "expression":
            return self.expression(v[1])
        if kind == "global":
            return self.address_of(v[1])
        if kind == "list":
            return [self.constant(u, x) for u, x in v[1]]
        inner = children(t)
        if kind == "bytes":
            data = string_bytes(v[1])
            return [Val(T.const(b, 8)) for b in data]
        if inner is not None:
            return [self.constant(m, v) for _, m in inner]
        w = width(t)
        if kind == "int":
            return Val(T.const(v[1], w))
        if kind in ("zeroinitializer", "null", "false", "none"):
            return Val(T.const(0, w), tags=EXT)
        if kind == "true":
            return Val(T.const(1, 1))
        if kind == "poison":
            return Val(T.const(0, w), T.TRUE)
        if kind == "undef":
            return self.undef(w)
        raise Unsupported("constant " + kind)

    def address_of(self, name):
        if "g:" + name in self.world.blocks:
            return Val(self.world.blocks["g:" + name].low, tags=frozenset(("g:" + name,)))
        if name in self.module.functions:
            return Val(T.uf("address of " + name, 64, []))
        raise Unsupported("global without a place")

    def expression(self, i):
        state = State(T.FALSE, {}, None, None, {})
        if i.op == "getelementptr":
            return self.gep(state, i)
        if i.op in ("inttoptr", "ptrtoint", "bitcast", "addrspacecast"):
            return self.cast(state, i)
        raise Unsupported("constant " + i.op)

    def operand(self, state, t, v):
        if v[0] == "local":
            if v[1] not in state.env:
                raise Unsupported("value that does not dominate")
            return self.use(state.env[v[1]])
        if v[0] == "list":
            return [self.operand(state, u, x) for u, x in v[1]]
        return self.constant(t, v)

    def operands(self, state, i):
        return [self.operand(state, a[0], a[1]) for a in i.args]

    # --- a function
    def function(self, f, args, state):
        """[Final]; the state's memory and history are what the caller has."""
        self.depth += 1
        if self.depth > 4:
            raise Unsupported("nested calls")
        flow = Flow(f)
        live = live_in(f, flow)
        env = {name: v for (_, name, _), v in zip(f.args, args)}
        finals, waiting, heap = [], {}, []
        self.post(flow, waiting, heap, flow.entry, {}, None, State(state.path, env, state.mem, state.epoch, state.escapes))
        while heap:
            _, b, key = heapq.heappop(heap)
            counts, edges = waiting.pop(key)
            self.nodes += 1
            T.check_limits()
            if self.nodes > NODES:
                raise Unsupported("too many blocks when unrolled")
            here = self.enter(f, b, live[b], edges)
            for target, condition, known in self.block(f, here, b, finals):
                path = T.and_(here.path, condition)
                if path is T.FALSE:
                    continue
                new = {h: n for h, n in counts.items() if h in flow.chain[target]}
                if target in flow.loops:
                    new[target] = new[target] + 1 if target in new and b in flow.loops[target] else 0
                    if new[target] > (COUNTED if known else self.bound):
                        self.bounded.append(path)
                        continue
                self.post(flow, waiting, heap, target, new, b, State(path, here.env, here.mem, here.epoch, here.escapes))
        self.depth -= 1
        return finals

    @staticmethod
    def post(flow, waiting, heap, b, counts, source, state):
        key = (b, tuple(sorted(counts.items())))
        if key not in waiting:
            waiting[key] = counts, []
            heapq.heappush(heap, (flow.key(b, counts), b, key))
        waiting[key][1].append((source, state))

    def enter(self, f, b, live, edges):
        states = [s for _, s in edges]
        conditions = apart([s.path for s in states])
        env = {}
        for name in live:
            if all(name in s.env for s in states):
                env[name] = merge_values(conditions, [s.env[name] for s in states])
        escapes = {}
        for tag in {t for s in states for t in s.escapes}:
            bits = states[-1].escapes.get(tag, T.FALSE)
            for c, s in zip(reversed(conditions[:-1]), reversed(states[:-1])):
                bits = T.ite(c, s.escapes.get(tag, T.FALSE), bits)
            escapes[tag] = bits
        epoch = states[-1].epoch
        for c, s in zip(reversed(conditions[:-1]), reversed(states[:-1])):
            epoch = T.ite(c, s.epoch, epoch)
        mem = memory.merge(conditions, [s.mem for s in states])
        for i in f.blocks[b]:
            if i.op != "phi":
                break
            values = []
            for source, s in edges:
                v = next((v for v, p in i.incoming if p == source), None)
                if v is None:
                    raise Unsupported("phi without its edge")
                values.append(s.env[v[1]] if v[0] == "local" else self.operand(s, i.type, v))
            v = merge_values(conditions, values)
            env[i.name] = self.float_flags(i, v, []) if i.flags else v
        return State(either([s.path for s in states]), env, mem, epoch, escapes)

    def block(self, f, state, b, finals):
        """Executes it; yields (successor, condition, whether that is known) ."""
        import instructions  # which knows this class
        for i in f.blocks[b]:
            if i.op == "phi":
                continue
            if i.op in ("ret", "unreachable", "br", "switch"):
                return list(self.terminator(f, state, i, finals))
            v = instructions.execute(self, state, i, finals)
            if i.name:
                state.env[i.name] = v
            if state.path is T.FALSE:
                return []
        raise Unsupported("block without terminator")

    def terminator(self, f, state, i, finals):
        if i.op == "ret":
            v = self.operand(state, *i.args[0]) if i.args else []
            if "noundef" in f.result_attributes:
                self.must_be_defined(state, v)
            v = self.attribute_facts(f.result_attributes, v) if i.args and not isinstance(v, list) else v
            finals.append(Final(state.path, True, v, state.mem, state.epoch, state.escapes))
        elif i.op == "unreachable":
            self.ub(state, T.TRUE)
        elif not i.args:
            yield i.targets[0], T.TRUE, True
        else:
            v = self.operand(state, *i.args[0])
            self.must_be_defined(state, v)
            if i.op == "br":
                c = T.bit_bool(v.bits)
                for target in dict.fromkeys(i.targets):
                    c_here = T.or_(*(x for t, x in zip(i.targets, (c, T.not_(c))) if t == target))
                    yield target, c_here, T.is_const(c)
                return
            cases = [T.eq(v.bits, T.const(int(c[1]) if c[0] == "int" else c[0] == "true", v.bits.w)) for c in i.cases]
            conditions = {}
            for target, c in zip(i.targets[1:], cases):
                conditions.setdefault(target, []).append(c)
            conditions.setdefault(i.targets[0], []).append(T.and_(*(T.not_(c) for c in cases)))
            for target, parts in conditions.items():
                yield target, T.or_(*parts), T.is_const(v.bits)

    def attribute_facts(self, facts, v):
        """Attributes of a result or argument that make other values poison."""
        p = [v.poison]
        if "nonnull" in facts:
            p.append(T.eq(v.bits, c64(0)))
        if "align" in facts and facts["align"]:
            p.append(T.ne(T.band(v.bits, c64(int(facts["align"][0]) - 1)), c64(0)))
        if "range" in facts:
            numbers = [int(x) for x in facts["range"] if x.lstrip("-").isdigit()]
            p.append(T.not_(within(v.bits, numbers)))
        return Val(v.bits, T.or_(*p), v.undefs, v.tags)

    def float_flags(self, i, v, operands):
        """nnan and ninf: poison where an operand or the result is one."""
        if not i.flags & {"nnan", "ninf", "fast"} or isinstance(v, list):
            return v
        t = i.type if i.op != "fcmp" else i.args[0][0]
        if t[0] != "f":
            return v
        p = [v.poison]
        for x in (operands if i.op == "fcmp" else [*operands, v]):
            if i.flags & {"nnan", "fast"}:
                p.append(integers.is_nan(x.bits, t[2]))
            if i.flags & {"ninf", "fast"}:
                p.append(integers.is_infinite(x.bits, t[2]))
        return Val(v.bits, T.or_(*p), v.undefs, v.tags)

    def gep(self, state, i):
        args = self.operands(state, i)
        base, t = args[0], i.source
        if isinstance(base, list):
            raise Unsupported("getelementptr of vectors")
        offset, poison, undefs = c64(0), [base.poison], set(base.undefs)
        signed, unsigned = i.flags & {"inbounds", "nusw"}, "nuw" in i.flags
        for k, (v, (vt, raw)) in enumerate(zip(args[1:], i.args[1:])):
            if k and t[0] == "s":
                offset = T.add(offset, c64(member_offset(t, raw[1])))
                t = t[1][raw[1]]
                continue
            if k:
                t = t[2]
            size = size_of(t)
            index = T.sext(v.bits, 64) if v.bits.w < 64 else T.extract(v.bits, 63, 0)
            poison.append(v.poison)
            undefs |= v.undefs
            part = T.mul(index, c64(size))
            small = index.op == "sext" and index.args[0].w + size.bit_length() <= 64
            if signed and not small:
                poison.append(T.overflow("smul", index, c64(size)))
            if unsigned:
                poison.append(T.overflow("umul", index, c64(size)))
                poison.append(integers.add_overflow(offset, part, False))
            if signed and not (small and offset.op == "const" and offset.val < 1 << 60):
                poison.append(integers.add_overflow(offset, part, True))
            offset = T.add(offset, part)
        result = T.add(base.bits, offset)
        if unsigned:
            poison.append(T.ult(result, base.bits))
        if "nusw" in i.flags:
            poison.append(T.ite(T.slt(offset, c64(0)), T.ult(base.bits, result), T.ult(result, base.bits)))
        if "inbounds" in i.flags and offset is not c64(0):
            inside = self.world.same_object(base.bits, result, base.tags)
            poison.append(T.not_(T.or_(T.eq(offset, c64(0)), inside)))
        return Val(result, T.or_(*poison), undefs, base.tags)

    def cast(self, state, i):
        v = self.operand(state, *i.args[0])
        if i.op in ("ptrtoint", "inttoptr"):
            source = i.args[0][0]
            space = source[1] if source[0] == "p" else i.type[1] if i.type[0] == "p" else 0
            if isinstance(v, list):
                raise Unsupported(f"{i.op} of vectors")
            # The number of a pointer into a small space is its offset there; null is 0 in all.
            base, zero = c64(memory.REGIONS.get(space, 0)), c64(0)
            if i.op == "ptrtoint":
                self.escape(state, v.tags)
                w = width(i.type)
                bits = T.ite(T.eq(v.bits, zero), zero, T.sub(v.bits, base)) if space > 1 else v.bits
                return Val(T.zext(bits, w) if w > 64 else T.extract(bits, w - 1, 0), v.poison, v.undefs)
            bits = T.zext(v.bits, 64) if v.bits.w < 64 else T.extract(v.bits, 63, 0)
            bits = T.ite(T.eq(bits, zero), zero, T.add(bits, base)) if space > 1 else bits
            return Val(bits, v.poison, v.undefs, self.world.loaded_tags())
        if i.op == "addrspacecast":
            return v
        return self.bitcast(i.args[0][0], i.type, v)

    def bitcast(self, source, to, v):
        if source == to or source[0] == "p":
            return v
        parts = flat(v)
        bits = T.concat(*(x.bits for x in reversed(parts)))
        undefs = frozenset().union(*(x.undefs for x in parts))
        if not isinstance(v, list) and to[0] != "v":
            return Val(bits, v.poison, v.undefs)
        out, w, own = [], width(to[2]) if to[0] == "v" else width(to), parts[0].bits.w
        for k in range(to[1] if to[0] == "v" else 1):
            p = [x.poison for j, x in enumerate(parts) if j * own < (k + 1) * w and (j + 1) * own > k * w]
            out.append(Val(T.extract(bits, (k + 1) * w - 1, k * w), T.or_(*p), undefs))
        return out if to[0] == "v" else out[0]

    def escape(self, state, tags):
        for t in tags:
            if t[:2] in ("a:", "n:"):
                self.world.escaped.add(t)
                state.escapes = {**state.escapes, t: T.TRUE}


def within(bits, numbers):
    """Whether a number is in one of the half-open ranges, which may wrap around."""
    parts = []
    for low, high in zip(numbers[::2], numbers[1::2]):
        a, b = T.const(low, bits.w), T.const(high, bits.w)
        parts.append(T.ult(T.sub(bits, a), T.sub(b, a)) if a is not b else T.TRUE)
    return T.or_(*parts)


def string_bytes(word):
    out, at, text = [], 2, word
    while at < len(text) - 1:
        if text[at] == "\\":
            out.append(ord("\\") if text[at + 1] == "\\" else int(text[at + 1:at + 3], 16))
            at += 2 if text[at + 1] == "\\" else 3
        else:
            out += text[at].encode()
            at += 1
    return out
