#!/usr/bin/env python3
"""Uses the page of the playground in headless Chromium: with a server, and as static files.

  check_page.py [--nvmini build/nvmini] [--static build/wasm] [--shots FOLDER]

With --static the page is that of `make wasm`, from Python's web server and from disk; it must give
the bytes of the command. Without Chromium all is skipped with a word. Closes with
`page: N passed, N failed`.
"""
import argparse
import contextlib
import functools
import glob
import http.server
import json
import os
import statistics
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from check_serve import ROOT, Count, ENDLESS, RACE, STORE, Server  # noqa: E402

sys.path.insert(0, f"{ROOT}/runtime-tests")
import browser as chromium  # noqa: E402

LAUNCH = "; nvmini-run: --arg buf:i32:1:zero --print 0\n"
STATUS = 'document.getElementById("status").textContent'
OUTPUT = 'document.getElementById("output").textContent'
MESSAGES = 'document.getElementById("messages").textContent'
TABS_OF_FRAME = "document.documentElement.textContent.includes('explained') ? document.querySelectorAll('[role=tab]').length : 0"
SECONDS_OF_STATIC = 10  # the limit of engine.js


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextlib.contextmanager
def static_server(folder):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


@contextlib.contextmanager
def own_server(nvmini):
    server = Server(nvmini)
    yield server.address
    server.stop()


class Page:
    """The page of one place, and what is expected of it."""

    def __init__(self, browser, c, name, nvmini):
        self.browser, self.c, self.name, self.nvmini = browser, c, name, nvmini

    def expect(self, what, good):
        shown = "" if good else (self.browser.evaluate(f"[{STATUS}, {MESSAGES}, {OUTPUT}].join(' | ').slice(0, 500)"))
        self.c.expect(f"{self.name}: {what}", good, shown)

    def write(self, text):
        """Replaces the text of the editor by typing."""
        self.browser.evaluate('document.getElementById("text").focus(); document.getElementById("text").select(); 1')
        self.browser.type(text)

    def choose(self, tab, text, options="", launch=""):
        self.browser.evaluate(f"""(() => {{ const set = {{text: {json.dumps(text)}, options: {json.dumps(options)}, launch: {json.dumps(launch)}}};
            for (const id in set) document.getElementById(id).value = set[id]; choose({json.dumps(tab)}); }})()""")

    def compiles(self):
        b = self.browser
        self.expect("it compiles the first sample", b.until(f'{STATUS} === "done" && {OUTPUT}.includes(".entry saxpy")'))
        self.write(STORE)
        self.expect("typing compiles", b.until(f'{STATUS} === "done" && {OUTPUT}.includes(".entry k(") && {OUTPUT}.includes("st.")'))
        self.write(STORE.replace("i32 42", "i32 %no"))
        self.expect("an error has a place and marks its line", b.until('document.querySelectorAll("#lines .bad").length === 1') and
                    b.evaluate('document.querySelector("#lines .bad").textContent') == "2" and "refused" in b.evaluate(STATUS))
        b.evaluate('document.querySelector("#messages button").focus()')
        b.press("Enter")
        self.expect("the place of the error is a button that goes there", b.evaluate(
            'document.activeElement.id === "text" && document.activeElement.value.slice(0, document.activeElement.selectionStart).split("\\n").length') == 2)
        b.evaluate('(() => { const s = document.getElementById("sample"); s.value = "matmul"; s.dispatchEvent(new Event("change")); })()')
        self.expect("a sample is loaded and compiled", b.until(f'{STATUS} === "done" && {OUTPUT}.includes("matmul")'))
        b.evaluate('(() => { const s = document.getElementById("cpu"); s.value = "sm_75"; s.dispatchEvent(new Event("change")); })()')
        self.expect("another CPU", b.until(f'{OUTPUT}.includes(".target sm_75")'))
        self.choose("compile", STORE, "--no-such-option")
        self.expect("a wrong option", b.until(f'{STATUS} === "wrong options" && {MESSAGES}.includes("no-such-option")'))
        self.choose("compile", STORE, "--cpu native")
        self.expect("there is no GPU here", b.until(f'{STATUS} === "wrong options" && {MESSAGES}.includes("native")'))

    def runs(self):
        b = self.browser
        self.choose("compile", LAUNCH + STORE)
        b.evaluate('document.getElementById("tab-compile").focus()')
        b.press("ArrowRight")
        b.press("ArrowRight")
        self.expect("the arrow keys choose a tab, Run executes", b.until(f'{STATUS} === "done" && {OUTPUT} === "42\\n"') and
                    b.evaluate('document.activeElement.id') == "tab-run")
        self.choose("run", RACE, launch="--from ir --block 64 --arg buf:i32:1:zero")
        self.expect("a finding", b.until(f'{STATUS} === "a finding" && {MESSAGES}.startsWith("nvmini: race: kernel k")'))
        self.expect("a finding marks its line", b.evaluate('document.querySelector("#lines .bad").textContent') == "5")
        self.choose("run", STORE, launch="--arg buf:i32:1:zero --save 0:x")
        self.expect("no files", b.until(f'{MESSAGES}.includes("not available here")'))

    def explains(self):
        b = self.browser
        self.choose("explain", LAUNCH + STORE.replace("@k", "@explained"))
        self.expect("explain shows its page", b.until(f'{STATUS} === "done" && !document.getElementById("page").hidden'))
        end, tabs = time.monotonic() + 20, 0
        while tabs < 5 and time.monotonic() < end:
            b.settle()
            tabs = b.evaluate(TABS_OF_FRAME, b.frame) if b.frame else 0
        self.expect(f"the page of explain works in its sandbox: {tabs} tabs", tabs >= 5)

    def ends(self, seconds):
        b = self.browser
        self.choose("run", ENDLESS, launch="--arg buf:i32:1:zero")
        began = time.monotonic()
        self.expect("an endless kernel is ended by the limit of time", b.until(f'{STATUS} === "stopped by the limit of time"', 60))
        self.expect("the limit is what it should be", time.monotonic() - began > seconds - 2)
        self.choose("run", ENDLESS, launch="--arg buf:i32:1:zero --trace")
        self.expect("a flood is ended", b.until(f'{STATUS}.startsWith("stopped by the limit")', 60))
        self.choose("run", ENDLESS, launch="--arg buf:i32:1:zero")
        b.settle()
        self.choose("compile", STORE)
        self.expect("a new request ends the old one", b.until(f'{STATUS} === "done" && {OUTPUT}.includes(".entry k(")', 8))

    def restores(self, address):
        b = self.browser
        self.choose("compile", STORE.replace("42", "4711"))
        state = b.evaluate("location.hash")
        b.open(address + state)
        self.expect("the address restores the text", b.until(f'{OUTPUT}.includes("4711")'))

    def equals_command(self):
        """Every sample gives the bytes of the command."""
        for path in sorted(glob.glob(f"{ROOT}/samples/*.nvir")):
            with open(path, encoding="utf-8") as f:
                text = f.read()
            for command, options in (("compile", ""), ("compile", "--emit ir -O1"), ("run", "--stats --from ptx"), ("run", "--from ir")):
                if command == "run" and "nvmini-run:" not in text:
                    continue
                words = [self.nvmini, command, "-", "--cpu", "sm_90a", "-O3", *options.split()]
                wanted = subprocess.run(words, input=text, text=True, capture_output=True, check=False)
                got = self.browser.evaluate(f'engine.ask("{command}", {{cpu: "sm_90a", level: "-O3", options: "{options}"}}, {json.dumps(text)})')
                same = got["output"] == wanted.stdout and got["status"] == wanted.returncode and got["messages"] == wanted.stderr
                self.c.expect(f"{self.name}: {os.path.basename(path)} {command} {options}: the bytes of the command", same,
                              (got["status"], wanted.returncode, got["messages"][:200], wanted.stderr[:200]))

    def fits(self, shots):
        """Nothing is wider than the window; screenshots to look at."""
        b = self.browser
        for width, height in ((1440, 860), (390, 800)):
            b.resize(width, height)
            for scheme in ("light", "dark"):
                b.prefer(scheme)
                for tab, text in (("compile", STORE.replace("i32 42", "i32 %no")), ("run", RACE), ("explain", STORE), ("compile", STORE)):
                    self.choose(tab, text, launch="--block 64 --arg buf:i32:1:zero")
                    b.until(f'{STATUS} !== "…"')
                    b.settle()
                    self.expect(f"{tab} fits {width} pixels", b.evaluate("document.documentElement.scrollWidth <= innerWidth"))
                    if shots:
                        time.sleep(0.5)
                        b.screenshot(f"{shots}/{self.name.replace(' ', '-')}-{width}-{scheme}-{tab}-{len(text)}.png")
        b.resize(1440, 860)
        b.prefer("light")


