"""gen_target: turns target/nvptx.def into nvptx_tables.h (enums, counts) and nvptx_tables.inc (tables).
Run at build: gen_target.py TABLE OUTDIR.

Problem: dozens of facts about each GPU are needed in six folders, and must agree.
Approach: read the whole table into rows of words, check every row, then write both files. The language of
the table is described at its top.

Stages, in this order below: reading (text to rows), checking (rows to facts), writing."""
import re

import gen_table
from gen_table import c_name, fault

MAX_FEATURES, FEATURE_WORDS = 384, 6  # six 64-bit words

# What a row declares, its first word: the words that it may hold beside its columns, the kind of row that
# declares its columns, whether its text needs a source.
KINDS = {
    "source": ("", None, False),
    "limit": ("", None, False),
    "limits": ("like", "limit", False),
    "class": ("", None, False),
    "throughput": ("like", "class", False),
    "wait": ("", None, False),
    "latency": ("like", "wait", False),
    "type": ("", None, False),
    "operation": ("like class special", "type", False),
    "family": ("", None, True),
    "legal": ("with without gains", None, True),
    "req": ("", None, True),
    "ptx": ("index", None, False),
    "feature": ("index cpus", None, True),
    "cpu": ("index elf code version family limits timing implies placeholder", None, True),
    "differs": ("", None, False),
}
ACTIONS = ["legal", "promote", "expand", "scalarize", "split"]
FLOATS = {"f16": ("TGT_HALF", 16), "bf16": ("TGT_BFLOAT", 16), "f32": ("TGT_FLOAT", 32),
          "f64": ("TGT_DOUBLE", 64)}


class Word:
    """key=value, or a bare word (value None), with the source that it stands under."""

    def __init__(self, key, value, source, unverified):
        self.key, self.value, self.source, self.unverified = key, value, source, unverified


class Row:
    def __init__(self, kind, name):
        self.kind, self.name, self.line = kind, name, gen_table.line
        self.text, self.source, self.unverified, self.words = "", None, False, []

    def find(self, key):
        return next((w for w in self.words if w.key == key), None)

    def value(self, key):
        word = self.find(key)
        return word.value or "" if word else None


class Feature:
    """A feature bit: from a `feature`, `ptx` or `cpu` row. The group is "fma-level" of fma-level=1, "ptx" of
    ptx80, else ""."""

    def __init__(self, row, index):
        self.row, self.index, self.key, self.text, self.group, self.value = row, index, row.name, row.text, "", 0
        if row.kind == "ptx":
            self.key, self.text = "ptx" + row.name, f"Use PTX version {row.name}"
            self.group, self.value = "ptx", int(row.name)
        elif row.kind == "cpu" and split_cpu_name(row.name):
            sm, suffix = split_cpu_name(row.name)
            self.text = {"": "", "a": "Accelerated ", "f": "Family Conditional "}[suffix] + f"Target SM {sm}"
        elif "=" in self.key:
            self.group, value = self.key.split("=", 1)
            self.value = int(value)

    def implies(self):
        """The bits of a CPU: its own and that of implies=; of others none."""
        bits = [0] * FEATURE_WORDS
        for i in [self.index, features_by_key.get(self.row.value("implies"), self).index]:
            if self.row.kind == "cpu":
                bits[i >> 6] |= 1 << (i & 63)
        return bits


rows = []
features = {}  # by index
features_by_key = {}


# --- reading ------------------------------------------------------------------------------------------

def rows_of(kind):
    return [r for r in rows if r.kind == kind]


def find_row(kind, name):
    return next((r for r in rows if r.kind == kind and r.name == name), None)


def read_source(name):
    """The row of a source, and whether it is marked [U]."""
    unverified = len(name) > 3 and name.endswith("[U]")
    name = name[:-3] if unverified else name
    source = find_row("source", name)
    if not source:
        fault(f"unknown source '@{name}'")
    return source, unverified


