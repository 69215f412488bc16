"""Whether one function refines another: the question to Z3, and its answer.

For every input, if the source's behaviour is defined, each behaviour of the target must be one of the source's:
its result, the memory that the caller sees and the history of calls are the same, or more defined. What the target
chooses (undef, freeze) is chosen by Z3; what the source chooses is quantified. Two fixed choices of the source are
tried first, since a question without quantifiers is decided fast: if the target refines the source even then, it does."""
import re

import encode
import memory
import terms as T
from encode import Run, State, Val, align_of, children, flat, size_of, width
from irtext import Reader, Unsupported
from memory import EXT, Block, World, c64

# What the caller's pointers reach: so many objects, none larger, and so far apart that no small offset leads from one
# to another, which would be undefined behaviour that the flat addresses do not show.
MAX_EXT, LARGEST, APART = 3, 1 << 40, 1 << 40
TERMS, SECONDS = 200000, 15  # of one encoding


class Verdict:
    """kind: proved, refuted, unsupported, timeout, abstract; why: a name or the values of the inputs; bounded: a loop may
    exceed the bound; vacuous: no input has defined behaviour within it."""

    def __init__(self, kind, why="", bounded=False):
        self.kind, self.why, self.bounded, self.vacuous = kind, why, bounded, False


# --- inputs -------------------------------------------------------------------------------------------------

def constant_bytes(t, v):
    """The bytes of an initializer, or None where it holds addresses."""
    if v[0] in ("zeroinitializer", "null"):
        return [0] * size_of(t)
    if v[0] == "bytes":
        return encode.string_bytes(v[1])
    inner = children(t)
    if inner is None:
        if v[0] not in ("int", "true", "false"):
            return None
        n = v[1] if v[0] == "int" else v[0] == "true"
        return list((n & ((1 << width(t)) - 1)).to_bytes(size_of(t), "little"))
    if v[0] != "list" or len(inner) != len(v[1]):
        return None
    data = [0] * size_of(t)
    for (at, _), (u, x) in zip(inner, v[1]):
        part = constant_bytes(u, x)
        if part is None or at is None:
            return None
        data[at:at + len(part)] = part
    return data[:size_of(t)]


def objects(world, module, text):
    """The globals that the texts name."""
    for name in sorted(set(re.findall(r'@(?:"[^"]*"|[-\w$.]+)', text))):
        if name not in module.globals:
            continue
        t, space, constant, init, align = module.globals[name]
        try:
            data = constant_bytes(t, init) if init is not None and constant else None
            if constant and init is not None and data is None:
                world.unknown.add("initializer with addresses")
            world.add_global(name, size_of(t), space, constant, align or align_of(t), data)
        except (Unsupported, OverflowError):
            continue


def in_region(world, low, size, space):
    """The last byte and one more is inside of the region, which is none of the function's own variables'."""
    end = T.add(low, size)
    world.given += [T.ult(c64(0), low), T.ule(size, c64(LARGEST)), T.ule(low, end)]
    if space in memory.REGIONS and space != 5:
        top = memory.REGIONS[space] >> 56
        world.given += [T.eq(T.extract(x, 63, 56), T.const(top, 8)) for x in (low, end)]
    elif space == 1:
        world.given.append(T.ult(end, c64(memory.GLOBAL)))
    else:
        world.given += [T.ult(end, c64(0x7F << 56)), T.or_(T.ult(end, c64(memory.GLOBAL)), T.ule(c64(0x12 << 56), low))]


def pointer_argument(world, name, t, facts):
    own = "noalias" in facts or "byval" in facts
    if not own and len(world.ext) >= MAX_EXT:
        return EXT
    k = len(world.ext) + len(world.blocks)
    low, size = T.var(f"object {k}", 64), T.var(f"size of object {k}", 64)
    block = Block("n:" + name if own else "ext", low, size, "byval" not in facts or t[1] not in (101,))
    others = world.ext + [b for tag, b in world.blocks.items() if tag[:2] == "n:"]
    in_region(world, low, size, t[1])
    for o in others:
        world.given.append(T.or_(T.ult(T.add(T.add(low, size), c64(APART)), o.low), T.ult(T.add(T.add(o.low, o.size), c64(APART)), low)))
    if own:
        world.blocks[block.tag] = block
        return frozenset((block.tag,))
    world.ext.append(block)
    return EXT


