"""Checks that the commands show every value and source of every row of target/nvptx.def, as JSON and
as text. The table is read here a second time, so that a column that no command prints is found."""
import json
import re
import shlex
import subprocess
import sys

COLUMNS = {"limits": "limit", "throughput": "class", "latency": "wait", "operation": "type"}


def read_table(path):
    """Rows by kind and name: (words {key: (value, source)}, text, source)."""
    rows, lines = {}, []
    for line in open(path):
        if line.startswith("#") or not line.strip(): continue
        if line[0] in " \t": lines[-1] += " " + line.strip()
        else: lines.append(line.strip())
    for line in lines:
        kind, name, *rest = shlex.split(line)
        quoted = re.search('"(.*)"', line)
        words, text, source = {}, "", ""
        for word in rest:
            if word.startswith("@"): source = word[1:]
            elif quoted and word == quoted.group(1): text = word
            else:
                key, _, value = word.partition("=")
                words[key] = (value, source)
        if "like" in words:
            words = {**rows[kind][words.pop("like")[0]][0], **words}
        rows.setdefault(kind, {})[name] = (words, text, source)
    return rows


def number(text):
    return int(text[:-1]) * 1024 if text.endswith("K") else int(text, 0)


def run(*words):
    return subprocess.run(["nvmini", *words], capture_output=True, text=True, check=True).stdout


def both(*words):
    """The JSON of a command, after checking that its text has the same names and values."""
    data, text = json.loads(run(*words, "--format", "json")), run(*words)
    tokens = set(re.split(r"[\s,()]+", text))
    for leaf in leaves(data):
        if isinstance(leaf, str): same("text of " + " ".join(words), leaf in text, True, leaf)
        elif not isinstance(leaf, bool): same("text of " + " ".join(words), str(leaf) in tokens, True, leaf)
    return data


def leaves(data):
    if isinstance(data, (dict, list)):
        for item in data.values() if isinstance(data, dict) else data: yield from leaves(item)
    else: yield data


def same(what, found, expected, about=""):
    global faults
    if found == expected: return
    faults += 1
    print(f"{what} {about}: found {found!r}, the table has {expected!r}")


def check_numbers(what, rows, row, shown):
    """`shown`: {column: (value, source)}."""
    kind, name = row
    for column in rows[COLUMNS[kind]]:
        value, source = rows[kind][name][0].get(column, ("0", ""))
        same(f"{what} {column}", shown[column], (number(value), source))


def check_cpu(rows, name, words, product, all_features):
    get = lambda key: words[key][0]
    one, costs = json.loads(run("targets", name, "--format", "json")), json.loads(run("costs", name, "--format", "json"))
    facts = [one["product"], one["ptx_code"], one.get("elf_byte", 0), one["ptx"].replace(".", ""), one.get("family"),
             one["timing"], one["limits_row"], one["feature_index"], one["hardware"]]
    same(name, facts, [product, number(get("code")), number(get("elf")), get("version"), words.get("family", [None])[0],
                       get("timing"), get("limits"), number(get("index")), "placeholder" not in words])
    for key, shown in {"index": "feature_index", "elf": "elf_byte", "code": "ptx_code", "version": "ptx"}.items():
        same(name, one["sources"][shown], words[key][1], key)
    same(name, one["feature_indices"], {words["implies"][0]: all_features[words["implies"][0]]} if "implies" in words else {})
    check_numbers(name, rows, ("limits", get("limits")), {k: (v, one["sources"][k]) for k, v in one["limits"].items()})
    check_numbers(name, rows, ("throughput", get("timing")),
                  {c["class"]: (c["throughput"], c["source"]) for c in costs["classes"]})
    check_numbers(name, rows, ("latency", get("timing")), {c["producer"]: (c["cycles"], c["source"]) for c in costs["latencies"]})


def check_operations(rows, costs):
    counts = {r["operation"]: r for r in costs["counts"]}
    sources = {r["operation"]: r for r in costs["count_sources"]}
    for name, (words, _, _) in rows["operation"].items():
        check_numbers(name, rows, ("operation", name),
                      {t: (counts[name].get(t, 0), sources[name].get(t, "")) for t in rows["type"]})
        same(name, [counts[name]["class_of_integers"], sources[name]["special-function_unit"]],
             [words["class"][0], "special" in words])


def check_texts(rows, page, costs, hopper, limits):
    for kind, shown in {"source": costs["sources"], "type": costs["types"]}.items():
        same(kind, {r["name"]: r["meaning"] for r in shown}, {n: r[1] for n, r in rows[kind].items()})
    same("class", {r["class"]: r["meaning"] for r in hopper["classes"]}, {n: r[1] for n, r in rows["class"].items()})
    same("wait", {r["producer"]: r["meaning"] for r in hopper["latencies"]}, {n: r[1] for n, r in rows["wait"].items()})
    same("limit", [n + r[1] in limits for n, r in rows["limit"].items()], [True] * len(rows["limit"]))
    for kind in ("family", "differs"):
        for name, row in rows[kind].items(): same(kind, name in page and row[1] in page, True, name)


def check_features(rows, features):
    for kind in ("ptx", "feature", "cpu"):
        for name, (words, text, _) in rows[kind].items():
            shown = features["ptx" + name if kind == "ptx" else name]
            same(name, (shown["index"], shown["source"]), (number(words["index"][0]), words["index"][1]))
            if kind == "feature": same(name, shown["meaning"], text)
            if "=" in name: same(name, f"{shown['group']}={shown['value']}", name)
            if "cpus" in words: same(name, len(shown["implied_by"].split()), number(words["cpus"][0]), "cpus")


def main():
    rows = read_table(sys.argv[1])
    costs, hopper, features = both("costs"), both("costs", "sm_90"), both("features")
    both("triples")
    by_name = {f["feature"]: f for f in features["features"]}
    check_features(rows, by_name)
    check_operations(rows, costs)
    limits = re.sub(r" +\d+ +", "", run("targets", "sm_90"))
    check_texts(rows, run("targets", "--format", "markdown"), costs, hopper, limits)
    for name, (words, text, source) in rows["legal"].items():
        shown = next(t for t in hopper["types"] if t["type"] == name)
        same(name, (shown["source"], shown["requires"].split(",")[0]), (source, text))
    needs = json.loads(run("targets", "sm_90", "--format", "json"))["requirements"]
    same("req", {n: (r["text"], r["source"]) for n, r in needs.items()}, {n: (r[1], r[2]) for n, r in rows["req"].items()})
    for name, (words, text, _) in rows["cpu"].items():
        check_cpu(rows, name, words, text, {f: row["index"] for f, row in by_name.items()})
    print(f"{sum(len(r) for r in rows.values())} rows, {faults} faults")


faults = 0
main()