def read_row(text):
    tokens = re.findall('"([^"]*)"?|([^" \t][^ \t]*)', text)
    (_, kind), (quoted, name) = tokens[0], (tokens + [("", "")])[1]
    name = name or quoted
    same = find_row(kind, name)
    if kind not in KINDS:
        fault(f"unknown kind of row '{kind}'")
    elif not name:
        fault(f"a '{kind}' row needs a name")
    elif same:
        fault(f"duplicate {kind} '{name}', first in line {same.line}")
    else:
        row = Row(kind, name)
        rows.append(row)
        for quoted, word in tokens[2:]:
            key, _, value = word.partition("=")
            value, at, own = value.partition("@")
            if not word:
                row.text = quoted
            elif word[0] == "@":
                row.source, row.unverified = read_source(word[1:])
            else:
                source = read_source(own) if at else (row.source, row.unverified)
                row.words.append(Word(key, value if "=" in word else None, *source))


# --- checking ------------------------------------------------------------------------------------------

def number_of(word):
    """The word's value; a fault if it is no number or has no source."""
    m = re.fullmatch("(0[xX][0-9a-fA-F]+|[0-9]+)(K?)", word.value or "")
    if not m:
        fault(f"'{word.key}' needs a number")
    elif not word.source:
        fault(f"'{word.key}' has no source")
    return int(m[1], 16 if m[1][:2] in ("0x", "0X") else 10) * (1024 if m[2] else 1) if m else 0


def need_number(row, key):
    word = row.find(key)
    if not word:
        fault(f"{row.kind} '{row.name}' lacks '{key}='")
    return number_of(word) if word else 0


def check_words(row):
    words, columns, described = KINDS[row.kind]
    for word in row.words:
        if word.key not in words.split() and not find_row(columns, word.key):
            fault(f"unknown word '{word.key}' in a {row.kind} row")
        if row.find(word.key) is not word:
            fault(f"'{word.key}' given twice in one row")
    if described and not row.source:
        fault(f"{row.kind} '{row.name}' has no source")


def check_columns(row):
    """Each is given, or taken over from the row that like= names, or (in operations) has no meaning."""
    row.numbers, like = {}, row.value("like")
    if like is not None:
        base = find_row(row.kind, like)
        if not base or not hasattr(base, "numbers") or base is row:
            fault(f"no {row.kind} '{like}' above this row")
        else:
            row.numbers.update(base.numbers)
    for column in rows_of(KINDS[row.kind][1]):
        word = row.find(column.name)
        if word:
            row.numbers[column.name] = number_of(word), word.source, word.unverified
        elif column.name not in row.numbers and like is None and row.kind != "operation":
            fault(f"{row.kind} '{row.name}' lacks '{column.name}='")


def need_reference(row, key, kind):
    name = row.value(key)
    if name is None:
        fault(f"{row.kind} '{row.name}' lacks '{key}='")
    elif not find_row(kind, name):
        fault(f"unknown {kind} '{name}'")


def check_generations():
    """Every generation has a throughput and a latency row, in the same order."""
    throughputs, latencies = rows_of("throughput"), rows_of("latency")
    for i, latency in enumerate(latencies):
        if i >= len(throughputs) or throughputs[i].name != latency.name:
            fault(f"latency '{latency.name}' is not throughput row {i + 1}", latency.line)
    for throughput in throughputs[len(latencies):][:1]:
        fault(f"throughput '{throughput.name}' has no latency row", throughput.line)


def machine_type(name):
    """v2bf16: 2 lanes of the scalar TGT_BFLOAT, 16 bits wide; None if it is no type."""
    m = re.fullmatch("(?:v([0-9]+))?(?:i([0-9]+)|(.*))", name)
    lanes = int(m[1] or 1)
    scalar, bits = ("TGT_INTEGER", int(m[2])) if m[2] else FLOATS.get(m[3], (None, 0))
    return (lanes, scalar, bits) if 0 < lanes <= 1024 and scalar and bits <= 128 else None


def check_legal(row):
    if not machine_type(row.name):
        fault(f"'{row.name}' is not a type: iN, f16, bf16, f32, f64, or vN before one")
    if row.find("gains"):
        need_reference(row, "gains", "family")
    for key in ("with", "without"):
        if row.value(key) not in ACTIONS and (key == "with" or row.text):
            fault(f"legal '{row.name}' has no action {key}=")


def split_cpu_name(name):
    """sm_103f: 103 and "f"."""
    m = re.fullmatch("sm_([0-9]+)([af]?)", name)
    return (int(m[1]), m[2]) if m and 20 <= int(m[1]) < 650 else None