def argument(world, module, name, t, facts):
    inner = children(t)
    if inner is not None:
        return [argument(world, module, f"{name}.{k}", m, facts) for k, (_, m) in enumerate(inner)]
    tags = pointer_argument(world, name, t, facts) if t[0] == "p" else EXT
    bits, poison = T.var(name, width(t)), T.var("poison " + name, 0)
    if {"noundef", "byval"} & set(facts):
        poison = T.FALSE
    if t[0] == "p":
        world.given.append(T.ne(T.extract(bits, 63, 56), T.const(0x7F, 8)))
        if t[1] in memory.REGIONS and t[1] != 5:
            world.given.append(T.eq(T.extract(bits, 63, 56), T.const(memory.REGIONS[t[1]] >> 56, 8)))
    known = []
    if facts.get("byval"):  # the copy is ours, as large and aligned as its type
        copied = Reader(" ".join(facts["byval"]), module).type()
        world.given += [T.eq(bits, world.blocks["n:" + name].low), T.eq(world.blocks["n:" + name].size, c64(size_of(copied))),
                        T.eq(T.band(bits, c64(align_of(copied) - 1)), c64(0))]
    if "nonnull" in facts:
        known.append(T.ne(bits, c64(0)))
    if "align" in facts and t[0] == "p":
        known.append(T.eq(T.band(bits, c64(int(facts["align"][0]) - 1)), c64(0)))
    if "range" in facts:
        known.append(encode.within(bits, [int(x) for x in facts["range"] if x.lstrip("-").isdigit()]))
    if "dereferenceable" in facts:
        known += [T.not_(poison), T.or_(*(b.within(bits, int(facts["dereferenceable"][0])) for b in world.blocks_of(tags)))]
    world.given += [T.or_(poison, k) for k in known]
    return Val(bits, poison, (), tags)


def build_world(module, f, text):
    world = World()
    world.places = {}
    objects(world, module, text)
    args = [argument(world, module, name, t, facts) for t, name, facts in f.args]
    return world, args


# --- the question ---------------------------------------------------------------------------------------------

class Outcome:
    """All ends of a function as one."""

    def __init__(self, run, finals):
        self.run = run
        back = [x for x in finals if x.returns]
        self.returns = encode.either([x.condition for x in back]) if back else T.FALSE
        self.epoch = finals[-1].epoch if finals else T.const(0, 32)
        for c, x in zip(encode.apart([x.condition for x in finals])[:-1][::-1] if finals else [], finals[:-1][::-1]):
            self.epoch = T.ite(c, x.epoch, self.epoch)
        self.value, self.mem = [], None
        if back:
            conditions = encode.apart([x.condition for x in back])
            self.value = encode.merge_values(conditions, [x.value for x in back]) if back[0].value != [] else []
            self.mem = memory.merge(conditions, [x.mem for x in back])
        self.undefined = list(dict.fromkeys(run.undefined))
        self.bounded = T.or_(*run.bounded)


def perhaps_undef(run, v, name):
    """An argument that may be undef: another value at each use."""
    if isinstance(v, list):
        return [perhaps_undef(run, x, f"{name}.{k}") for k, x in enumerate(v)]
    u = run.choose("argument", v.bits.w, True)
    return Val(T.ite(T.var("undef " + name, 0), u, v.bits), v.poison, (u,), v.tags)


def execute(world, args, side, module, f, bodies, bound):
    world.blocks = {t: b for t, b in world.blocks.items() if t[:2] != "a:"}
    run = Run(world, side, module, bodies, bound)
    run.active = [f.name]
    if world.undef_arguments:
        args = [v if {"noundef", "byval", "range", "nonnull", "align"} & set(facts) else perhaps_undef(run, v, name)
                for v, (_, name, facts) in zip(args, f.args)]
    finals = run.function(f, args, State(T.TRUE, {}, memory.start(), T.const(0, 32), {}))
    outcome = Outcome(run, finals)
    copies = {name for _, name, facts in f.args if "byval" in facts}  # which the caller does not see
    if outcome.mem is not None:
        tags = EXT | {t for t in world.blocks if t[:2] == "n:" and t[2:] not in copies}
        outcome.byte = run.view.byte(outcome.mem, T.var("a*", 64), frozenset(tags), None)
    outcome.value = run.use(outcome.value)
    return outcome


