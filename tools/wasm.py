#!/usr/bin/env python3
"""Builds build/wasm: the playground of `nvmini serve` as static files, without a server.

index.html is the server's page with one script more. disk.js repeats the worker and the program for
pages that are opened from disk, which may not fetch; other pages do not load it. Needs emscripten.
"""
import base64
import json
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILT = f"{ROOT}/build/wasm-objects/nvmini"
FOLDER = f"{ROOT}/build/wasm"
ENGINE = '<link rel="icon" href="data:,">\n<script src="engine.js"></script>\n</head>'


def read(path, mode="r"):
    with open(path, mode, encoding=None if "b" in mode else "utf-8") as f:
        return f.read()


def write(name, content):
    with open(f"{FOLDER}/{name}", "wb") as f:
        f.write(content.encode() if isinstance(content, str) else content)


def main():
    if not shutil.which("emcc"):
        print("nvmini: emscripten (emcc) is needed for `make wasm` and is not installed", file=sys.stderr)
        return 1
    # Debian's emscripten finds its JavaScript parser only with Debian's node.
    environment = dict(os.environ, NODE_PATH=os.environ.get("NODE_PATH", "/usr/share/nodejs"))
    made = subprocess.run([os.environ.get("MAKE", "make"), "--no-print-directory", "VARIANT=wasm", f"{BUILT}.js"[len(ROOT) + 1:]],
                   cwd=ROOT, env=environment, close_fds=False, check=False)
    if made.returncode != 0:
        return made.returncode
    page, program = read(f"{ROOT}/driver/serve/page.html"), read(f"{BUILT}.wasm", "rb")
    assert page.count("</head>") == 1
    worker = read(f"{BUILT}.js") + "\n" + read(f"{ROOT}/driver/serve/worker.js")
    os.makedirs(FOLDER, exist_ok=True)
    write("index.html", page.replace("</head>", ENGINE))
    write("engine.js", read(f"{ROOT}/driver/serve/engine.js"))
    write("worker.js", worker)
    write("nvmini.wasm", program)
    disk = {"worker": worker, "wasm": base64.b64encode(program).decode()}
    write("disk.js", f"window.nvminiDisk = {json.dumps(disk)};\n")
    print("build/wasm: " + ", ".join(f"{name} {os.path.getsize(f'{FOLDER}/{name}'):,} bytes" for name in sorted(os.listdir(FOLDER))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
