"""What each instruction does to the state of an encoded function (encode.py)."""
import re

import integers
import memory
import terms as T
from encode import Final, State, Val, align_of, children, each, flat, merge_values, power, scalar_types, size_of, store_size, width, within
from irtext import Unsupported
from memory import EXT, c64


def union(*values):
    return frozenset().union(*(v.undefs for v in values))


def execute(run, state, i, finals):
    if i.op in integers.ARITHMETIC or i.op in integers.DIVISIONS or i.op in integers.SHIFTS:
        a, b = run.operands(state, i)
        return each(lambda x, y: integer(run, state, i, x, y), a, b)
    handler = HANDLERS.get(i.op)
    if handler is None:
        raise Unsupported(i.op)
    return handler(run, state, i, finals)


def integer(run, state, i, x, y):
    r, poison, undefined = integers.binary(i.op, i.flags, x.bits, y.bits)
    if i.op in integers.DIVISIONS:
        # A poison divisor may be zero; a poison dividend may be the number that has no quotient by -1.
        run.ub(state, T.or_(y.poison, undefined))
        if i.op[0] == "s":
            run.ub(state, T.and_(x.poison, T.eq(y.bits, T.const(-1, y.bits.w))))
    return Val(r, T.or_(x.poison, y.poison, poison), union(x, y))


def scalar_of(t):
    return t[2] if t[0] == "v" else t


def floats(run, state, i, finals):
    """Constants that give a number are computed; the rest is unknown, but equal for equal operands."""
    args = run.operands(state, i)
    t = scalar_of(i.type)

    def one(*xs):
        if i.op == "fneg":
            w = xs[0].bits.w
            return run.float_flags(i, Val(T.bxor(xs[0].bits, T.const(1 << (w - 1), w)), xs[0].poison, xs[0].undefs), xs)
        name = f"f.{i.op}.{t[2] if t[0] == 'f' else t[1]}.{scalar_of(i.args[0][0])[-1]}"
        return run.float_flags(i, unknown(run, name, t, xs), xs)
    return each(one, *args)


def unknown(run, name, t, xs):
    run.uninterpreted.add(name)
    return Val(T.uf(name, width(t), [x.bits for x in xs]), T.or_(*(x.poison for x in xs)), union(*xs))


def from_float(run, state, i, finals):
    args = run.operands(state, i)
    t = scalar_of(i.type)

    def one(x):
        v = unknown(run, f"f.{i.op}.{t[1]}.{scalar_of(i.args[0][0])[2]}", t, [x])
        p = T.uf(f"f.{i.op}.poison.{t[1]}.{scalar_of(i.args[0][0])[2]}", 0, [x.bits])
        return Val(v.bits, T.or_(v.poison, p), v.undefs)
    return each(one, *args)


def icmp(run, state, i, finals):
    a, b = run.operands(state, i)

    def one(x, y):
        poison = [x.poison, y.poison]
        if "samesign" in i.flags:
            poison.append(T.ne(integers.msb(x.bits), integers.msb(y.bits)))
        return Val(T.bool_bit(integers.icmp(i.predicate, x.bits, y.bits)), T.or_(*poison), union(x, y))
    return each(one, a, b)


def fcmp(run, state, i, finals):
    a, b = run.operands(state, i)
    kind = scalar_of(i.args[0][0])[2]

    def one(x, y):
        r = integers.fcmp(i.predicate, x.bits, y.bits, kind)
        v = Val(T.bool_bit(r), T.or_(x.poison, y.poison), union(x, y))
        if i.flags & {"nnan", "ninf", "fast"}:
            p = [v.poison]
            for z in (x, y):
                if i.flags & {"nnan", "fast"}:
                    p.append(integers.is_nan(z.bits, kind))
                if i.flags & {"ninf", "fast"}:
                    p.append(integers.is_infinite(z.bits, kind))
            v.poison = T.or_(*p)
        return v
    return each(one, a, b)