def differs(source, target):
    """Source's value is a number, and target's is poison or another one."""
    parts = []
    for s, t in zip(flat(source), flat(target)):
        parts.append(T.and_(T.not_(s.poison), T.or_(t.poison, T.ne(s.bits, t.bits))))
    return T.or_(*parts)


def violation(s, t):
    """Conditions under which target's behaviour is none of source's; the names of the parts for the report."""
    allowed = {c.id for c in s.undefined}
    parts = {"undefined behaviour": T.or_(*(c for c in t.undefined if c.id not in allowed)),
             "returns where the source does not, or the reverse": T.ne(s.returns, t.returns),
             "calls": T.ne(s.epoch, t.epoch)}
    if s.mem is not None and t.mem is not None:
        both = T.and_(s.returns, t.returns)
        parts["result"] = T.and_(both, differs(s.value, t.value))
        parts["memory"] = T.and_(both, differs(Val(*s.byte), Val(*t.byte)))
    return parts


def instances(s, t):
    """Choices for what the source chooses: as the target's of the same name, else 0 or all ones."""
    by_name = {**{x.val[1:]: x for x in t.run.chosen}, **t.run.picks}
    out = []
    for other in (0, -1):
        out.append({x: by_name.get(x.val[1:], T.const(other, x.w)) for x in s.run.chosen})
    return out


def encode_both(module, new, before, after, bodies, bound, undef_arguments=False):
    text = before.text + after.text + "".join(f.text for f in bodies.values())
    world, args = build_world(new, before, text)  # a pass may raise the alignment of a variable
    world.undef_arguments = undef_arguments
    for _ in range(4):
        known = set(world.escaped)
        s = execute(world, args, "s", module, before, bodies, bound)
        t = execute(world, args, "t", new, after, bodies, bound)
        if world.escaped == known:
            return world, s, t
    raise Unsupported("escapes")


def decide(solver, world, s, t):
    parts = violation(s, t)
    wrong = T.or_(*parts.values())
    given = T.and_(*world.given, T.not_(t.bounded))
    defined = T.and_(T.not_(T.or_(*s.undefined)), T.not_(s.bounded))
    claim = T.and_(defined, wrong)
    if claim is T.FALSE or T.and_(given, claim) is T.FALSE:
        return Verdict("proved")
    chosen = [x for x in s.run.chosen if x in claim.free]
    if chosen:
        quick = given
        for by in instances(s, t):
            quick = T.and_(quick, T.substitute(claim, by))
    else:
        quick = T.and_(given, claim)
    if quick is T.FALSE:
        return Verdict("proved")
    text, names = T.question(quick)
    answer, values = solver.ask(text, False, names)
    if answer == "sat" and chosen:
        text, names = T.question(T.and_(given, claim), chosen)
        answer, values = solver.ask(text, True, names)
    if answer == "unsat":
        return Verdict("proved")
    if answer == "unknown":
        return Verdict("timeout", "quantified" if chosen else "plain")
    unknown = sorted(x for x in s.run.uninterpreted | t.run.uninterpreted | world.unknown)
    if unknown:
        return Verdict("abstract", ", ".join(unknown))
    return Verdict("refuted", values)


def vacuous(solver, world, s):
    """Whether no input within the bound has defined behaviour."""
    t = T.and_(*world.given, T.not_(T.or_(*s.undefined)), T.not_(s.bounded))
    if t is T.FALSE:
        return True
    return solver.ask(T.question(t)[0], False)[0] == "unsat"


def check(solver, module, before, after, bodies, new=None, bound=encode.BOUND, look_vacuous=False, undef_arguments=False):
    """before, after: parsed functions that have their text."""
    T.reset(TERMS, SECONDS)
    try:
        world, s, t = encode_both(module, new or module, before, after, bodies, bound, undef_arguments)
        v = decide(solver, world, s, t)
        v.bounded = bool(s.run.bounded or t.run.bounded)
        v.vacuous = look_vacuous and v.kind == "proved" and vacuous(solver, world, s)
        return v
    except (Unsupported, T.TooMany) as e:
        return Verdict("unsupported", str(e))
