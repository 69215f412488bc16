"""The memory of an encoded function: a chain of stores, merges and calls, read byte by byte.

A byte is (8 bits, whether it is poison). Addresses are flat numbers of 64 bits. Variables of the function and
globals have fixed places; what arguments point to is a few blocks of unknown place and size. A pointer carries
tags, the objects that it may be based on: `ext` (what the caller's pointers reach), `a:NAME` (a variable of the
function), `n:NAME` (what a noalias or byval argument points to), `g:NAME` (a global)."""
import terms as T

EXT = frozenset(("ext",))
LOCAL, GLOBAL, SHARED, CONST = 0x7F << 56, 0x11 << 56, 0x7E << 56, 0x7D << 56
REGIONS = {3: SHARED, 4: CONST, 5: LOCAL, 101: 0x7C << 56}


def c64(v):
    return T.const(v, 64)


class Block:
    """An object: [low, low + size]."""

    def __init__(self, tag, low, size, writable=True):
        self.tag, self.low, self.size, self.writable = tag, low, size, writable

    def within(self, address, count):
        """Whether `count` bytes from the address belong to it."""
        if T.is_const(self.size) and self.size.val < count:
            return T.FALSE
        enough = T.ule(c64(count), self.size)
        return T.and_(enough, T.ule(T.sub(address, self.low), T.sub(self.size, c64(count))))


def overlap_possible(a, b):
    """Whether two pointers with these tags may point to one object."""
    if not a.isdisjoint(b):
        return True
    return "ext" in a and any(t[:2] == "g:" for t in b) or "ext" in b and any(t[:2] == "g:" for t in a)


class Memory:
    """One link of the chain. kind: start, store, fill (undef), call, merge."""
    count = 0

    def __init__(self, kind, before, **parts):
        self.kind, self.before = kind, before
        self.__dict__.update(parts)
        self.memo = {}


def start():
    return Memory("start", None)


def store(before, address, data, tags, exact):
    """data: bytes, the lowest first; exact: aligned to its size, a power of two."""
    return Memory("store", before, address=address, data=data, tags=tags, exact=exact)


def fill(before, block):
    return Memory("fill", before, block=block)


def call(before, epoch, clobbered):
    """clobbered: {tag: truth value}; other tags keep their bytes."""
    return Memory("call", before, epoch=epoch, clobbered=clobbered)


def merge(conditions, memories):
    """The last one where none of the conditions holds."""
    if all(m is memories[0] for m in memories):
        return memories[0]
    return Memory("merge", memories[-1], conditions=conditions, memories=memories)


class View:
    """Reads bytes for one side; `world` knows the objects, `undef()` makes a byte that was never written."""

    def __init__(self, world, undef, initial):
        self.world, self.undef, self.initial = world, undef, initial

    def in_any(self, address, tags):
        return T.or_(*(T.ult(T.sub(address, b.low), b.size) for b in self.world.blocks_of(tags)))

    def byte(self, m, address, tags, whole=None):
        """(bits, poison) at the address. whole: (first address, size, index) of an aligned access it is a part of."""
        key = (address.id, tags, whole and (whole[0].id, whole[1]))
        found = m.memo.get(key)
        if found is None:
            found = m.memo[key] = getattr(self, m.kind)(m, address, tags, whole)
        return found

    def start(self, m, address, tags, whole):
        local = frozenset(t for t in tags if t[:2] == "a:")
        if local == tags:
            return self.undef(), T.FALSE
        bits, poison = self.initial(address)
        for t in tags:
            known = self.world.contents(t, address)
            if known is not None and len(tags) == 1:
                return known, T.FALSE
            if t == "ext" or known is not None:
                bits, poison = self.world.overlay(t, address, bits, poison)
        if local:
            inside = self.in_any(address, local)
            return T.ite(inside, self.undef(), bits), T.and_(T.not_(inside), poison)
        return bits, poison

    def store(self, m, address, tags, whole):
        if not overlap_possible(m.tags, tags):
            return self.byte(m.before, address, tags, whole)
        d = T.sub(address, m.address)
        if T.is_const(d):
            return m.data[d.val] if d.val < len(m.data) else self.byte(m.before, address, tags, whole)
        if m.exact and whole and whole[1] == len(m.data):
            same = T.eq(whole[0], m.address)
            if same is T.FALSE:
                return self.byte(m.before, address, tags, whole)
            bits, poison = m.data[whole[2]]
            other, q = self.byte(m.before, address, tags, whole)
            return T.ite(same, bits, other), T.ite(same, poison, q)
        bits, poison = self.byte(m.before, address, tags, whole)
        for k, (b, p) in enumerate(m.data):
            here = T.eq(address, T.add(m.address, c64(k)))
            bits, poison = T.ite(here, b, bits), T.ite(here, p, poison)
        return bits, poison

    def fill(self, m, address, tags, whole):
        if m.block.tag not in tags:
            return self.byte(m.before, address, tags, whole)
        inside = T.ult(T.sub(address, m.block.low), m.block.size)
        if inside is T.TRUE:
            return self.undef(), T.FALSE
        bits, poison = self.byte(m.before, address, tags, whole)
        return T.ite(inside, self.undef(), bits), T.and_(T.not_(inside), poison)

    def call(self, m, address, tags, whole):
        gone = [(t, m.clobbered.get(t, m.clobbered.get("ext", T.FALSE) if t[:2] == "g:" else T.FALSE)) for t in tags]
        if all(c is T.FALSE for _, c in gone):
            return self.byte(m.before, address, tags, whole)
        new = T.uf("M", 9, [m.epoch, address])
        new = T.extract(new, 7, 0), T.bit_bool(T.extract(new, 8, 8))
        if all(c is T.TRUE for _, c in gone):
            kept = self.world.constant_inside(address) if "ext" in tags else T.FALSE
        elif len(gone) == 1:
            kept = T.not_(gone[0][1])
        else:
            kept = T.or_(*(T.and_(T.not_(c), self.in_any(address, frozenset((t,)))) for t, c in gone if c is not T.TRUE))
        if kept is T.FALSE:
            return new
        old = self.byte(m.before, address, tags, whole)
        return T.ite(kept, old[0], new[0]), T.ite(kept, old[1], new[1])

    def merge(self, m, address, tags, whole):
        bits, poison = self.byte(m.memories[-1], address, tags, whole)
        for c, other in zip(reversed(m.conditions[:-1]), reversed(m.memories[:-1])):
            b, p = self.byte(other, address, tags, whole)
            bits, poison = T.ite(c, b, bits), T.ite(c, p, poison)
        return bits, poison