def convert(run, state, i, finals):
    v, = run.operands(state, i)
    w = width(scalar_of(i.type))

    def one(x):
        poison = [x.poison]
        if i.op == "trunc":
            r = T.extract(x.bits, w - 1, 0)
            if "nuw" in i.flags:
                poison.append(T.ne(T.zext(r, x.bits.w), x.bits))
            if "nsw" in i.flags:
                poison.append(T.ne(T.sext(r, x.bits.w), x.bits))
        else:
            r = (T.zext if i.op == "zext" else T.sext)(x.bits, w)
            if "nneg" in i.flags:
                poison.append(integers.msb(x.bits))
        return Val(r, T.or_(*poison), x.undefs)
    return each(one, v)


def select(run, state, i, finals):
    c, a, b = run.operands(state, i)

    def one(z, x, y):
        if isinstance(x, list):
            return [one(z, p, q) for p, q in zip(x, y)]
        cond = T.bit_bool(z.bits)
        poison = T.or_(z.poison, T.ite(cond, x.poison, y.poison))
        v = Val(T.ite(cond, x.bits, y.bits), poison, union(z, x, y), x.tags | y.tags)
        return run.float_flags(i, v, []) if i.type[0] == "f" else v
    if isinstance(c, list):
        return [one(*parts) for parts in zip(c, a, b)]
    return one(c, a, b)


def freeze(run, state, i, finals):
    v, = run.operands(state, i)

    def one(x):
        # What was undef is one number from here on: no use changes it.
        by = {u: run.choose(f"freeze {i.name}", u.w) for u in sorted(x.undefs & x.bits.free, key=lambda u: u.id)}
        bits = T.substitute(x.bits, by) if by else x.bits
        x = Val(bits, T.substitute(x.poison, by) if by else x.poison, (), x.tags)
        if x.poison is not T.FALSE:
            bits = T.ite(x.poison, run.choose(f"freeze {i.name}", bits.w), bits)
        return Val(bits, T.FALSE, (), x.tags)
    return each(one, v)


def extractelement(run, state, i, finals):
    v, k = run.operands(state, i)
    n = len(v)
    if T.is_const(k.bits):
        if k.bits.val >= n:
            return Val(T.const(0, v[0].bits.w), T.TRUE)
        x = v[k.bits.val]
        return Val(x.bits, T.or_(x.poison, k.poison), x.undefs, x.tags)
    conditions = [T.eq(k.bits, T.const(j, k.bits.w)) for j in range(n)]
    x = merge_values(conditions, v)
    outside = T.and_(*(T.not_(c) for c in conditions))
    return Val(x.bits, T.or_(x.poison, k.poison, outside), x.undefs | k.undefs, x.tags)


def insertelement(run, state, i, finals):
    v, x, k = run.operands(state, i)
    out = []
    outside = T.and_(*(T.ne(k.bits, T.const(j, k.bits.w)) for j in range(len(v)) if j < 1 << k.bits.w))
    for j, old in enumerate(v):
        here = T.eq(k.bits, T.const(j, k.bits.w)) if j < 1 << k.bits.w else T.FALSE
        poison = T.or_(k.poison, outside, T.ite(here, x.poison, old.poison))
        out.append(Val(T.ite(here, x.bits, old.bits), poison, union(x, old, k), x.tags | old.tags))
    return out


def shufflevector(run, state, i, finals):
    a, b, _ = run.operands(state, i)
    mask = i.args[2][1]
    n = i.args[2][0][1]
    words = [("int", 0)] * n if mask[0] == "zeroinitializer" else [("poison",)] * n if mask[0] in ("poison", "undef") else \
        [x for _, x in mask[1]]
    both, out = [*a, *b], []
    for x in words:
        out.append(both[x[1]] if x[0] == "int" else Val(T.const(0, a[0].bits.w), T.TRUE))
    return out


def extractvalue(run, state, i, finals):
    v = run.operand(state, *i.args[0])
    for _, (_, k) in i.args[1:]:
        v = v[k]
    return v


def insertvalue(run, state, i, finals):
    v, x = run.operand(state, *i.args[0]), run.operand(state, *i.args[1])

    def put(whole, path):
        if not path:
            return x
        return [put(part, path[1:]) if k == path[0] else part for k, part in enumerate(whole)]
    return put(v, [k for _, (_, k) in i.args[2:]])


