"""What integer instructions and intrinsics compute, as terms; from the language reference."""
import terms as T
from irtext import Unsupported


def msb(a):
    return T.bit_bool(T.extract(a, a.w - 1, a.w - 1))


def add_overflow(a, b, signed):
    s = T.add(a, b)
    if not signed:
        return T.ult(s, a)
    return msb(T.band(T.bxor(a, s), T.bxor(b, s)))


def sub_overflow(a, b, signed):
    if not signed:
        return T.ult(a, b)
    return msb(T.band(T.bxor(a, b), T.bxor(a, T.sub(a, b))))


def overflows(op, a, b, signed):
    if op == "add":
        return add_overflow(a, b, signed)
    if op == "sub":
        return sub_overflow(a, b, signed)
    return T.overflow("smul" if signed else "umul", a, b)


ARITHMETIC = {"add": T.add, "sub": T.sub, "mul": T.mul, "and": T.band, "or": T.bor, "xor": T.bxor}
DIVISIONS = {"udiv": "bvudiv", "urem": "bvurem", "sdiv": "bvsdiv", "srem": "bvsrem"}
SHIFTS = {"shl": "bvshl", "lshr": "bvlshr", "ashr": "bvashr"}


def binary(op, flags, a, b):
    """(result, condition of poison, condition of immediate undefined behaviour given that the operands are numbers)."""
    w, zero = a.w, T.const(0, a.w)
    if op in ARITHMETIC:
        poison = []
        if "nuw" in flags:
            poison.append(overflows(op, a, b, False))
        if "nsw" in flags:
            poison.append(overflows(op, a, b, True))
        if "disjoint" in flags:
            poison.append(T.ne(T.band(a, b), zero))
        return ARITHMETIC[op](a, b), T.or_(*poison), T.FALSE
    if op in DIVISIONS:
        r = T.divide(DIVISIONS[op], a, b)
        undefined = T.eq(b, zero)
        if op[0] == "s":
            undefined = T.or_(undefined, T.and_(T.eq(a, T.const(1 << (w - 1), w)), T.eq(b, T.const(-1, w))))
        rest = T.divide("bv" + op[0] + "rem", a, b)
        return r, T.ne(rest, zero) if "exact" in flags else T.FALSE, undefined
    r = T.shift(SHIFTS[op], a, b)
    poison = [T.not_(T.ult(b, T.const(w, w)))] if w.bit_length() <= w else [T.not_(T.ult(T.zext(b, w + 8), T.const(w, w + 8)))]
    if "nuw" in flags:
        poison.append(T.ne(T.shift("bvlshr", r, b), a))
    if "nsw" in flags:
        poison.append(T.ne(T.shift("bvashr", r, b), a))
    if "exact" in flags:
        poison.append(T.ne(T.shift("bvshl", r, b), a))
    return r, T.or_(*poison), T.FALSE


def icmp(predicate, a, b):
    if predicate == "eq":
        return T.eq(a, b)
    if predicate == "ne":
        return T.ne(a, b)
    swap = predicate[1] == "g"
    x, y = (b, a) if swap else (a, b)
    return T.compare(predicate[0] + "l" + predicate[2], x, y)


def count_bits(a):
    if a.w == 1:
        return a
    total = T.const(0, a.w)
    for k in range(a.w):
        total = T.add(total, T.zext(T.extract(a, k, k), a.w))
    return total


def zeros(a, leading):
    r = T.const(a.w, a.w)
    order = range(a.w) if leading else range(a.w - 1, -1, -1)
    for k in order:
        r = T.ite(T.bit_bool(T.extract(a, k, k)), T.const(a.w - 1 - k if leading else k, a.w), r)
    return r


def saturate(op, a, b):
    signed, op = op[0] == "s", op[1:4]
    w = a.w
    over = overflows(op, a, b, signed)
    if signed:
        limit = T.ite(msb(a), T.const(1 << (w - 1), w), T.const((1 << (w - 1)) - 1, w))
    else:
        limit = T.const(-1 if op == "add" else 0, w)
    return T.ite(over, limit, ARITHMETIC[op](a, b))


