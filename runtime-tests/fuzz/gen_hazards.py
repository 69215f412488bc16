"""For gen_kernels.py: code that an optimizer must not follow or move. Blocks without a path from the entry, which form cycles and use
each other's values; loads before a barrier, and the choice of their values or addresses after it, when other threads have
written there."""


class Hazards:
    """A mixin of Function."""

    # ---- blocks that are not executed
    def unreachable_cycle(self):
        """A branch to a new block, which blocks that are not executed also branch to."""
        r, k, top = self.r, self.new("live")[1:], self.block
        types = [r.choice(["i32", "i32", self.any_type()]) for _ in range(r.randint(0, 2))]
        values = [self.value(t) for t in types]
        self.emit(f"br label %{k}")
        entries = self.dead_blocks(k)
        self.label(k)
        for t, v in zip(types, values):
            self.set(t, f"phi {t} [ {v}, %{top} ]" + self.dead_entries(entries, t), "phi")

    def dead_entries(self, entries, t):
        """The rest of a phi of type t for the branches of dead_blocks()."""
        return "".join(f", [ {self.r.choice(names) if t == 'i32' else self.constant(t)}, %{b} ]" for b, names in entries)

    def dead_blocks(self, target):
        """Writes one to three blocks; [(block that branches to the target, its i32 names)]."""
        r, k = self.r, self.new("dead")[1:]
        count = r.randint(1, 3)
        blocks = [f"{k}.{x}" for x in "abc"[:count]]
        names = [[f"%{b}.v{n}" for n in range(r.randint(1, 4))] for b in blocks]
        every = [n for own in names for n in own]
        conditions = [f"%{b}.c" for b in blocks]
        exits = [n for n in range(count) if r.random() < 0.5] or [r.randrange(count)]
        next_of = [(n + 1) % count for n in range(count)]
        to = [{next_of[n]} | ({n} if r.random() < 0.3 else set()) for n in range(count)]
        for n, b in enumerate(blocks):
            self.label(b)
            sources = [blocks[x] for x in range(count) if n in to[x]]
            phis = names[n][:r.choice([0, 1, 1, 2])]
            for name in phis:
                self.emit(f"{name} = phi i32 " + ", ".join(f"[ {r.choice(every + ['%' + b + '.v0', str(r.randint(-3, 9))])}, %{s} ]" for s in sources))
            for name in names[n][len(phis):]:
                self.dead_value(name, every, conditions)
            self.emit(f"{conditions[n]} = icmp {r.choice(['eq', 'slt', 'ugt'])} i32 {r.choice(every)}, {r.choice(every)}")
            self.dead_effect(every)
            targets = [blocks[x] for x in sorted(to[n])] + ([target] if n in exits else [])
            if len(targets) == 1:
                self.emit(f"br label %{targets[0]}")
            elif len(targets) == 2:
                self.emit(f"br i1 {r.choice(conditions)}, label %{targets[0]}, label %{targets[1]}")
            else:
                self.emit(f"switch i32 {r.choice(every)}, label %{targets[0]} [ i32 0, label %{targets[1]} i32 1, label %{targets[2]} ]")
        return [(blocks[n], every) for n in exits]

    def dead_value(self, name, every, conditions):
        """A definition whose operands may be defined later, also by itself."""
        r = self.r
        known = every + [name] + self.pool.get("i32", [])[-2:]
        kind = r.random()
        if kind < 0.45:
            self.emit(f"{name} = {r.choice(['add', 'sub', 'mul', 'xor', 'and', 'shl', 'udiv', 'add nsw'])} i32 {r.choice(known)}, {r.choice(known + ['1', '-1', '0'])}")
        elif kind < 0.6:
            self.emit(f"{name} = select i1 {r.choice(conditions + ['true'])}, i32 {r.choice(known)}, i32 {r.choice(known)}")
        elif kind < 0.7:
            self.emit(f"{name} = freeze i32 {r.choice(known)}")
        elif kind < 0.8:
            text, constraints = r.choice([("mov.b32 $0, $1;", "=r,r"), ("xor.b32 $0, $0, 1;", "=r,0"), ("{ .reg .b32 t; and.b32 t, $1, 7; or.b32 $0, t, $1; }", "=r,r"),
                                          ("add.u32 $0, $1, $1;", "=r,r")])
            self.emit(f'{name} = call i32 asm {r.choice(["", "sideeffect "])}"{text}", "{constraints}"(i32 {r.choice(known)})')
        else:
            p = self.new("q")
            self.emit(f"{p} = getelementptr i32, ptr {r.choice([p, 'null'] + ['%in', '%mine', '%out'] * self.kernel)}, i32 {r.choice(known)}")
            self.emit(f"{name} = load i32, ptr {p}")

    def dead_effect(self, every):
        r = self.r
        kind = r.random()
        if kind < 0.2:
            p = self.new("q")
            self.emit(f"{p} = inttoptr i32 {r.choice(every)} to ptr")
            self.emit(f"store i32 {r.choice(every)}, ptr {p}")
        elif kind < 0.3 and self.kernel:
            self.m.declare("declare void @llvm.nvvm.barrier0()")
            self.emit("call void @llvm.nvvm.barrier0()")
        elif kind < 0.4 and self.kernel:
            self.emit(f"store i32 {r.choice(every)}, ptr %mine")

    # ---- barriers between a load and a choice
    def write_slot(self, p, pointer):
        self.emit(f"store i32 {self.value('i32')}, {pointer} {p}, align 4")

    def choice_across_barrier(self):
        """A load, a barrier, after which the thread of that place writes it, another one, and a choice of the value that was loaded,
        or a load through a choice of its address."""
        r = self.r
        mine, theirs, pointer = self.exchange_slots()
        self.write_slot(mine, pointer)
        self.barrier()
        old = self.set("i32", f"load i32, {pointer} {theirs}, align 4")
        c = self.new("c")
        self.emit(f"{c} = icmp {r.choice(['slt', 'ugt', 'eq', 'uge'])} i32 {old}, {self.value('i32')}")
        other, first = self.other_place(pointer)
        early, by_phi = r.random() < 0.4, r.random() < 0.4
        which = self.choose(c, pointer, theirs, other, by_phi) if early else None
        self.barrier()
        self.write_slot(mine, pointer)
        self.barrier()
        if r.random() < 0.5:
            self.add("i32", self.choose(c, "i32", old, first, r.random() < 0.5, sinks=True))
        which = which or self.choose(c, pointer, theirs, other, by_phi)
        self.set("i32", f"load i32, {pointer} {which}, align 4")
        if r.random() < 0.5:
            self.set("i32", f"load i32, {pointer} {theirs}, align 4")
        self.barrier()

    def exchange_slots(self):
        """(place of this thread, place of any thread of the block, type of both): shared memory, or words of the output."""
        r = self.r
        other = self.index(self.m.block_log2)
        a, b = self.new("p"), self.new("p")
        if r.random() < 0.3:
            word = r.randrange(32)
            self.barrier()  # the words were the thread's own
            base, at = self.new("base"), self.new("at")
            self.emit(f"{base} = zext i32 %block0 to i64")
            self.emit(f"{at} = add i64 {base}, {other}")
            for name, i in ((a, "%gid64"), (b, at)):
                self.emit(f"{name} = getelementptr [{self.words} x i32], ptr %out, i64 {i}, i64 {word}")
            return a, b, "ptr"
        name, generic = self.m.shared("i32"), r.random() < 0.6
        for p, i in ((a, "%tid64"), (b, other)):
            self.emit(f"{p} = getelementptr i32, ptr addrspace(3) @{name}, i64 {i}")
        if not generic:
            return a, b, "ptr addrspace(3)"
        names = [self.new("g"), self.new("g")]
        for p, g in zip((a, b), names):
            self.emit(f"{g} = addrspacecast ptr addrspace(3) {p} to ptr")
        return *names, "ptr"

    def other_place(self, pointer):
        """(another place that may be loaded from, an i32): a variable, an element of the input or of the shared array."""
        r = self.r
        p = self.new("p")
        first = self.value("i32")
        if pointer != "ptr":
            self.emit(f"{p} = getelementptr i32, ptr addrspace(3) @{self.m.shared('i32')}, i64 {self.index(self.m.block_log2)}")
        elif r.random() < 0.7:
            p = self.add_local("i32", 4)
            self.emit(f"store i32 {first}, ptr {p}, align 4")
        else:
            self.emit(f"{p} = getelementptr i32, ptr %in, i64 {self.index(8)}")
        return p, first

    def choose(self, c, t, yes, no, by_phi, sinks=False):
        """`c ? yes : no`; `sinks`: an arm computes with it, so that it could be loaded there."""
        name = self.new("which")
        if not by_phi:
            self.emit(f"{name} = select i1 {c}, {t} {yes}, {t} {no}")
            return name
        k, top = self.new("choice")[1:], self.block
        self.emit(f"br i1 {c}, label %{k}.yes, label %{k}.join")
        self.label(f"{k}.yes")
        if sinks:
            v = self.new("v")
            self.emit(f"{v} = mul i32 {yes}, {self.r.choice([3, 5, 77])}")
            yes = v
        self.emit(f"br label %{k}.join")
        self.label(f"{k}.join")
        self.emit(f"{name} = phi {t} [ {yes}, %{k}.yes ], [ {no}, %{top} ]")
        return name