# --- memory ---------------------------------------------------------------------------------------------

def alloca(run, state, i, finals):
    if run.depth > 1 or len(run.alloca_blocks) != len(set(run.alloca_blocks)):
        raise Unsupported("alloca in a called function")
    if i.name in run.alloca_blocks:
        raise Unsupported("alloca in a loop")
    size = size_of(i.allocated)
    if size > 1 << 16:
        raise Unsupported("large alloca")
    known = run.world.places
    place = known.setdefault(i.name, len(known) + 1)
    b = memory.Block("a:" + i.name, c64(memory.LOCAL + (place << 32) + (i.align or align_of(i.allocated))), c64(size))
    run.world.blocks[b.tag] = b
    run.alloca_blocks.append(i.name)
    return Val(b.low, tags=frozenset((b.tag,)))


def check_access(run, state, p, size, align, space, write):
    run.ub(state, p.poison)
    if align > 1:
        run.ub(state, T.ne(T.band(p.bits, c64(align - 1)), c64(0)))
    run.ub(state, T.not_(run.world.accessible(p.bits, size, p.tags, write)))
    if space in (3, 4, 5, 101) and p.tags == EXT:
        run.ub(state, T.ne(T.extract(p.bits, 63, 56), T.const(memory.REGIONS[space] >> 56, 8)))


def pieces(t):
    """[(offset, scalar type)]; lanes of a vector have their own bytes."""
    inner = children(t)
    if inner is None:
        return [(0, t)]
    out = []
    for at, m in inner:
        if at is None:
            raise Unsupported("vector of odd integers in memory")
        out += [(at + k, s) for k, s in pieces(m)]
    return out


def rebuild(t, scalars):
    inner = children(t)
    return next(scalars) if inner is None else [rebuild(m, scalars) for _, m in inner]


def read_scalar(run, mem, p, at, t, exact):
    n = store_size(t)
    first = T.add(p.bits, c64(at))
    bits, poison = [], []
    for k in range(n):
        b, q = run.view.byte(mem, T.add(first, c64(k)), p.tags, (first, n, k) if exact else None)
        bits.append(b)
        poison.append(q)
    whole = T.concat(*reversed(bits))
    w = width(t)
    return run.read(T.extract(whole, w - 1, 0), T.or_(*poison), run.world.loaded_tags() if t[0] == "p" else EXT)


def is_exact(n, align, at):
    return n == power(n) and align % n == 0 and at % n == 0


def load(run, state, i, finals):
    p = run.operand(state, *i.args[0])
    t, align = i.type, i.align or align_of(i.type)
    if "volatile" in i.flags:
        return event(run, state, finals, "volatile load " + str(t), [p], t, returns=True, sees=False)
    if i.args[0][0][0] == "v":
        raise Unsupported("load of vectors of pointers")
    check_access(run, state, p, store_size(t), align, i.args[0][0][1], False)
    scalars = [read_scalar(run, state.mem, p, at, s, is_exact(store_size(s), align, at)) for at, s in pieces(t)]
    v = rebuild(t, iter(scalars))
    if "range" in i.facts:
        numbers = [int(x) for x in re.findall(r"i\d+ (-?\d+)", run.node(i.facts["range"]))]
        v = each(lambda x: Val(x.bits, T.or_(x.poison, T.not_(within(x.bits, numbers))), x.undefs, x.tags), v)
    if "nonnull" in i.facts:
        v.poison = T.or_(v.poison, T.eq(v.bits, c64(0)))
    if "noundef" in i.facts:
        run.must_be_defined(state, v)
    return v


def write_scalar(run, state, p, at, t, x, exact):
    n, data = store_size(t), []
    bits = T.zext(x.bits, n * 8)
    for k in range(n):
        data.append((T.extract(bits, 8 * k + 7, 8 * k), x.poison))
    state.mem = memory.store(state.mem, T.add(p.bits, c64(at)), data, p.tags, exact)