class World:
    """What source and target share: arguments, objects, initial memory, conditions that inputs satisfy."""

    def __init__(self):
        self.blocks, self.given, self.initial_bytes = {}, [], {}
        self.ext, self.unknown, self.escaped = [], set(), set()

    def initial(self, address):
        if T.is_const(address) and address.val in self.initial_bytes:  # a function that is executed
            return T.const(self.initial_bytes[address.val], 8), T.FALSE
        t = T.uf("M0", 9, [address])
        return T.extract(t, 7, 0), T.bit_bool(T.extract(t, 8, 8))

    def loaded_tags(self):
        """What a pointer from memory or a number may point to."""
        return EXT | frozenset(self.escaped)

    def blocks_of(self, tags):
        out = []
        for t in sorted(tags):
            if t == "ext":
                out += self.ext + [b for tag, b in sorted(self.blocks.items()) if tag[:2] == "g:" and tag not in tags]
            elif t in self.blocks:
                out.append(self.blocks[t])
        return out

    def add_global(self, name, size, space, constant, align, data):
        place = REGIONS.get(space, GLOBAL) + ((len(self.blocks) + 1) << 32) + align
        b = Block("g:" + name, c64(place), c64(size), not constant and space != 4)
        b.data = data if constant or space == 4 else None
        self.blocks[b.tag] = b

    def contents(self, tag, address):
        """A byte of a constant global, where it is known; None."""
        b = self.blocks.get(tag)
        if b is None or getattr(b, "data", None) is None:
            return None
        d = T.sub(address, b.low)
        if T.is_const(d):
            return T.const(b.data[d.val], 8) if d.val < len(b.data) else None
        if len(b.data) > 64:
            return None
        bits = T.const(0, 8)
        for k, v in enumerate(b.data):
            bits = T.ite(T.eq(d, c64(k)), T.const(v, 8), bits)
        return bits

    def overlay(self, tag, address, bits, poison):
        """The initial byte where the address may be one of a constant global."""
        for b in self.blocks_of(frozenset((tag,))):
            known = self.contents(b.tag, address) if getattr(b, "data", None) is not None else None
            if known is not None:
                inside = T.ult(T.sub(address, b.low), b.size)
                bits, poison = T.ite(inside, known, bits), T.and_(T.not_(inside), poison)
        return bits, poison

    def constant_inside(self, address):
        return T.or_(*(T.ult(T.sub(address, b.low), b.size) for t, b in sorted(self.blocks.items())
                       if t[:2] == "g:" and not b.writable))

    def accessible(self, address, count, tags, write):
        return T.or_(*(b.within(address, count) for b in self.blocks_of(tags) if b.writable or not write))

    def same_object(self, a, b, tags):
        return T.or_(*(T.and_(T.ule(T.sub(a, o.low), o.size), T.ule(T.sub(b, o.low), o.size)) for o in self.blocks_of(tags)))
