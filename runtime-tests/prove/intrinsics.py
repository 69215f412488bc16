"""Calls of llvm.* in encoded functions: what is known of them. Others are unknown functions."""
import re

import integers
import memory
import terms as T
from encode import BYTES, Val, each, flat
from instructions import check_access, event, masked, results, union, unknown
from irtext import Unsupported
from memory import EXT, c64

IGNORED = ("dbg.", "experimental.noalias", "donothing", "prefetch", "annotation", "var.annotation", "sideeffect", "lifetime.")
# Uninterpreted functions of numbers, equal for equal operands. LLVM's of floats and those of PTX.
PURE = re.compile(r"(sqrt|fma|fmuladd|sin|cos|exp|exp2|log|log2|log10|pow|powi|floor|ceil|trunc|rint|nearbyint|round|roundeven|minnum|maxnum"
                  r"|minimum|maximum|minimumnum|maximumnum|canonicalize|ldexp|fptosi\.sat|fptoui\.sat|lround|lrint|is\.fpclass|vector\.reduce)\.")
SPECIAL = re.compile(r"nvvm\.read\.ptx\.sreg\.(?!clock|globaltimer|pm)")
# Largest values of special registers, and the least of those that are no indices.
REGISTERS = {"tid.x": (0, 1023), "tid.y": (0, 1023), "tid.z": (0, 63), "ntid.x": (1, 1024), "ntid.y": (1, 1024), "ntid.z": (1, 64),
             "ctaid.x": (0, 2**31 - 2), "ctaid.y": (0, 65534), "ctaid.z": (0, 65534), "nctaid.x": (1, 2**31 - 1), "nctaid.y": (1, 65535),
             "nctaid.z": (1, 65535), "laneid": (0, 31), "warpsize": (32, 32)}
LANES = re.compile(r"^(.*?)\.(?:v\d+)?(?:i\d+|f16|f32|f64|bf16)$")


def call(run, state, i, name, args, finals):
    """The value, or None where the call is one of an unknown function."""
    if name.startswith(IGNORED):
        if name.startswith("lifetime.") and len(args) == 2 and len(args[1].tags) == 1:
            tag, = args[1].tags
            if tag in run.world.blocks and tag[:2] == "a:":
                state.mem = memory.fill(state.mem, run.world.blocks[tag])
        return []
    if name == "assume":
        run.must_be_defined(state, args[0])
        run.ub(state, T.eq(args[0].bits, T.const(0, 1)))
        return []
    if name.startswith("expect"):
        return args[0]
    if name.startswith(("memcpy.", "memmove.", "memset.")):
        return copy(run, state, i, name, args)
    m = LANES.match(name)
    base = m[1] if m else name
    v = number(run, i, base, args)
    if v is not None:
        return v
    if base.startswith("get.active.lane.mask"):
        return lane_mask(i, *args)
    if PURE.match(name) or SPECIAL.match(name):
        scalars = [x for v in args for x in flat(v)]
        run.uninterpreted.add("f.llvm." + base)
        if i.type[0] in ("f", "i") and all(x is not None for x in scalars):
            if not scalars:
                v = Val(T.uf("f.llvm." + name, i.type[1], []))
                low, high = REGISTERS.get(name.split("sreg.")[-1], (0, None))
                if high:
                    run.world.given += [T.ule(T.const(low, 32), v.bits), T.ule(v.bits, T.const(high, 32))]
                return v
            return run.float_flags(i, unknown(run, "f.llvm." + name, i.type, scalars), scalars if i.type[0] == "f" else [])
        return results(run, "f.llvm." + name, i.type, [b for x in scalars for b in masked(run, x)])
    if not name.startswith("nvvm."):
        run.uninterpreted.add("llvm." + base)
    return None


def lane_mask(i, base, n):
    w = base.bits.w + 32
    return [Val(T.bool_bit(T.ult(T.add(T.zext(base.bits, w), T.const(k, w)), T.zext(n.bits, w))), T.or_(base.poison, n.poison), union(base, n))
            for k in range(i.type[1])]


def number(run, i, base, args):
    if base in ("fabs", "copysign"):
        def one(x, *rest):
            w = x.bits.w
            low = T.zext(T.extract(x.bits, w - 2, 0), w)
            if rest:
                low = T.concat(T.extract(rest[0].bits, w - 1, w - 1), T.extract(x.bits, w - 2, 0))
            return run.float_flags(i, Val(low, T.or_(x.poison, *(r.poison for r in rest)), union(x, *rest)), [x, *rest])
        return each(one, *args)
    if re.match(r"[us](add|sub|mul)\.with\.overflow$", base):
        def pair(x, y):
            r, over = integers.with_overflow(base, x.bits, y.bits)
            poison = T.or_(x.poison, y.poison)
            return [Val(r, poison, union(x, y)), Val(T.bool_bit(over), poison, union(x, y))]
        if isinstance(args[0], list):
            both = [pair(x, y) for x, y in zip(*args)]
            return [[p[0] for p in both], [p[1] for p in both]]
        return pair(*args)
    if not args or any(isinstance(v, list) and not isinstance(v[0], Val) for v in args):
        return None
    lanes = len(args[0]) if isinstance(args[0], list) else 0

    def lane(k):
        return [v[k] if isinstance(v, list) else v for v in args]
    out = []
    for k in range(max(lanes, 1)):
        xs = lane(k)
        r = integers.intrinsic(base, [x.bits for x in xs])
        if r is None:
            return None
        out.append(Val(r[0], T.or_(r[1], *(x.poison for x in xs)), union(*xs)))
    return out if lanes else out[0]


def copy(run, state, i, name, args):
    """Copies and fills of few bytes."""
    n = args[2].bits
    if not T.is_const(n):
        raise Unsupported("llvm." + name.split(".")[0] + " of unknown length")
    if args[3].bits is not T.const(0, 1):
        raise Unsupported("volatile llvm." + name.split(".")[0])
    if n.val > BYTES:
        raise Unsupported("llvm." + name.split(".")[0] + " of many bytes")
    if n.val == 0:
        return []
    to = args[0]
    aligns = [int(facts["align"][0]) if "align" in facts else 1 for _, _, facts in i.args]
    spaces = [t[1] if t[0] == "p" else 0 for t, _, _ in i.args]
    check_access(run, state, to, n.val, aligns[0], spaces[0], True)
    if name.startswith("memset"):
        data = [(args[1].bits, args[1].poison)] * n.val
    else:
        source = args[1]
        check_access(run, state, source, n.val, aligns[1], spaces[1], False)
        if name.startswith("memcpy"):
            apart = T.or_(T.eq(to.bits, source.bits), T.and_(T.ule(c64(n.val), T.sub(to.bits, source.bits)),
                                                             T.ule(c64(n.val), T.sub(source.bits, to.bits))))
            if memory.overlap_possible(to.tags, source.tags):
                run.ub(state, T.not_(apart))
        data = [run.view.byte(state.mem, T.add(source.bits, c64(k)), source.tags, None) for k in range(n.val)]
        if run.side == "s":  # a byte of poison spoils the copy: passes copy words, which are poison as a whole
            spoiled = T.or_(*(q for _, q in data))
            data = [(b, spoiled) for b, _ in data]
    state.mem = memory.store(state.mem, to.bits, data, to.tags, False)
    return []