def store(run, state, i, finals):
    v, p = run.operands(state, i)
    t, align = i.args[0][0], i.align or align_of(i.args[0][0])
    if "volatile" in i.flags:
        event(run, state, finals, "volatile store " + str(t), [*flat(v), p], ("void",), returns=True, sees=False)
    check_access(run, state, p, store_size(t), align, i.args[1][0][1], True)
    for (at, s), x in zip(pieces(t), flat(v)):
        if s[0] == "p":
            run.escape(state, x.tags)
        if run.side == "s" and x.bits.op == "nondet" and x.bits in x.undefs:
            x = Val(x.bits, T.TRUE)  # as LLVM removes such a store, which may leave poison in its place
        write_scalar(run, state, p, at, s, x, is_exact(store_size(s), align, at))
    return None


# --- calls -----------------------------------------------------------------------------------------------

def masked(run, x):
    """What a call sees of an argument: its bits and whether it is poison. The source may pick anything for poison;
    what the target has in the same place is the first to try (refine.instances)."""
    run.seen += 1
    n, w = run.seen, x.bits.w
    if run.side == "t":
        out = [T.ite(x.poison, T.const(0, w), x.bits), T.bool_bit(x.poison)]
        run.picks[f".seen {n}.{w}.0"], run.picks[f".poison seen {n}.1.0"] = out
        return out
    if x.poison is T.FALSE:
        return [x.bits, T.const(0, 1)]
    return [T.ite(x.poison, run.choose(f"seen {n}", w), x.bits), T.ite(x.poison, run.choose(f"poison seen {n}", 1), T.const(0, 1))]


def results(run, name, t, seen, noundef=False):
    out = []
    for k, s in enumerate(scalar_types(t) if t != ("void",) else []):
        tags = run.world.loaded_tags() if s[0] == "p" else EXT
        poison = T.FALSE if noundef else T.uf(f"poison of {name}.{k}", 0, seen)
        out.append(Val(T.uf(f"result of {name}.{k}", width(s), seen), poison, (), tags))
    return rebuild(t, iter(out)) if out else []


def event(run, state, finals, name, args, t, returns, clobbers=None, noundef=False, sees=True):
    """A call that is visible: it has a place in the history. clobbers: tags whose memory it may write; sees: it reads
    memory, of which one byte at an address that Z3 chooses is part of the history."""
    seen = [b for x in args for b in masked(run, x)]
    if sees:
        tags = EXT | {t for t, c in state.escapes.items() if c is T.TRUE} | (clobbers or frozenset())
        a, p = run.view.byte(state.mem, T.var("a*", 64), tags, None)
        seen += masked(run, Val(a, p))
    seen = [state.epoch, *seen]
    name = name + "/" + ".".join(str(x.w) for x in seen)
    epoch = T.uf("history after " + name, 32, seen)
    value = results(run, name, t, [epoch], noundef)
    if not returns:
        back = T.uf("returns", 0, [epoch])
        finals.append(Final(T.and_(state.path, T.not_(back)), False, [], state.mem, epoch, state.escapes))
        state.path = T.and_(state.path, back)
    if clobbers is not None:
        gone = {t: T.TRUE for t in clobbers}
        if "ext" in clobbers:
            gone.update({t: c for t, c in state.escapes.items() if t not in gone})
        state.mem = memory.call(state.mem, epoch, gone)
    state.epoch = epoch
    return value


def effects(words):
    """(reads, writes, only what arguments point to) of attributes; memory(...) or the older words."""
    if "memory" in words:
        parts = " ".join(words["memory"]).replace(" ,", ",")
        accesses = {}
        for part in re.split(r",", parts):
            m = re.match(r"\s*(?:(\w+)\s*:\s*)?(\w+)", part)
            if m:
                accesses[m[1] or "default"] = m[2]
        rest = accesses.pop("default", "none" if accesses else "readwrite")
        inner = accesses.pop("inaccessiblemem", rest)
        arg = accesses.pop("argmem", rest)
        whole = {rest, arg, inner}
        reads, writes = any("read" in x for x in whole), any("write" in x for x in whole)
        return reads, writes, rest == "none", inner != "none" and arg == rest == "none"
    if "readnone" in words:
        return False, False, True, False
    only = "argmemonly" in words
    if "inaccessiblememonly" in words:
        return True, True, True, True
    return "writeonly" not in words, "readonly" not in words, only, False


