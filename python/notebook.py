#!/usr/bin/env python3
"""Runs the code cells of a notebook without Jupyter: `notebook.py FILE` compares their outputs with those in the file,
`notebook.py --update FILE` writes them. Of an output in HTML (PTX, IR, plans: what changes with the compiler) only the
presence is compared. The package is the one that Python finds: an installed one, or that of PYTHONPATH."""
import ast
import contextlib
import io
import json
import os
import sys


def run_cell(source, namespace):
    """The outputs of a cell, in the notebook format: what it printed, and the value of its last expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    outputs, value = [], None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, "<cell>", "exec"), namespace)
        if last:
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), namespace)
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": printed.getvalue().splitlines(True)})
    if value is not None:
        shown = {"text/html": value._repr_html_()} if hasattr(value, "_repr_html_") else {"text/plain": repr(value)}
        data = {kind: text.splitlines(True) for kind, text in shown.items()}
        outputs.append({"data": data, "metadata": {}, "output_type": "execute_result"})
    return outputs


def comparable(outputs):
    return [("html",) if "text/html" in o.get("data", {}) else (o.get("text"), o.get("data")) for o in outputs]


def without_count(output):
    return {key: value for key, value in output.items() if key != "execution_count"}


def main():
    sys.path.remove(os.path.dirname(os.path.abspath(__file__)))
    path, update = os.path.abspath(sys.argv[-1]), "--update" in sys.argv
    with open(path, encoding="utf-8") as f:
        notebook = json.load(f)
    os.chdir(os.path.dirname(path))
    namespace, failed, number = {"__name__": "__main__"}, 0, 0
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        number += 1
        outputs = run_cell("".join(cell["source"]), namespace)
        if update:
            results = [o if o["output_type"] == "stream" else {**o, "execution_count": number} for o in outputs]
            cell["outputs"], cell["execution_count"] = results, number
        elif comparable(map(without_count, cell["outputs"])) != comparable(outputs):
            failed += 1
            print(f"cell {number}: the outputs are {json.dumps(comparable(outputs))}, in the notebook "
                  f"{json.dumps(comparable(map(without_count, cell['outputs'])))}")
    if update:
        with open(path, "w", encoding="utf-8") as f:
            f.write(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
    print(f"notebook: {number - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