def check_cpu(row):
    if not split_cpu_name(row.name):
        fault(f"'{row.name}' is not a CPU name: sm_NN, sm_NNa or sm_NNf")
    code = need_number(row, "code")
    if not 5 <= code <= 7:
        fault(f"PTX code {code} is not 5, 6 or 7")
    need_number(row, "elf")
    version = need_number(row, "version")
    if not find_row("ptx", str(version)):
        fault(f"unknown PTX version '{version}'")
    if row.find("family"):
        need_reference(row, "family", "family")
    elif row.name.endswith("f"):
        fault(f"cpu '{row.name}' needs a family: it has the suffix f")
    need_reference(row, "limits", "limits")
    need_reference(row, "timing", "throughput")


def check_features():
    """Collects the feature bits of all rows; indices are dense, unique, ascending within a kind."""
    last, count = {}, 0
    for row in rows:
        gen_table.line = row.line
        if row.kind not in ("ptx", "feature", "cpu"):
            continue
        count += 1
        index = need_number(row, "index")
        if index >= MAX_FEATURES:
            fault(f"index {index} is not below {MAX_FEATURES}")
        elif index in features:
            taken = features[index].row
            fault(f"index {index} is taken by '{taken.name}' in line {taken.line}")
        elif index <= last.get(row.kind, -1):
            fault(f"index {index} is not above {last[row.kind]}, that of the row before")
        else:
            features[index] = Feature(row, index)
            last[row.kind] = index
    gap = next(i for i in range(count + 1) if i not in features)
    for above in sorted(i for i in features if i > gap)[:1]:
        fault(f"index {above} leaves a gap: no row has {gap}", features[above].row.line)
    features_by_key.update((f.key, f) for f in features.values())


def check_all():
    gen_table.line = 1
    if not rows_of("ptx"):
        fault("no row of kind 'ptx'")
    for row in rows:
        gen_table.line = row.line
        check_words(row)
        if KINDS[row.kind][1]:
            check_columns(row)
        if row.kind == "operation":
            need_reference(row, "class", "class")
        if row.kind == "legal":
            check_legal(row)
        if row.kind == "cpu":
            check_cpu(row)
        if row.find("cpus"):
            need_number(row, "cpus")
        if row.kind in ("legal", "req") and gen_table.Requirement(row.text).bad is not None:
            fault(f"can't read the requirement at '{gen_table.Requirement(row.text).bad}'")
    check_generations()
    check_features()
    for row in rows if not gen_table.faults else []:
        gen_table.line = row.line
        if row.find("implies") and row.value("implies") not in features_by_key:
            fault(f"unknown feature '{row.value('implies')}'")


# --- writing --------------------------------------------------------------------------------------------

def boolean(value):
    return "true" if value else "false"


def source_name(source):
    return "TGT_SOURCE_" + c_name(source.name)


# The enums of rows: kind, tag, prefix, whether it begins with PREFIX_NONE.
ENUMS = [("source", "source", "SOURCE", False), ("family", "family", "FAMILY", True),
         ("limit", "limit", "LIMIT", False), ("limits", "limits_index", "LIMITS", False),
         ("class", "class", "CLASS", False), ("throughput", "generation", "GENERATION", False),
         ("wait", "wait", "WAIT", False), ("type", "type", "TYPE", False),
         ("operation", "operation_index", "OPERATION", False), ("req", "need", "NEED", False)]