def call(run, state, i, finals):
    if i.callee[0] == "asm":
        return assembly(run, state, i, finals)
    if i.callee[0] != "global":
        raise Unsupported("indirect call")
    name = i.callee[1]
    if name.startswith("@__nvvm_reflect") or name == "@__nv_reflect":
        raise Unsupported("call of __nvvm_reflect")
    args = run.operands(state, i)
    for (t, _, facts), x in zip(i.args, args):
        if "noundef" in facts:
            run.must_be_defined(state, x)
    if name.startswith("@llvm."):
        import intrinsics
        v = intrinsics.call(run, state, i, name[6:], args, finals)
        if v is not None:
            return v
    if name in run.bodies:
        if name in run.active:
            raise Unsupported("recursive call of what is inlined")
        return body(run, state, run.bodies[name], args, finals)
    return unknown_call(run, state, i, name, args, finals)


INTRINSICS = {}  # name: words of its effects, as `nvmini intrinsics` prints them; filled by the validators


def of_intrinsic(name):
    """Attributes of an intrinsic; of the longest name in the table that it begins with."""
    parts = name[1:].split(".")
    while parts and ".".join(parts) not in INTRINSICS:
        parts.pop()
    words = INTRINSICS.get(".".join(parts))
    if words is None:
        return {}
    memory_words = [w for w in ("read", "write") if w + "s" in words]
    return {"memory": ["".join(memory_words) or "none"], "willreturn": []}


def unknown_call(run, state, i, name, args, finals):
    f = run.module.functions.get(name)
    words = {**(of_intrinsic(name) if name.startswith("@llvm.") else f.attributes if f else {}), **i.attributes}
    result_words = {**(f.result_attributes if f else {}), **i.result_attributes}
    reads, writes, only_args, inner = effects(words)
    scalars = [x for v in args for x in flat(v)]
    tags = frozenset().union(*(x.tags for (t, _, _), v in zip(i.args, args) for x in flat(v) if t[0] == "p"), ())
    for k, ((t, _, facts), v) in enumerate(zip(i.args, args)):
        declared = f.args[k][2] if f and k < len(f.args) else {}
        if t[0] == "p" and not {"nocapture", "captures"} & (set(facts) | set(declared)):
            run.escape(state, v.tags)
        if "byval" in facts or "sret" in facts:
            raise Unsupported("argument in memory")
    returns = "willreturn" in words
    noundef = "noundef" in result_words
    if not reads and not writes and returns:
        seen = [b for x in scalars for b in masked(run, x)]
        return finish(run, results(run, name + "/" + ".".join(str(x.w) for x in seen), i.type, seen, noundef), result_words)
    clobbers = frozenset() if inner or not writes else tags if only_args else EXT | tags
    if not writes and returns:
        seen = [b for x in scalars for b in masked(run, x)]
        a, p = run.view.byte(state.mem, T.var("a*", 64), EXT | tags | frozenset(state.escapes), None)
        seen = [state.epoch, *seen, *masked(run, Val(a, p))]
        v = results(run, "read " + name + "/" + ".".join(str(x.w) for x in seen), i.type, seen, noundef)
    else:
        v = event(run, state, finals, name, scalars, i.type, returns, clobbers if writes else None, noundef)
    return finish(run, v, result_words)


def finish(run, v, words):
    return run.attribute_facts(words, v) if isinstance(v, Val) else v


def assembly(run, state, i, finals):
    text = i.callee[1]
    args = [x for v in run.operands(state, i) for x in flat(v)]
    if "sideeffect" in text or "memory" in text:
        return event(run, state, finals, "asm " + text.replace("|", ""), args, i.type, True, EXT if "memory" in text else None)
    seen = [b for x in args for b in masked(run, x)]
    name = "asm " + text.replace("|", "") + "/" + ".".join(str(x.w) for x in seen)
    run.uninterpreted.add("assembly")
    return results(run, name, i.type, seen)


