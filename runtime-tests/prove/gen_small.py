#!/usr/bin/env python3
"""Writes a module of small functions for prove_passes.py:

    gen_small.py SEED [--functions N] [--size N]

Unlike other generators it does not avoid undefined behaviour: flags, divisions, shifts, undef, poison, unreachable,
branches on anything, stores through pointers that may be equal. What passes may do with these is what Z3 decides."""
import argparse
import random

TYPES = ["i1", "i8", "i32", "i8", "i16", "i64", "i32", "i7"]
PREDICATES = "eq ne ugt uge ult ule sgt sge slt sle".split()


class Function:
    def __init__(self, rng, name, size):
        self.r, self.name, self.size, self.lines, self.n = rng, name, size, [], 0
        self.types = rng.sample(TYPES, 2) + ["i1"]
        if rng.random() < 0.5:
            self.types = [rng.choice(["i8", "i8", "i32", "i16"]), "i1"]
        self.pool = {"ptr": []}
        self.block = "entry"
        self.depth, self.loops = 0, 1
        self.pointers = rng.random() < 0.55
        self.history = []

    def new(self):
        self.n += 1
        return f"%v{self.n}"

    def emit(self, text):
        self.lines.append("  " + text)

    def op(self, t, text):
        v = self.new()
        self.emit(f"{v} = {text}")
        self.pool.setdefault(t, []).append(v)
        return v

    def type(self):
        return self.r.choice(self.types)

    def constant(self, t):
        w = int(t[1:])
        if w == 1:
            return self.r.choice(["true", "false"])
        v = self.r.choice([0, 1, 2, 3, 4, 5, 7, 8, -1, -2, -3, w - 1, w, 1 << (w - 1), (1 << (w - 1)) - 1, self.r.getrandbits(w)]) & ((1 << w) - 1)
        return str(v - (1 << w) if v >> (w - 1) else v)

    def value(self, t):
        have = self.pool.get(t, [])
        x = self.r.random()
        if have and x < 0.8:
            return self.r.choice(have[-5:])
        if x > 0.985:
            return self.r.choice(["undef", "poison"])
        if not have and x < 0.5 and t != "i1":
            other = [u for u in self.pool if u != "ptr" and u != t and self.pool[u]]
            if other:
                u = self.r.choice(other)
                v = self.r.choice(self.pool[u])
                word = "trunc" if int(u[1:]) > int(t[1:]) else self.r.choice(["zext", "sext"])
                return self.op(t, f"{word} {u} {v} to {t}")
        return self.constant(t)

    # --- steps
    def integer(self):
        t, r = self.type(), self.r
        op = r.choice("add sub mul and or xor shl lshr ashr add sub and or xor udiv sdiv urem srem".split())
        flags = ""
        if op in ("add", "sub", "mul", "shl"):
            flags = "".join(f" {f}" for f in ("nuw", "nsw") if r.random() < 0.3)
        elif op in ("lshr", "ashr", "udiv", "sdiv") and r.random() < 0.25:
            flags = " exact"
        elif op == "or" and r.random() < 0.15:
            flags = " disjoint"
        a = self.value(t)
        b = self.constant(t) if r.random() < 0.45 else self.value(t)
        if op in ("shl", "lshr", "ashr") and r.random() < 0.7 and t != "i1":
            b = str(r.randrange(int(t[1:]) if t != "i8" else 8))
            if int(t[1:]) == 7:
                b = str(int(b) % 7)
        self.op(t, f"{op}{flags} {t} {a}, {b}")
        self.history.append((t, op, flags, a, b))

    def again(self):
        """An earlier operation once more, with other flags perhaps."""
        for t, op, flags, a, b in self.r.sample(self.history, len(self.history)):
            if all(v in self.pool.get(t, []) or v[0] != "%" for v in (a, b)):
                if self.r.random() < 0.7:
                    flags = self.r.choice(["", "", " nsw", " nuw"]) if op in ("add", "sub", "mul", "shl") else ""
                self.op(t, f"{op}{flags} {t} {a}, {b}")
                return
        self.integer()

    def compare(self):
        t = self.type()
        same = " samesign" if self.r.random() < 0.05 else ""
        self.op("i1", f"icmp{same} {self.r.choice(PREDICATES)} {t} {self.value(t)}, {self.constant(t) if self.r.random() < 0.5 else self.value(t)}")

    def select(self):
        t = self.type()
        self.op(t, f"select i1 {self.value('i1')}, {t} {self.value(t)}, {t} {self.value(t)}")

    def freeze(self):
        t = self.type()
        self.op(t, f"freeze {t} {self.value(t)}")

    def convert(self):
        a, b = self.r.sample(TYPES, 2)
        a, b = sorted((self.type(), self.r.choice([a, b])), key=lambda t: int(t[1:]))
        if a == b:
            return
        k = self.r.random()
        if k < 0.4:
            flags = self.r.choice(["", "", "", " nuw", " nsw"])
            self.op(a, f"trunc{flags} {b} {self.value(b)} to {a}")
        elif k < 0.7:
            self.op(b, f"zext{self.r.choice(['', '', ' nneg'])} {a} {self.value(a)} to {b}")
        else:
            self.op(b, f"sext {a} {self.value(a)} to {b}")

    def intrinsic(self):
        t = self.r.choice([t for t in self.types if t != "i1" and t != "i7"] or ["i32"])
        k = self.r.choice("umin umax smin smax abs ctpop ctlz cttz bitreverse bswap fshl fshr uadd.sat sadd.sat usub.sat ssub.sat".split())
        if k == "bswap" and t == "i8":
            k = "bitreverse"
        a = [f"{t} {self.value(t)}"]
        if k in ("fshl", "fshr"):
            a += [f"{t} {self.value(t)}", f"{t} {self.constant(t)}"]
        elif k in ("abs", "ctlz", "cttz"):
            a.append(f"i1 {self.r.choice(['true', 'false'])}")
        elif k not in ("ctpop", "bitreverse", "bswap"):
            a.append(f"{t} {self.value(t)}")
        self.op(t, f"call {t} @llvm.{k}.{t}({', '.join(a)})")

    def overflow(self):
        t = self.r.choice([t for t in self.types if t not in ("i1", "i7")] or ["i32"])
        k = self.r.choice(["uadd", "sadd", "usub", "ssub", "umul"])
        v = self.new()
        self.emit(f"{v} = call {{ {t}, i1 }} @llvm.{k}.with.overflow.{t}({t} {self.value(t)}, {t} {self.value(t)})")
        self.op(t, f"extractvalue {{ {t}, i1 }} {v}, 0")
        self.op("i1", f"extractvalue {{ {t}, i1 }} {v}, 1")

    def memory(self):
        if not self.pointers:
            return self.integer()
        r = self.r
        k = r.random()
        p = r.choice(self.pool["ptr"][-4:] if r.random() < 0.7 else self.pool["ptr"])
        t = self.r.choice([t for t in self.types if t not in ("i1", "i7")] or ["i8"])
        if k < 0.25:
            flags = r.choice(["", " inbounds", " inbounds", " nuw"])
            if r.random() < 0.6:
                self.op("ptr", f"getelementptr{flags} {t}, ptr {p}, i64 {r.choice([0, 1, 1, 2, -1, 4])}")
            else:
                u = self.type()
                self.op("ptr", f"getelementptr{flags} {t}, ptr {p}, {u} {self.value(u)}")
        elif k < 0.6:
            self.op(t, f"load {t}, ptr {p}, align 1")
        else:
            self.emit(f"store {t} {self.value(t)}, ptr {p}, align 1")

    def call(self):
        r = self.r
        t = self.r.choice(["i8", "i32"])
        name = r.choice(["@some", "@pure", "@reading", "@some"]) + t[1:]
        self.op(t, f"call {t} {name}({t} {self.value(t)})")

    def assume(self):
        self.emit(f"call void @llvm.assume(i1 {self.value('i1')})")

    def diamond(self):
        if self.depth > 1:
            return self.integer()
        self.n += 1
        n, c, saved = self.n, self.value("i1"), {t: list(v) for t, v in self.pool.items()}
        kinds = self.r.random()
        self.emit(f"br i1 {c}, label %then{n}, label %else{n}")
        ends, results, t = [], [], self.type()
        for arm in ("then", "else"):
            self.lines.append(f"{arm}{n}:")
            self.block = f"{arm}{n}"
            self.pool = {u: list(v) for u, v in saved.items()}
            self.depth += 1
            for _ in range(self.r.randrange(0, 3)):
                self.step()
            self.depth -= 1
            if kinds < 0.06 and arm == "else":
                self.emit("unreachable")
                continue
            if kinds > 0.9 and arm == "else" and self.ret:
                self.emit(f"ret {self.ret} {self.value(self.ret)}")
                continue
            results.append(self.value(t))
            ends.append(self.block)
            self.emit(f"br label %join{n}")
        self.lines.append(f"join{n}:")
        self.block, self.pool = f"join{n}", saved
        self.op(t, f"phi {t} " + ", ".join(f"[ {v}, %{b} ]" for v, b in zip(results, ends)))

    def switch(self):
        if self.depth > 1:
            return self.integer()
        self.n += 1
        n, t, saved = self.n, self.r.choice([t for t in self.types if t != "i1"] or ["i8"]), {t: list(v) for t, v in self.pool.items()}
        count = self.r.randrange(1, 4)
        numbers = self.r.sample(range(0, 6), count)
        value = self.value(t)
        self.emit(f"switch {t} {value}, label %d{n} [ " + " ".join(f"{t} {k}, label %c{n}.{k}" for k in numbers) + " ]")
        u, arms = self.type(), []
        for k in [*numbers, None]:
            name = f"d{n}" if k is None else f"c{n}.{k}"
            self.lines.append(name + ":")
            self.block, self.pool = name, {x: list(v) for x, v in saved.items()}
            self.depth += 2
            if self.r.random() < 0.5:
                self.step()
            self.depth -= 2
            arms.append((self.value(u), self.block))
            self.emit(f"br label %join{n}")
        self.lines.append(f"join{n}:")
        self.block, self.pool = f"join{n}", saved
        self.op(u, f"phi {u} " + ", ".join(f"[ {v}, %{b} ]" for v, b in arms))

    def loop(self):
        if self.depth:
            return self.compare()
        r = self.r
        self.n += 1
        n, t, u = self.n, r.choice(["i8", "i32", "i32", "i64"]), self.type()
        first, limit = self.value(u), r.choice([self.value(t), str(r.randrange(1, 6))])
        before = self.block
        self.emit(f"br label %loop{n}")
        self.lines.append(f"loop{n}:")
        at = len(self.lines)
        saved = {x: list(v) for x, v in self.pool.items()}
        self.pool.setdefault(t, []).append(f"%i{n}")
        self.pool.setdefault(u, []).append(f"%s{n}")
        self.block, self.depth = f"loop{n}", self.depth + 1
        for _ in range(r.randrange(1, 4)):
            self.step()
        flags = r.choice(["", " nsw", " nuw", " nuw nsw"])
        self.emit(f"%next{n} = add{flags} {t} %i{n}, {r.choice([1, 1, 1, 2, -1])}")
        carried = self.value(u)
        self.emit(f"%more{n} = icmp {r.choice(['slt', 'ult', 'ne', 'sgt'])} {t} %next{n}, {limit}")
        self.emit(f"br i1 %more{n}, label %loop{n}, label %after{n}")
        self.lines[at:at] = [f"  %i{n} = phi {t} [ {r.choice(['0', '0', '1'])}, %{before} ], [ %next{n}, %{self.block} ]",
                             f"  %s{n} = phi {u} [ {first}, %{before} ], [ {carried}, %{self.block} ]"]
        end = f"after{n}"
        inside = self.pool
        self.depth -= 1
        self.lines.append(end + ":")
        self.block, self.pool = end, saved
        self.pool.setdefault(t, []).append(f"%next{n}")
        self.pool.setdefault(u, []).extend([f"%s{n}"] + [v for v in inside.get(u, [])[-1:] if not v.startswith(("%i", "%s")) and v not in saved.get(u, [])
                                                         and self.top_level(v, at)])

    def while_loop(self):
        """Tested at its head: what the body does may not happen."""
        if self.depth:
            return self.select()
        r = self.r
        self.n += 1
        n, t, u = self.n, r.choice(["i8", "i32", "i64"]), self.type()
        first, limit, before = self.value(u), r.choice([self.value(t), str(r.randrange(1, 5))]), self.block
        self.emit(f"br label %head{n}")
        self.lines.append(f"head{n}:")
        at = len(self.lines)
        self.emit(f"%more{n} = icmp {r.choice(['slt', 'ult', 'ne'])} {t} %i{n}, {limit}")
        self.emit(f"br i1 %more{n}, label %body{n}, label %after{n}")
        self.lines.append(f"body{n}:")
        saved = {x: list(v) for x, v in self.pool.items()}
        if r.random() < 0.5:  # else the body computes from invariants mostly
            self.pool.setdefault(t, []).append(f"%i{n}")
        self.pool.setdefault(u, []).append(f"%s{n}")
        self.block, self.depth = f"body{n}", 1
        for _ in range(r.randrange(1, 4)):
            self.step()
        carried = self.value(u)
        self.emit(f"%next{n} = add{r.choice(['', ' nsw', ' nuw'])} {t} %i{n}, 1")
        self.emit(f"br label %head{n}")
        self.lines[at:at] = [f"  %i{n} = phi {t} [ 0, %{before} ], [ %next{n}, %{self.block} ]",
                             f"  %s{n} = phi {u} [ {first}, %{before} ], [ {carried}, %{self.block} ]"]
        self.lines.append(f"after{n}:")
        self.block, self.pool, self.depth = f"after{n}", saved, 0
        self.pool.setdefault(u, []).append(f"%s{n}")

    def array_loop(self):
        """A loop over few elements behind pointers, as vectorizer, unroller and strength reduction want them."""
        if self.depth or not self.pointers:
            return self.memory()
        r = self.r
        self.n += 1
        n, t, trips = self.n, r.choice(["i8", "i16", "i32", "i32"]), r.choice([2, 3, 4, 4, 5, 8, 8, 9])
        step, before = r.choice([1, 1, 1, 2]), self.block
        start = self.value(t)
        self.emit(f"br label %loop{n}")
        self.lines.append(f"loop{n}:")
        self.emit(f"%i{n} = phi i64 [ 0, %{before} ], [ %next{n}, %loop{n} ]")
        self.emit(f"%s{n} = phi {t} [ {start}, %{before} ], [ %sum{n}, %loop{n} ]")
        values = [f"%s{n}", f"%s{n}"] if r.random() < 0.6 else []
        for _ in range(r.randrange(1, 3)):
            p, q, v = r.choice(self.pool["ptr"]), self.new(), self.new()
            back = r.choice(["", "", "", "", "r", "off"])
            index = f"%i{n}"
            if back:
                index = self.new()
                self.emit(f"{index} = sub i64 {trips - 1 if back == 'r' else 3}, %i{n}" if back == "r" else f"{index} = add i64 %i{n}, {r.choice([1, -1, 2])}")
            self.emit(f"{q} = getelementptr {r.choice(['', 'inbounds '])}{t}, ptr {p}, i64 {index}")
            self.emit(f"{v} = load {t}, ptr {q}, align 1")
            values += [v]
            if r.random() < 0.7:
                w = self.new()
                self.emit(f"{w} = {r.choice(['add', 'xor', 'mul', 'sub', 'and'])} {t} {r.choice(values)}, {r.choice(values + [self.constant(t)])}")
                values.append(w)
                if r.random() < 0.8:
                    if r.random() < 0.5:
                        q = self.new()
                        self.emit(f"{q} = getelementptr {t}, ptr {r.choice(self.pool['ptr'])}, i64 %i{n}")
                    self.emit(f"store {t} {w}, ptr {q}, align 1")
        self.emit(f"%sum{n} = {r.choice(['add', 'xor', 'or', 'add nsw', 'mul'])} {t} %s{n}, {values[-1]}")
        self.emit(f"%next{n} = add {r.choice(['nuw nsw ', '', 'nsw '])}i64 %i{n}, {step}")
        limit = trips * step
        self.emit(f"%more{n} = icmp {r.choice(['ne', 'ult', 'slt'])} i64 %next{n}, {limit}")
        self.emit(f"br i1 %more{n}, label %loop{n}, label %after{n}")
        self.lines.append(f"after{n}:")
        self.block = f"after{n}"
        self.pool.setdefault(t, []).append(f"%sum{n}")

    def top_level(self, v, at):
        """Defined in the loop's own blocks that every iteration passes: not inside of an arm."""
        arm = False
        for line in self.lines[at:]:
            if line.endswith(":"):
                arm = line.startswith(("then", "else", "c", "d"))
            elif line.startswith(f"  {v} = "):
                return not arm
        return False

    def variable(self):
        """A variable of the function, uninitialized."""
        if self.pointers and self.block == "entry" and len(self.lines) < 6:
            t = self.r.choice(["i8", "i32", "[2 x i32]", "{ i8, i32 }"])
            self.op("ptr", f"alloca {t}")
        else:
            self.memory()

    def step(self):
        r = self.r
        kinds = [(self.integer, 10), (self.again, 1.5), (self.compare, 4), (self.select, 4), (self.freeze, 1), (self.convert, 2), (self.intrinsic, 2),
                 (self.overflow, 0.3), (self.memory, 7 if self.pointers else 0), (self.call, 0.7), (self.assume, 0.4), (self.diamond, 2.5),
                 (self.switch, 0.5), (self.loop, 0.4 * min(3, self.loops)), (self.while_loop, 0.4 * min(3, self.loops)), (self.array_loop, 0.25 * self.loops if self.pointers else 0), (self.variable, 1.5 if self.pointers else 0)]
        r.choices([k for k, _ in kinds], [w for _, w in kinds])[0]()

    def text(self):
        r = self.r
        args = []
        for k in range(r.randrange(1, 4)):
            t = self.type()
            facts = " noundef" if r.random() < 0.25 else ""
            if t != "i1" and r.random() < 0.08:
                facts += f" range({t} 0, 10)"
            args.append(f"{t}{facts} %a{k}")
            self.pool.setdefault(t, []).append(f"%a{k}")
        if self.pointers:
            for k in range(r.randrange(1, 3)):
                facts = " noalias" if r.random() < 0.15 else ""
                facts += " noundef" if r.random() < 0.3 else ""
                args.append(f"ptr{facts} %p{k}")
                self.pool["ptr"].append(f"%p{k}")
        self.ret = self.type() if r.random() < 0.85 or not self.pointers else ""
        for _ in range(self.size):
            self.step()
        self.emit(f"ret {self.ret} {self.value(self.ret)}" if self.ret else "ret void")
        head = f"define {self.ret or 'void'} @{self.name}({', '.join(args)}) {{"
        return "\n".join([head, "entry:", *self.lines, "}"])


def generate(seed, functions=25, size=8):
    rng = random.Random(seed)
    out = []
    for k in range(functions):
        f = Function(rng, f"f{k}", rng.randrange(2, size + 1))
        f.loops = 20 if seed % 10 == 3 else 1  # each tenth module has more loops, which take Z3 longer
        f.pointers |= seed % 10 == 3
        out.append(f.text())
    for t in ("i8", "i32"):
        out += [f"declare {t} @some{t[1:]}({t})", f"declare {t} @pure{t[1:]}({t}) memory(none) willreturn nounwind",
                f"declare {t} @reading{t[1:]}({t}) memory(read) willreturn nounwind"]
    return 'target triple = "nvptx64-nvidia-cuda"\n\n' + "\n\n".join(out) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", type=int)
    parser.add_argument("--functions", type=int, default=25)
    parser.add_argument("--size", type=int, default=8)
    options = parser.parse_args()
    print(generate(options.seed, options.functions, options.size), end="")