def header():
    out = ("/* Made by gen_target from target/nvptx.def; do not edit. */\n"
           "#ifndef NVM_NVPTX_TABLES_H\n#define NVM_NVPTX_TABLES_H\n\n"
           "/* Feature bits; the numbers are stable for ever. */\nenum tgt_feature_index {\n")
    for i in range(len(features)):
        out += f"  TGT_FEATURE_{c_name(features[i].key)} = {i},\n"
    ptx = rows_of("ptx")
    counts = {"FEATURE_COUNT": len(features), "FEATURE_WORDS": FEATURE_WORDS, "CPU_COUNT": len(rows_of("cpu")),
              "PTX_COUNT": len(ptx), "LEGALITY_COUNT": len(rows_of("legal")),
              "DIFFERS_COUNT": len(rows_of("differs"))}
    out += "};\n\nenum {\n" + "".join(f"  TGT_{name} = {n},\n" for name, n in counts.items())
    out += f"  TGT_PTX_LOWEST = {ptx[0].name},  /* major * 10 + minor */\n  TGT_PTX_HIGHEST = {ptx[-1].name},\n}};\n\n"
    for kind, tag, prefix, none in ENUMS:
        out += f"enum tgt_{tag} {{\n" + f"  TGT_{prefix}_NONE, /* none */\n" * none
        out += "".join(f"  TGT_{prefix}_{c_name(r.name)}, /* {r.text} */\n" for r in rows_of(kind))
        out += f"  TGT_{prefix}_COUNT\n}};\n\n"
    return out + "#endif\n"


def sorted_features(kind=None):
    return sorted((f for f in features.values() if kind in (None, f.row.kind)), key=lambda f: f.key)


def bits_text(bits):
    return "{" + ", ".join(f"0x{b:x}u" for b in bits) + "}"


# What every feature implies as a feature, and every CPU for tuning (seed 5): asserted.
NO_BITS = [0] * FEATURE_WORDS


def cpu_text(f):
    row = f.row
    family, version = row.value("family"), row.find("version")
    sm, suffix = split_cpu_name(row.name)
    return (f'  {{.name = "{row.name}", .product = "{row.text}", .sm = {sm}, '
            f".full_sm = {gen_table.full_sm(row.name)}, .suffix = {ord(suffix) if suffix else 0},\n"
            f"   .min_ptx = {version.value}, .ptx_code = {row.value('code')}, .elf_byte = {row.value('elf')}, "
            f".self = {f.index}, .placeholder = {boolean(row.find('placeholder'))},\n"
            f"   .family = TGT_FAMILY_{c_name(family or 'none')}, .limits = TGT_LIMITS_{c_name(row.value('limits'))}, "
            f".generation = TGT_GENERATION_{c_name(row.value('timing'))},\n"
            f"   .version_source = {source_name(version.source)}, "
            f".version_unverified = {boolean(version.unverified)},\n"
            f"   .implies = {bits_text(f.implies())}, .tune_implies = {bits_text(NO_BITS)}}},\n")


def cpu_tables():
    cpus = sorted_features("cpu")
    return ("/* Sorted as strcmp sorts. */\nstatic const struct tgt_cpu cpu_table[] = {\n"
            + "".join(map(cpu_text, cpus))
            + "};\n\n/* The names alone, in the same order, for early checks of --cpu. */\n"
            "static const struct tgt_name cpu_names[] = {\n"
            + "".join(f'  {{"{f.key}", {len(f.key)}}},\n' for f in cpus) + "};\n\n")


def feature_table():
    return ("/* Sorted by key; `index` is the bit. */\nstatic const struct tgt_feature feature_table[] = {\n"
            + "".join(f'  {{.key = "{f.key}", .description = "{f.text}", .group = "{f.group}", .index = {f.index}, '
                      f".value = {f.value}, .implies = {bits_text(NO_BITS)}}},\n" for f in sorted_features())
            + "};\n\n")


def column_table(kind):
    """All rows of a kind with columns: of each number value, source, [U]. One without meaning is 0."""
    out = f"static const struct tgt_{kind} {kind}_table[] = {{\n"
    for row in rows_of(kind):
        out += f'  {{.name = "{row.name}", '
        if kind == "operation":
            out += (f".integer_class = TGT_CLASS_{c_name(row.value('class'))}, "
                    f".special = {boolean(row.find('special'))}, ")
        out += ".number = {\n"
        for column in rows_of(KINDS[kind][1]):
            value, source, unverified = row.numbers.get(column.name, (0, rows[0], False))
            out += f"    {{{value}, {source_name(source)}, {boolean(unverified)}}},\n"
        out += "  }},\n"
    return out + "};\n\n"


def need_text(row):
    return gen_table.Requirement(row.text).c()


