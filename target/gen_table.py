"""What the generators of tables share: the rows of a table, reports of what is wrong with them,
requirements by name, output that is whole or not there.

usage of each: gen_X.py TABLE [NAMES] OUTDIR. The rows `req` of NAMES are names of requirements. What is
wrong is printed as `file:line: error: ...`; then the exit status is 1 and nothing is written."""
import os
import re
import sys

MOST_FAULTS = 20  # that are printed
MOST_ALTERNATIVES = 8  # TGT_MAX_ALTERNATIVES
path, line, faults = "", 0, 0  # of the row that is being read


def fault(message, at=None):
    global faults
    faults += 1
    if faults <= MOST_FAULTS:
        print(f"{path}:{line if at is None else at}: error: {message}", file=sys.stderr)


def fail(message):
    fault(message)
    sys.exit(1)


def rows(indented):
    """The rows of the table at `path` without comments, `line` set to the first line of each. A row goes on
    behind a `\\` at the end of a line and, if `indented`, in lines that begin with a blank."""
    global line
    row, goes_on = "", False
    with open(path, encoding="utf-8") as file:
        for number, text in enumerate(file, 1):
            text = re.split("[#\r\n]", text, maxsplit=1)[0]
            if not text:
                continue
            if row and (goes_on or (indented and text[0] in " \t")):
                row += " " + text.strip()
            else:
                if row.strip():
                    yield row
                line, row = number, text
            goes_on = row.endswith("\\")
            row = row[:-1] if goes_on else row
    if row.strip():
        yield row


def c_name(text):
    """As part of a C name: fma-level=1 is FMA_LEVEL_1."""
    return re.sub("[^0-9A-Za-z]+", "_", text).lstrip("_").upper()


# --- requirements: see target/requirement.h ----------------------------------------------------------

def full_sm(name):
    """sm_103a is 10311; None if it is no CPU's name."""
    m = re.fullmatch("sm_([1-9][0-9]{1,3})([af]?)", name)
    return int(m[1]) * 100 + {"": 0, "f": 10, "a": 11}[m[2]] if m and int(m[1]) <= 650 else None


class Requirement:
    """Of a text; `bad` is its end from where it can't be read, None if all can."""

    def __init__(self, text):
        self.fields, self.cpus, self.tmem, self.bad = {}, [], False, None
        for m in re.finditer("[^ \t]+", text):
            at = self.read(m[0])
            if at is not None:
                self.bad = text[m.start() + at:]
                return

    def read(self, word):
        """Takes a word; returns where in it something is wrong, or None."""
        number = re.fullmatch("(ptx|before_sm_|before_ptx)(.+)", word)
        if number:
            field = {"ptx": "min_ptx"}.get(number[1], number[1].rstrip("_"))
            if not re.fullmatch("[0-9]{2,4}", number[2]) or int(number[2]) > 255 or field in self.fields:
                return 0
            self.fields[field] = int(number[2])
            return None
        if self.cpus or self.tmem:
            return 0
        for m in re.finditer("(?:^|(?<=[|]))[^|]*", word):
            if m[0] == "tmem":
                self.tmem = True
            elif full_sm(m[0]) is None or len(self.cpus) == MOST_ALTERNATIVES:
                return m.start()
            else:
                self.cpus.append(full_sm(m[0]))
        return None

    def c(self):
        """An initializer of struct tgt_requirement."""
        c = f"{{.min_ptx = {self.fields.get('min_ptx', 0)}" + ", .tmem = true" * self.tmem
        c += "".join(f", .{f} = {self.fields[f]}" for f in ("before_sm", "before_ptx") if f in self.fields)
        if self.cpus:
            c += f", .count = {len(self.cpus)}, .any_of = {{{', '.join(map(str, self.cpus))}}}"
        return c + "}"


names = {}  # of requirements: the texts that they stand for
needs = {"": (0, "{.min_ptx = 0}")}  # distinct requirements by text: their number, as an initializer


def find_need(words):
    """The number of a requirement, entered if new; `$NAME` stands for what NAME says."""
    def expanded(m):
        if m[1] not in names:
            fault(f"unknown requirement '{m[0]}'")
        return names.get(m[1], "")
    text = re.sub("[$]([^ |]+)", expanded, words)
    if text not in needs:
        r = Requirement(text)
        if r.bad is not None:
            fault(f"'{r.bad}' is no requirement")
            return 0
        needs[text] = len(needs), r.c()
    return needs[text][0]


# --- the whole of a generator -------------------------------------------------------------------------

def write(folder, texts):
    try:
        for name, text in texts.items():
            with open(os.path.join(folder, name + ".new"), "w", encoding="utf-8") as file:
                file.write(text)
        for name in texts:
            os.replace(os.path.join(folder, name + ".new"), os.path.join(folder, name))
    except OSError:
        sys.exit(f"can't write to {folder}")


def main(read_row, finish, files, indented=True):
    """Gives each row to read_row, then calls finish, which may find faults in the whole, then writes the
    files: by name, the function that returns the text of each."""
    global path
    sys.stderr.reconfigure(encoding="utf-8")
    if len(sys.argv) not in (3, 4):
        print(f"usage: {sys.argv[0]} TABLE [NAMES] OUTDIR", file=sys.stderr)
        sys.exit(2)
    try:
        for path in sys.argv[2:-1]:
            found = (re.match('req (\\S+) [^"]*"([^"]*)"', row) for row in rows(True))
            names.update(m.groups() for m in found if m)
        path = sys.argv[1]
        for row in rows(indented):
            read_row(row)
    except OSError:
        sys.exit(f"{sys.argv[0]}: can't read {path}")
    if not faults:
        finish()
    texts = {} if faults else {name: text() for name, text in files.items()}
    if faults:
        sys.exit(1)
    write(sys.argv[-1], texts)