def body(run, state, f, args, finals):
    """The callee's instructions in place of the call."""
    run.active.append(f.name)
    inner = run.function(f, args, State(state.path, {}, state.mem, state.epoch, state.escapes))
    run.active.pop()
    back = [x for x in inner if x.returns]
    finals += [x for x in inner if not x.returns]
    if not back:
        state.path = T.FALSE
        return []
    import encode
    conditions = encode.apart([x.condition for x in back])
    state.path = encode.either([x.condition for x in back])
    state.mem = memory.merge(conditions, [x.mem for x in back])
    epoch = back[-1].epoch
    for c, x in zip(reversed(conditions[:-1]), reversed(back[:-1])):
        epoch = T.ite(c, x.epoch, epoch)
    state.epoch = epoch
    state.escapes = {t: T.TRUE for x in back for t in x.escapes}
    return merge_values(conditions, [x.value for x in back]) if back[0].value != [] else []


ATOMIC = {"add": T.add, "sub": T.sub, "and": T.band, "or": T.bor, "xor": T.bxor, "xchg": lambda a, b: b, "nand": lambda a, b: T.bnot(T.band(a, b)),
          "max": lambda a, b: T.ite(T.slt(a, b), b, a), "min": lambda a, b: T.ite(T.slt(a, b), a, b),
          "umax": lambda a, b: T.ite(T.ult(a, b), b, a), "umin": lambda a, b: T.ite(T.ult(a, b), a, b)}


def atomic(run, state, i, finals):
    """Atomic accesses: of a variable that nothing else reaches, a load and a store; else a visible event that gives the
    old value. Orderings from acquire on let other threads' stores appear."""
    args = run.operands(state, i)
    strong = bool(set(i.order) & {"acquire", "acq_rel", "seq_cst"})
    clobbers = EXT if strong else None
    name = " ".join([i.op, i.how, *i.order])
    if i.op == "fence":
        event(run, state, finals, name, [], ("void",), True, EXT)
        return None
    t, p = i.args[1][0], args[0]
    n = store_size(t)
    if isinstance(args[1], list) or width(t) % 8:
        raise Unsupported(i.op + " of " + t[0])
    check_access(run, state, p, n, i.align or n, i.args[0][0][1], True)
    if all(tag[:2] == "a:" and state.escapes.get(tag, T.FALSE) is T.FALSE for tag in p.tags):
        old = run.use(read_scalar(run, state.mem, p, 0, t, True))
    else:
        old = event(run, state, finals, name, args, t, True, clobbers, sees=strong or "release" in i.order)
    if i.op == "atomicrmw":
        if i.how in ATOMIC:
            new = Val(ATOMIC[i.how](old.bits, args[1].bits), T.or_(old.poison, args[1].poison), union(old, args[1]), args[1].tags)
        else:
            new = unknown(run, f"f.atomicrmw.{i.how}.{width(t)}", t, [old, args[1]])
        write_scalar(run, state, p, 0, t, new, True)
        return old
    same = T.eq(old.bits, args[1].bits)
    poison = T.or_(old.poison, args[1].poison)
    new = Val(T.ite(same, args[2].bits, old.bits), T.or_(poison, T.and_(same, args[2].poison)), union(old, *args[1:]))
    write_scalar(run, state, p, 0, t, new, True)
    return [old, Val(T.bool_bit(same), poison, union(old, args[1]))]


HANDLERS = {
    "atomicrmw": atomic, "cmpxchg": atomic, "fence": atomic,
    "icmp": icmp, "fcmp": fcmp, "trunc": convert, "zext": convert, "sext": convert, "select": select, "freeze": freeze,
    "extractelement": extractelement, "insertelement": insertelement, "shufflevector": shufflevector, "extractvalue": extractvalue,
    "insertvalue": insertvalue, "alloca": alloca, "load": load, "store": store, "call": call,
    "getelementptr": lambda run, state, i, finals: run.gep(state, i),
    "fptoui": from_float, "fptosi": from_float, "fneg": floats,
    **{op: floats for op in ("fadd", "fsub", "fmul", "fdiv", "frem", "fptrunc", "fpext", "uitofp", "sitofp")},
    **{op: lambda run, state, i, finals: run.cast(state, i) for op in ("ptrtoint", "inttoptr", "bitcast", "addrspacecast")},
}