def legal_tables():
    out = "static const struct tgt_legality legality_table[] = {\n"
    for row in rows_of("legal"):
        lanes, scalar, bits = machine_type(row.name)
        there = row.value("with")
        before = row.value("without") if row.value("without") in ACTIONS else there
        out += (f'  {{.name = "{row.name}", .scalar = {scalar}, .bits = {bits}, .lanes = {lanes},\n'
                f"   .with = TGT_{there.upper()}, .without = TGT_{before.upper()}, "
                f".gains = TGT_FAMILY_{c_name(row.value('gains') or 'none')},\n   .need = {need_text(row)}}},\n")
    return (out + "};\n\nstatic const struct tgt_requirement need_table[] = {\n"
            + "".join(f"  {need_text(r)}, /* {r.name} */\n" for r in rows_of("req")) + "};\n\n")


def name_table(kind):
    return (f"static const struct tgt_described {kind}_table[] = {{\n"
            + "".join(f'  {{"{r.name}", "{r.text}"}},\n' for r in rows_of(kind)) + "};\n\n")


def order_assert(a, b):
    """C can't compare strings in a constant expression; it can compare their bytes as big-endian numbers."""
    words = [[int.from_bytes(key.encode()[at:at + 8].ljust(8, b"\0"), "big") for key in (a, b)] for at in (0, 8, 16)]
    return ("_Static_assert(" + "".join(f"0x{x:x}u < 0x{y:x}u || (0x{x:x}u == 0x{y:x}u && (" for x, y in words)
            + f'0)))))), "{a} sorts before {b}");\n')


def count_assert(f):
    """For a feature with cpus=N: so many CPU rows imply it. Sums the bits as emitted."""
    count = f.row.value("cpus")
    cpus = [features[i] for i in range(len(features)) if features[i].row.kind == "cpu"]
    return ("_Static_assert(0" + "".join(f" + (0x{c.implies()[f.index >> 6]:x}u >> {f.index & 63} & 1)" for c in cpus)
            + f' == {count}, "{count} CPUs imply {f.key}");\n')


def self_assert(f):
    """Each CPU has its own bit and that of no other CPU."""
    cpus = NO_BITS[:]
    for c in sorted_features("cpu"):
        cpus[c.index >> 6] |= 1 << (c.index & 63)
    own = [1 << (f.index & 63) if i == f.index >> 6 else 0 for i in range(FEATURE_WORDS)]
    return ("_Static_assert(" + " && ".join(f"(0x{b:x}u & 0x{c:x}u) == 0x{o:x}u"
                                            for b, c, o in zip(f.implies(), cpus, own))
            + f', "{f.key}: one self bit");\n')


def zero_assert(key, what):
    return "_Static_assert((0" + "".join(f" | 0x{b:x}u" for b in NO_BITS) + f') == 0, "{key} {what}");\n'


def asserts():
    """What must hold of the tables, proved by the compiler."""
    out = ('_Static_assert(sizeof cpu_table / sizeof cpu_table[0] == TGT_CPU_COUNT, "CPUs");\n'
           '_Static_assert(sizeof cpu_names / sizeof cpu_names[0] == TGT_CPU_COUNT, "names");\n'
           "_Static_assert(sizeof feature_table / sizeof feature_table[0] == TGT_FEATURE_COUNT, \"features\");\n"
           '_Static_assert(TGT_FEATURE_COUNT <= 64 * TGT_FEATURE_WORDS, "bits");\n')
    for table in (sorted_features("cpu"), sorted_features()):
        out += "".join(order_assert(a.key, b.key) for a, b in zip(table, table[1:]))
    for f in sorted_features():
        out += count_assert(f) if f.row.find("cpus") else ""
        out += zero_assert(f.key, "implies no feature")
        if f.row.kind == "cpu":
            out += self_assert(f) + zero_assert(f.key, "has no tuning bits")
    return out


def tables():
    out = "/* Made by gen_target from target/nvptx.def; do not edit. Included by target.c only. */\n\n"
    out += "".join(map(name_table, ("source", "family", "limit", "differs")))
    out += "".join(map(column_table, ("limits", "throughput", "latency", "operation")))
    out += legal_tables()
    out += f"static const uint8_t ptx_table[] = {{{', '.join(r.name for r in rows_of('ptx'))}}};\n\n"
    return out + cpu_tables() + feature_table() + asserts()


gen_table.main(read_row, check_all, {"nvptx_tables.h": header, "nvptx_tables.inc": tables})