def use(page, address, shots, seconds):
    browser = page.browser
    browser.open(address)
    page.compiles()
    page.runs()
    page.explains()
    page.ends(seconds)
    page.restores(address)
    page.fits(shots)
    errors = browser.errors((address,))
    page.c.expect(f"{page.name}: no error in the console", not errors, errors)


def time_to_first_ptx(browser, address):
    """Milliseconds from opening the page to the PTX of its sample, the median of five."""
    times = []
    for _ in range(5):
        began = time.monotonic()
        browser.open(address)
        browser.until(f'{OUTPUT}.includes(".entry saxpy")')
        times.append(1000 * (time.monotonic() - began))
    return statistics.median(times)


def use_static(browser, c, options):
    folder = os.path.abspath(options.static)
    with static_server(folder) as address:
        page = Page(browser, c, "static", options.nvmini)
        use(page, address, options.shots, SECONDS_OF_STATIC)
        page.equals_command()
        first = time_to_first_ptx(browser, address)
        browser.errors()
    page = Page(browser, c, "disk", options.nvmini)
    browser.open(f"file://{folder}/index.html")
    page.compiles()
    page.runs()
    page.explains()
    errors = browser.errors()
    c.expect("disk: no error in the console", not errors, errors)
    disk = time_to_first_ptx(browser, f"file://{folder}/index.html")
    print(f"   nvmini.wasm {os.path.getsize(f'{folder}/nvmini.wasm'):,} bytes; first PTX after {first:.0f} ms, from disk {disk:.0f} ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--nvmini", default=f"{ROOT}/build/nvmini")
    parser.add_argument("--static", help="the folder that `make wasm` writes")
    parser.add_argument("--shots", help="write screenshots into this folder")
    options = parser.parse_args()
    c, program = Count(), chromium.find()
    if not program:
        print("   Chromium is not installed: the page is skipped")
        print("page: 0 passed, 0 failed, 1 skipped")
        return 0
    browser = chromium.Browser(program, False)
    try:
        if options.static:
            use_static(browser, c, options)
        else:
            with own_server(options.nvmini) as address:
                use(Page(browser, c, "server", options.nvmini), address, options.shots, 10)
    finally:
        browser.close()
    print(f"page: {c.passed} passed, {c.failed} failed")
    return 1 if c.failed else 0


if __name__ == "__main__":
    sys.exit(main())