def funnel(left, a, b, c):
    w = a.w
    amount = T.divide("bvurem", c, T.const(w, w)) if w > 1 else T.const(0, 1)
    both, amount = T.concat(a, b), T.zext(amount, 2 * w)
    if left:
        return T.extract(T.shift("bvshl", both, amount), 2 * w - 1, w)
    return T.extract(T.shift("bvlshr", both, amount), w - 1, 0)


def intrinsic(name, a):
    """(result, poison) of llvm.NAME on numbers, or None where this is no such intrinsic."""
    x = a[0]
    w = x.w
    if name in ("smin", "smax", "umin", "umax"):
        less = T.compare(name[0] + "lt", x, a[1])
        return T.ite(less, x, a[1]) if name[1:] == "min" else T.ite(less, a[1], x), T.FALSE
    if name == "abs":
        low = T.eq(x, T.const(1 << (w - 1), w))
        return T.ite(T.slt(x, T.const(0, w)), T.neg(x), x), T.and_(T.bit_bool(a[1]), low)
    if name == "ctpop":
        return count_bits(x), T.FALSE
    if name in ("ctlz", "cttz"):
        return zeros(x, name == "ctlz"), T.and_(T.bit_bool(a[1]), T.eq(x, T.const(0, w)))
    if name == "bitreverse":
        return T.concat(*(T.extract(x, k, k) for k in range(w))), T.FALSE
    if name == "bswap":
        return T.concat(*(T.extract(x, k + 7, k) for k in range(0, w, 8))), T.FALSE
    if name in ("fshl", "fshr"):
        return funnel(name == "fshl", *a), T.FALSE
    if name in ("uadd.sat", "sadd.sat", "usub.sat", "ssub.sat"):
        return saturate(name, *a), T.FALSE
    if name in ("ushl.sat", "sshl.sat"):
        r = T.shift("bvshl", x, a[1])
        back = T.shift("bvlshr" if name[0] == "u" else "bvashr", r, a[1])
        limit = T.const(-1, w) if name[0] == "u" else T.ite(msb(x), T.const(1 << (w - 1), w), T.const((1 << (w - 1)) - 1, w))
        return T.ite(T.eq(back, x), r, limit), T.not_(T.ult(T.zext(a[1], w + 8), T.const(w, w + 8)))
    if name in ("scmp", "ucmp"):
        raise Unsupported("llvm." + name)
    return None


def with_overflow(name, a, b):
    """(result, whether it overflows) of llvm.uadd.with.overflow and the like."""
    op = name[1:4]
    return ARITHMETIC[op](a, b), overflows(op, a, b, name[0] == "s")


# --- floats as bits --------------------------------------------------------------------------------------

MANTISSA = {"half": 10, "bfloat": 7, "float": 23, "double": 52}


def is_nan(x, kind):
    m = MANTISSA[kind]
    w = x.w
    return T.ult(T.const(((1 << (w - 1 - m)) - 1) << m, w - 1), T.extract(x, w - 2, 0))


def is_infinite(x, kind):
    m = MANTISSA[kind]
    w = x.w
    return T.eq(T.const(((1 << (w - 1 - m)) - 1) << m, w - 1), T.extract(x, w - 2, 0))


def fcmp(predicate, a, b, kind):
    """Ordered numbers compare as their signs and magnitudes do."""
    if predicate in ("true", "false"):
        return T.truth(predicate == "true")
    w = a.w
    nan = T.or_(is_nan(a, kind), is_nan(b, kind))
    if predicate in ("ord", "uno"):
        return nan if predicate == "uno" else T.not_(nan)
    zero = T.const(0, w - 1)
    ma, mb = T.extract(a, w - 2, 0), T.extract(b, w - 2, 0)
    na, nb = msb(a), msb(b)
    both = T.and_(T.eq(ma, zero), T.eq(mb, zero))
    same = T.or_(both, T.eq(a, b))

    def less(x, y, mx, my, nx, ny):
        return T.and_(T.not_(both), T.ite(nx, T.or_(T.not_(ny), T.ult(my, mx)), T.and_(T.not_(ny), T.ult(mx, my))))
    below, above = less(a, b, ma, mb, na, nb), less(b, a, mb, ma, nb, na)
    r = {"eq": same, "ne": T.not_(same), "lt": below, "gt": above, "le": T.or_(below, same), "ge": T.or_(above, same)}[predicate[1:]]
    return T.or_(nan, r) if predicate[0] == "u" else T.and_(T.not_(nan), r)
