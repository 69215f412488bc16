#!/usr/bin/env python3
"""Runs the tests of `make check` and closes with one line, `N passed, N failed`.

    run.py                 all of it
    run.py lint unit       only these steps
    run.py runtime-tests/check/opt/licm.nvir     this text test, or all of a folder
    run.py --list          the steps
    run.py --quiet         no line of progress on a terminal

Each step builds what it needs with make, runs, and returns how many of its tests passed, failed
and were skipped; a build that fails counts as one failed test of its step. What a step skips, it
says. CI=true in the environment gives the fuzzers their full time.
"""
import concurrent.futures
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
JOBS = str(os.cpu_count() or 2)
SANITIZER_OPTIONS = {
    # Exit status 99 is no status of nvmini's, so that no test takes a report for a refusal.
    "ASAN_OPTIONS": "exitcode=99:detect_leaks=1:allocator_may_return_null=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:exitcode=99",
    "TSAN_OPTIONS": "exitcode=99",
}


class Count:
    """What came out of some tests."""

    def __init__(self, passed=0, failed=0, skipped=0):
        self.passed, self.failed, self.skipped = passed, failed, skipped

    def __iadd__(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        return self

    def __add__(self, other):
        return Count(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    def __str__(self):
        text = f"{self.passed} passed, {self.failed} failed"
        return text + (f", {self.skipped} skipped" if self.skipped else "")


def folder_of(variant):
    return "build" if variant == "default" else f"build/{variant}"


def environment(**more):
    return {**os.environ, **SANITIZER_OPTIONS, **more}


def make(variant, *targets):
    """Builds quietly; prints the output only if it fails."""
    compiler = [f"CC={os.environ['CC']}"] if os.environ.get("CC") else []
    command = ["make", "--no-print-directory", f"-j{JOBS}", f"VARIANT={variant}", *compiler, *targets]
    # Not a part of the make that runs the tests: it has processors of its own.
    alone = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    done = subprocess.run(command, cwd=ROOT, env=alone, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        print(f"make VARIANT={variant} {' '.join(targets)} failed:\n{done.stdout[-6000:]}")
    return done.returncode == 0


def run_program(command, timeout, **env):
    """(exit status, output); status None when it ran too long."""
    try:
        done = subprocess.run(command, cwd=ROOT, env=environment(**env), timeout=timeout,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired as late:
        return None, (late.stdout or b"").decode(errors="replace")
    return done.returncode, done.stdout.decode(errors="replace")


# ---- Progress -----------------------------------------------------------------------------------

class Progress:
    """A line on the terminal with the step and its time, which is rewritten each second and makes room for what is printed."""

    AFTER = 2  # seconds

    def __init__(self, stream, steps):
        self.stream, self.steps, self.number, self.name, self.start = stream, steps, 0, "", 0.0
        self.total, self.visible, self.at_start, self.lock = Count(), False, True, threading.Lock()
        threading.Thread(target=self.tick, daemon=True).start()

    def begin(self, name, total):
        with self.lock:
            self.number, self.name, self.start, self.total = self.number + 1, name, time.time(), total

    def tick(self):
        while True:
            time.sleep(1)
            seconds = int(time.time() - self.start)
            with self.lock:
                if self.name and self.at_start and seconds >= self.AFTER:
                    self.stream.write(f"\r\033[Kstep {self.number} of {self.steps}: {self.name}, {seconds} s; so far {self.total}")
                    self.stream.flush()
                    self.visible = True

    def write(self, text):
        with self.lock:
            if text and self.visible:
                self.stream.write("\r\033[K")
                self.visible = False
            self.stream.write(text)
            self.at_start = text.endswith("\n") if text else self.at_start

    def flush(self):
        self.stream.flush()


# ---- Steps --------------------------------------------------------------------------------------

def other_compilers():
    """Those of gcc and clang that the build does not use anyway, as (name, build folder)."""
    version = subprocess.run([os.environ.get("CC") or "cc", "--version"], text=True, stdout=subprocess.PIPE).stdout
    names = ["gcc"] if "clang" in version else [*sorted(glob.glob("/usr/bin/clang-[0-9][0-9]")), "clang"]
    found = {os.path.realpath(shutil.which(name)): name for name in names if shutil.which(name)}.values()
    return [(name, f"build/other-{os.path.basename(name)}") for name in found]


def step_build():
    """every variant, and the other compilers that are installed, build without a warning"""
    count = Count()
    for variant in ("default", "release", "checking", "asan"):
        count += Count(passed=1) if make(variant, "all") else Count(failed=1)
    others = other_compilers()
    numbered = [compiler for compiler, _ in others if compiler != "clang"] or ["clang"]
    for compiler, folder in others:  # the newest one builds the release, which takes four times as long
        good = make("release" if compiler == numbered[-1] else "default", f"B={folder}", f"CC={compiler}", "all")
        count += Count(passed=1) if good else Count(failed=1)
    if not others:
        print("   only one of gcc and clang is installed: the other's build is skipped")
        count += Count(skipped=1)
    return count


def use_cmake(folder):
    """A project with find_package(nvmini), built against what is installed below the folder."""
    if not shutil.which("cmake"):
        print("   cmake is not installed: find_package(nvmini) is skipped")
        return Count(skipped=1)
    script = f"""cmake -S runtime-tests/packages -B {folder}/user -DCMAKE_PREFIX_PATH={folder}/usr -DSAMPLE={ROOT}/samples/embed.c &&
      cmake --build {folder}/user && {folder}/user/with_static > {folder}/static && {folder}/user/with_shared | cmp - {folder}/static"""
    status, output = run_program(["sh", "-c", script], 120)
    if status != 0:
        print(f"{script}: exit status {status}\n{output[-4000:]}")
    return Count(passed=1) if status == 0 else Count(failed=1)


def step_install():
    """make install, programs built with what it installed, by hand, pkg-config and CMake; make uninstall"""
    folder, count = f"{ROOT}/build/installed", Count()
    shutil.rmtree(folder, ignore_errors=True)
    if not make("release", f"DESTDIR={folder}", "PREFIX=/usr", "install"):
        return Count(failed=3)
    usr = f"{folder}/usr"
    compiler = os.environ.get("CC") or "cc"
    commands = [f"{compiler} -I{usr}/include samples/embed.c -L{usr}/lib -lnvmini -Wl,-rpath,{usr}/lib -o {folder}/embed && {folder}/embed",
                f"{usr}/bin/nvmini version"]
    if shutil.which("pkg-config"):
        commands.append(f"export PKG_CONFIG_PATH={usr}/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR={folder}; " +
                        f"{compiler} samples/embed.c $(pkg-config --cflags --libs nvmini) -o {folder}/embed-pc && " +
                        f"LD_LIBRARY_PATH={usr}/lib {folder}/embed-pc")
    else:
        print("   pkg-config is not installed: skipped")
        count += Count(skipped=1)
    for command in commands:
        status, output = run_program(["sh", "-c", command], 60)
        if status != 0:
            print(f"{command}: exit status {status}\n{output}")
        count += Count(passed=1) if status == 0 else Count(failed=1)
    count += use_cmake(folder)
    gone = make("release", f"DESTDIR={folder}", "PREFIX=/usr", "uninstall")
    left = [f for f in glob.glob(f"{usr}/**", recursive=True) if os.path.isfile(f)]
    count += Count(passed=1) if gone and not left else Count(failed=1)
    return count


def step_dist():
    """make dist gives the same bytes twice; its folder, without git, builds and passes make demo"""
    if subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True).returncode != 0:
        print("   no git checkout: skipped")
        return Count(skipped=1)
    folder, archives = f"{ROOT}/build/dist", []
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for _ in range(2):
        if not make("default", "dist"):
            return Count(failed=1)
        with open(glob.glob(f"{ROOT}/build/nvmini-*.tar.gz")[0], "rb") as f:
            archives.append(f.read())
    count = Count(passed=1) if archives[0] == archives[1] else Count(failed=1)
    script = "tar -xzf ../nvmini-*.tar.gz && cd nvmini-* && GIT_DIR=/dev/null make demo"
    status, output = run_program(["sh", "-c", f"cd {folder} && {script}"], 600)
    good = status == 0 and ".visible .entry" in output
    if not good:
        print(f"{script}: exit status {status}\n{output[-4000:]}")
    shutil.rmtree(folder)
    count += Count(passed=1) if good else Count(failed=1)
    return count


def step_lint():
    """the house rules: layers, globals, exports, calls, lengths, prototypes"""
    if not make("default", "all"):
        return Count(failed=1)
    status, output = run_program([sys.executable, "tools/lint.py", "build"], 120)
    numbers = re.search(r"lint: (\d+) passed, (\d+) failed", output)
    if status != 0 or not numbers:
        print(output)
    return Count(int(numbers[1]), int(numbers[2])) if numbers else Count(failed=1)


def step_readme():
    """README.md: its examples print what it shows, its folder map is complete; the dumps in docs/vectorizer.md are real"""
    if not make("default", "all"):
        return Count(failed=1)
    status, output = run_program([sys.executable, "tools/readme.py"], 60)
    numbers = re.search(r"readme: (\d+) passed, (\d+) failed", output)
    if status != 0 or not numbers:
        print(output)
    wrong, words = run_program([sys.executable, "runtime-tests/document.py"], 60)
    if wrong != 0:
        print(words)
    count = Count(int(numbers[1]), int(numbers[2])) if numbers else Count(failed=1)
    count += Count(failed=1) if wrong else Count(1)
    return count


def step_seeds():
    """what the source documents say, row by row, each with a command that shows it"""
    if not make("default", "all"):
        return Count(failed=1)
    status, output = run_program([sys.executable, "runtime-tests/seeds.py"], 300)
    numbers = re.search(r"seeds: (\d+) passed, (\d+) failed", output)
    if status != 0 or not numbers:
        print(output[-20000:])
    return Count(int(numbers[1]), int(numbers[2])) if numbers else Count(failed=1)


def tap_count(name, status, output):
    """Counts cmocka's TAP lines; an end that is not theirs is one more failure."""
    passed = len(re.findall(r"^ok\b(?!.*# SKIP)", output, re.M))
    skipped = len(re.findall(r"^(?:not )?ok\b.*# SKIP", output, re.M))
    failed = len(re.findall(r"^not ok\b(?!.*# SKIP)", output, re.M))
    if status is None or (status != 0 and failed == 0) or passed + failed + skipped == 0:
        failed += 1
    if failed:
        print(f"{name}: exit status {status}\n{output[-4000:]}")
    return Count(passed, failed, skipped)


def run_units(variant, pattern="test_*"):
    if not make(variant, "unit"):
        return Count(failed=1)
    count = Count()
    programs = [f"{folder_of(variant)}/unit/{os.path.basename(source)[:-2]}"
                for source in sorted(glob.glob(f"{ROOT}/runtime-tests/unit/{pattern}.c"))]
    with concurrent.futures.ThreadPoolExecutor(int(JOBS)) as pool:
        results = pool.map(lambda program: run_program([program], 300, CMOCKA_MESSAGE_OUTPUT="TAP"), programs)
        for program, (status, output) in zip(programs, results):
            count += tap_count(program, status, output)
    return count


def run_unit_scripts():
    """Unit tests that are shell scripts: they close with the line that we close with."""
    count = Count()
    for script in sorted(glob.glob(f"{ROOT}/runtime-tests/unit/test_*.sh")):
        status, output = run_program([script], 300)
        numbers = re.search(r"^(\d+) passed, (\d+) failed", output, re.M)
        if status != 0 or not numbers:
            print(f"{script}: exit status {status}\n{output[-4000:]}")
        count += Count(int(numbers[1]), int(numbers[2])) if numbers else Count(failed=1)
    return count


def step_unit():
    """unit tests, in the checking and the ASan+UBSan build"""
    count = run_units("checking")
    count += run_units("asan")
    count += run_unit_scripts()
    return count


def step_threads():
    """two contexts in two threads, programs of libnvvm.so.4 in three, under ThreadSanitizer"""
    count = run_units("tsan", "test_threads")
    count += run_units("tsan", "test_libnvvm")
    return count


EMBED_RUN = """72 instructions
2 4 6 8 10 12 14 16
48 instructions
out-of-bounds: block 0, thread 7 reads"""


def step_embed():
    """samples/embed.c and embed_run.c against the static and the shared library"""
    if not make("default", "embed"):
        return Count(failed=4)
    count = Count()
    for program, expected in (("build/embed-static", ".visible .entry"), ("build/embed-shared", ".visible .entry"),
                              ("build/embed_run-static", EMBED_RUN), ("build/embed_run-shared", EMBED_RUN)):
        status, output = run_program([program], 60)
        good = status == 0 and expected in output
        if not good:
            print(f"{program}: exit status {status}\n{output}")
        count += Count(passed=1) if good else Count(failed=1)
    return count


def unittest_count(name, status, output):
    """Counts the results of unittest, and says what it skipped."""
    ran, words = re.search(r"^Ran (\d+) tests? in", output, re.M), output.rsplit("\n\n", 1)[-1]
    bad, skipped = (sum(map(int, re.findall(rf"(?:{kind})=(\d+)", words))) for kind in ("failures|errors", "skipped"))
    if not ran or (status != 0 and not bad):
        bad += 1
    if bad:
        print(f"{name}: exit status {status}\n{output[-6000:]}")
    for reason in sorted(set(re.findall(r"\.\.\. skipped '(.*)'", output))):
        print(f"   {name}: {reason}: skipped")
    return Count(int(ran[1]) - bad - skipped if ran else 0, bad, skipped)


def step_python():
    """the Python package: its tests in the source tree, then those of its wheel in an empty virtual environment"""
    if not make("default", "all"):
        return Count(failed=1)
    tests = ["-m", "unittest", "discover", "-v", "-s", "python/tests"]
    count = unittest_count("python", *run_program([sys.executable, *tests], 300, PYTHONPATH="python"))
    folder = f"{ROOT}/build/python-environment"
    python = f"{folder}/bin/python"
    shutil.rmtree(folder, ignore_errors=True)
    status, output = run_program([sys.executable, "-m", "venv", folder], 300)
    if status != 0:
        print("   python3-venv is not installed: the wheel is not tested: skipped")
        return count + Count(skipped=1)
    # Offline, with the library that the other tests use.
    status, output = run_program([python, "-m", "pip", "install", "--no-index", "--no-cache-dir", "--disable-pip-version-check", ".",
                                  "--config-settings", "library=build/libnvmini.so"], 300)
    where = run_program([python, "-c", "import nvmini; print(nvmini.__file__)"], 60)[1]
    if status != 0 or not where.startswith(folder):
        print(f"pip install .: exit status {status}\n{output[-4000:]}\n{where}")
        return count + Count(failed=1)
    return count + unittest_count("wheel", *run_program([python, *tests], 300))


def link_test_tools():
    """build/test-tools/FileCheck, and lit's path."""
    filecheck, lit = subprocess.run(["tools/find-test-tools.sh"], cwd=ROOT, check=True, text=True,
                                    stdout=subprocess.PIPE).stdout.split()
    os.makedirs(f"{ROOT}/build/test-tools", exist_ok=True)
    link = f"{ROOT}/build/test-tools/FileCheck"
    if os.path.lexists(link):
        os.unlink(link)
    os.symlink(filecheck, link)
    return lit


def run_lit(variant, *folders, **env):
    lit = link_test_tools()
    if not make(variant, "all"):
        return Count(failed=1)
    folder = folder_of(variant)
    results = f"{ROOT}/{folder}/lit-results.json"
    # Debian's lit is a Python file or a program.
    command = [sys.executable, lit] if lit.endswith(".py") else [lit]
    status, output = run_program([*command, "-sv", "--no-progress-bar", f"-j{JOBS}", f"--output={results}",
                                  *(folders or ("runtime-tests/check", "runtime-tests/exec"))], 1800,
                                 NVMINI_BUILD=folder, NVMINI_VARIANT=variant, **env)
    if status != 0:
        print(output[-20000:])
    count = Count()
    if not os.path.exists(results):
        return Count(failed=1)
    with open(results, encoding="utf-8") as f:
        for test in json.load(f)["tests"]:
            if test["code"] in ("PASS", "XFAIL", "FLAKYPASS"):
                count += Count(passed=1)
            elif test["code"] in ("UNSUPPORTED", "SKIPPED", "EXCLUDED"):
                count += Count(skipped=1)
            else:
                count += Count(failed=1)
    os.unlink(results)
    if status is None:
        count += Count(failed=1)
    return count


def step_check():
    """lit and FileCheck: every stage's text, default build"""
    return run_lit("default")


def step_everyway():
    """kernels executed as IR and PTX of every level, for three CPUs, under three schedules"""
    return run_lit("default", "runtime-tests/exec/algorithms", "runtime-tests/exec/ops", EVERYWAY="1")


def step_check_checking():
    """the same in the checking build: asserts, tiny capacities, poisoned memory"""
    return run_lit("checking")


def step_check_asan():
    """the same under ASan+UBSan"""
    return run_lit("asan")


def step_intrinsics():
    """calls of every intrinsic with constant arguments and overloads of all kinds: compiled or refused, never a fault of nvmini; in CI ptxas takes what was compiled"""
    count = Count()
    if not make("default", "all"):
        return Count(failed=1)
    for kind in ("--constants", "--overloads"):
        status, output = run_program([sys.executable, "runtime-tests/peers/check_intrinsics.py", kind]
                                     + ([] if os.environ.get("CI") else ["--no-peers"]), 3600)
        numbers = {what: int(number) for number, what in re.findall(r"(\d+) (tried|fails|ptxas refuses)", output)}
        if status != 0 or not numbers:
            print(output[-6000:])
        count += Count(numbers.get("tried", 0), numbers.get("fails", 0) + numbers.get("ptxas refuses", 0)) if numbers else Count(failed=1)
    return count


def step_recipes():
    """other people's front ends: their modules compile and compute what they should; those installed"""
    count = Count()
    if not make("default", "all"):
        return Count(failed=1)
    for script in sorted(glob.glob(f"{ROOT}/runtime-tests/recipes/*.sh")):
        name = os.path.basename(script)[:-3]
        if name == "common":
            continue
        status, output = run_program(["sh", script], 300, NVMINI=f"{ROOT}/build/nvmini")
        if status == 77:
            print(f"   {name}: {output.strip().splitlines()[-1]}")
        elif status != 0:
            print(f"{name}: exit status {status}\n{output[-4000:]}")
        count += Count(passed=int(status == 0), failed=int(status not in (0, 77)), skipped=int(status == 77))
    return count


def step_samples():
    """every sample compiles for three CPUs, to the same bytes in every build"""
    count = Count()
    samples = sorted(glob.glob(f"{ROOT}/samples/*.nvir"))
    if not make("default", "all") or not make("checking", "all"):
        return Count(failed=1)
    builds = ["build", "build/checking"]
    builds += [folder for _, folder in other_compilers() if os.path.exists(f"{ROOT}/{folder}/nvmini")]
    for sample in samples:
        name = os.path.relpath(sample, ROOT)
        with open(sample, encoding="utf-8") as f:
            needs = re.search(r"^; Needs (sm_\d+)", f.read(), re.M)
        for cpu in (needs[1] if needs else "sm_75", "sm_90a", "sm_100a"):
            results = [run_program([f"{b}/nvmini", "compile", name, "--cpu", cpu], 60) for b in builds]
            status, output = results[0]
            good = status == 0 and f".target {cpu}" in output
            if not good:
                print(f"nvmini compile {name} --cpu {cpu}: exit status {status}\n{output[-2000:]}")
            elif any(r != results[0] for r in results):
                print(f"{name} for {cpu}: the outputs of {' '.join(builds)} differ")
                good = False
            count += Count(passed=1) if good else Count(failed=1)
    return count


def step_bitcode():
    """samples and text tests (each 4th in CI, each 16th else) by every llvm-as installed: text and bitcode are the same IR and PTX"""
    if not make("default", "all"):
        return Count(failed=1)
    every = "4" if os.environ.get("CI") else "16"
    status, output = run_program([sys.executable, "runtime-tests/bitcode.py", "--every", every], 900)
    if output.startswith("skipped"):
        return Count(skipped=1)
    numbers = re.search(r"bitcode: (\d+) passed, (\d+) failed", output)
    if status != 0 or not numbers:
        print(output[-6000:])
    return Count(int(numbers[1]), int(numbers[2])) if numbers else Count(failed=1)


def step_explain():
    """nvmini explain: the JSON of all samples against its schema and what other commands print, default and ASan build; `cost` beside executed counts; pages in Chromium"""
    count, tests = Count(), "runtime-tests/explain"
    if not make("default", "all") or not make("asan", "build/asan/nvmini"):
        return Count(failed=1)
    for command in ([f"{tests}/check_explain.py"], [f"{tests}/check_explain.py", "--nvmini", f"{ROOT}/build/asan/nvmini"],
                    [f"{tests}/check_cost.py"], [f"{tests}/page_test.py"]):
        status, output = run_program([sys.executable, *command], 900)
        numbers = re.search(r"(\d+) passed, (\d+) failed", output)
        if output.startswith("skipped"):
            print(f"   {output.strip()}")
            count += Count(skipped=1)
            continue
        if status != 0 or not numbers:
            print(output[-6000:])
        count += Count(int(numbers[1]), int(numbers[2])) if numbers else Count(failed=1)
    return count


def step_editors():
    """the syntax of IR and PTX for Vim and as TextMate grammars: words of lines, every op"""
    if not make("default", "all"):
        return Count(failed=1)
    status, output = run_program([sys.executable, "runtime-tests/editors/check_editors.py"], 300)
    numbers = re.search(r"(\d+) passed, (\d+) failed(?:, (\d+) skipped)?", output)
    if status != 0 or not numbers:
        print(output[-6000:])
    return Count(int(numbers[1]), int(numbers[2]), int(numbers[3] or 0)) if numbers else Count(failed=1)


def run_counted(name, script, timeout, *arguments):
    """A script that closes with `NAME: N passed, N failed`, and perhaps `, N skipped`."""
    if not make("default", "all"):
        return Count(failed=1)
    status, output = run_program([sys.executable, script, *arguments], timeout)
    numbers = re.search(rf"{name}: (\d+) passed, (\d+) failed(?:, (\d+) skipped)?", output)
    if status != 0 or not numbers:
        print(output[-6000:])
    elif numbers[3]:
        print("\n".join(line for line in output.splitlines() if "skipped" in line and line != numbers[0]))
    return Count(int(numbers[1]), int(numbers[2]), int(numbers[3] or 0)) if numbers else Count(failed=1)


def step_reference():
    """the reference pages: every example of ops, passes, knobs and diagnostics prints what they show, every link resolves"""
    return run_counted("reference", "runtime-tests/reference/check_reference.py", 600)


def step_progress():
    """the line of progress on a pseudo-terminal; none in a pipe and with --quiet"""
    return run_counted("progress", "runtime-tests/progress/check_progress.py", 300)


def step_course():
    """the course: every exercise fails as given and is solved by its solution; the command's errors"""
    return run_counted("course", "runtime-tests/course/check_course.py", 300)


def step_lsp():
    """nvmini lsp: sessions over pipes, random messages, the clients of Neovim and pytest-lsp"""
    tests = "runtime-tests/lsp"
    if not make("asan", "build/asan/nvmini"):
        return Count(failed=1)
    return (run_counted("lsp", f"{tests}/check_lsp.py", 300) + run_counted("clients", f"{tests}/check_clients.py", 300) +
            run_counted("messages", f"{tests}/random_messages.py", 300, "--nvmini", "build/asan/nvmini", "--count", "1000"))


def step_serve():
    """nvmini serve: answers, limits, processes, 100 hostile requests (300 in CI), no file is seen; default and ASan build; the page in Chromium"""
    if not make("asan", "all"):
        return Count(failed=1)
    count, requests = Count(), "300" if os.environ.get("CI") else "100"
    for nvmini in ("build/nvmini", "build/asan/nvmini"):
        count += run_counted("serve", "runtime-tests/serve/check_serve.py", 600, "--nvmini", nvmini)
        count += run_counted("hostile", "runtime-tests/serve/hostile.py", 1800, "--nvmini", nvmini, "--count", requests)
    return count + run_counted("page", "runtime-tests/serve/check_page.py", 600)


def step_wasm():
    """make wasm: the playground as static files in Chromium, from a server and from disk; the bytes of the command"""
    if not shutil.which("emcc"):
        print("   emscripten is not installed: skipped")
        return Count(skipped=1)
    status, output = run_program(["make", "wasm"], 3600)
    if status != 0:
        print(output[-6000:])
        return Count(failed=1)
    return run_counted("page", "runtime-tests/serve/check_page.py", 900, "--static", "build/wasm")


def step_libnvvm():
    """libnvvm.so.4: every row of docs/libnvvm.md, and the same rows of NVIDIA's where it is installed"""
    if not make("default", "all"):
        return Count(failed=1)
    status, output = run_program([sys.executable, "runtime-tests/compat/libnvvm.py"], 900)
    numbers = re.search(r"libnvvm: (\d+) passed, (\d+) failed", output)
    if status != 0 or not numbers:
        print(output[-6000:])
    return Count(int(numbers[1]), int(numbers[2])) if numbers else Count(failed=1)


def step_fuzz():
    """fuzz targets: seeds, then new inputs (in sum 180 s in CI, 16 s else)"""
    if not make("fuzz", "fuzz-programs"):
        return Count(failed=1)
    seconds = "22" if os.environ.get("CI") else "2"  # of each of eight targets
    status, output = run_program(["runtime-tests/fuzz/run.sh", seconds], 900)
    numbers = re.search(r"fuzz: (\d+) passed, (\d+) failed", output)
    if status != 0 or not numbers:
        print(output[-6000:])
    return Count(int(numbers[1]), int(numbers[2])) if numbers else Count(failed=1)


def step_mutate():
    """the mutator of fuzz targets: every mutation is made, the verifier accepts its results, seeds decide them"""
    if not make("default", "build/mutate", "build/nvir_mutator.so"):
        return Count(failed=1)
    return run_counted("mutate", "runtime-tests/fuzz/check_mutate.py", 300)


def step_oss_fuzz():
    """oss-fuzz/build.sh: every target with dictionary, options and seeds, and each runs (without Docker)"""
    finder = subprocess.run(["tools/find-libfuzzer.sh"], cwd=ROOT, capture_output=True, text=True, check=False)
    if not finder.stdout.strip():
        print("   oss-fuzz: skipped: no clang with libFuzzer")
        return Count(skipped=1)
    if not make("default", "all"):
        return Count(failed=1)
    count, out, work = Count(), os.path.join(ROOT, "build/oss-fuzz/out"), os.path.join(ROOT, "build/fuzz/work")
    shutil.rmtree(out, ignore_errors=True)
    seeds = {"NVMINI_FUZZ_SEEDS": work} if os.path.exists(os.path.join(work, "dict_fuzz_ptx")) else {}
    environment = {k: v for k, v in os.environ.items() if k not in ("CFLAGS", "CC", "MAKEFLAGS")}
    environment.update(OUT=out, WORK=os.path.join(ROOT, "build/oss-fuzz/work"), NVMINI_FUZZ_BUILD="build/fuzz", **seeds)
    built = subprocess.run(["oss-fuzz/build.sh"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if built.returncode != 0:
        print((built.stdout + built.stderr)[-3000:])
        return Count(failed=1)
    for source in sorted(os.listdir(os.path.join(ROOT, "runtime-tests/fuzz"))):
        name = source[:-2]
        if not (source.startswith("fuzz_") and source.endswith(".c")):
            continue
        files = all(os.path.exists(os.path.join(out, name + end)) for end in ("", ".dict", ".options"))
        zipped = os.path.exists(os.path.join(out, name + "_seed_corpus.zip")) or name == "fuzz_bitcode"
        ran = files and subprocess.run([os.path.join(out, name), "-runs=20", f"-dict={name}.dict"], cwd=out, capture_output=True, check=False)
        good = files and zipped and ran.returncode == 0
        if not good:
            print(f"FAILED: {name}")
        count += Count(int(good), int(not good))
    return count


def step_fuzz_diff():
    """random kernels executed as IR and as PTX of every level: 500 in CI, 100 else; functions against clang's host code"""
    if not make("default", "all"):
        return Count(failed=1)
    kernels = "500" if os.environ.get("CI") else "100"
    status, output = run_program([sys.executable, "runtime-tests/fuzz/diff.py", "--count", kernels, "--host", "2",
                                  "--no-reduce"], 900)
    numbers = re.search(r"(\d+) kernels, \d+ executions, (\d+) differ", output)
    if status != 0 or not numbers:
        print(output[-6000:])
    return Count(int(numbers[1]) - int(numbers[2]), int(numbers[2])) if numbers else Count(failed=1)


def step_fuzz_cuda():
    """random CUDA kernels of many threads through clang-19, where it is installed: 200 in CI, 20 else"""
    if not make("default", "all"):
        return Count(failed=1)
    status, output = run_program([sys.executable, "runtime-tests/fuzz/diff_cuda.py", "--count", "200" if os.environ.get("CI") else "20",
                                  "--reduce", "0"], 900)
    if output.startswith("skipped"):
        return Count(skipped=1)
    numbers = re.search(r"(\d+) kernels, \d+ executions, (\d+) differ", output)
    if status != 0 or not numbers:
        print(output[-6000:])
    return Count(int(numbers[1]) - int(numbers[2]), int(numbers[2])) if numbers else Count(failed=1)


def step_prove_passes():
    """passes validated with Z3: wrong transformations are refuted, 50 generated functions proved at every level; the encoder executed"""
    if not make("default", "all"):
        return Count(failed=1)
    count = Count()
    if not shutil.which("z3"):
        print("   z3 is not installed: skipped")
        return Count(skipped=1)
    for script, *arguments in (("prove_passes.py", "--quick"), ("execute_encoded.py", "--count", "100")):
        status, output = run_program([sys.executable, f"runtime-tests/prove/{script}", *arguments], 600)
        numbers = re.search(r"^(\d+) passed, (\d+) failed", output, re.M)
        if status != 0 or not numbers:
            print(output[-6000:])
        count += Count(int(numbers[1]), int(numbers[2])) if numbers else Count(failed=1)
        if numbers and "skipped" in output:
            print(f"   {script}: {output.splitlines()[0]}")
            count += Count(skipped=1)
    return count


def step_math():
    """errors of mathlib/ against MPFR: 100,000 points a function and special values, by clang's native build; half, bfloat: all values"""
    if not make("default", "all"):
        return Count(failed=1)
    count = Count()
    for script, *arguments in (("measure.py", "--check"), ("narrow.py",)):
        status, output = run_program([sys.executable, f"runtime-tests/math/{script}", *arguments], 600)
        if output.startswith("skipped"):
            print(f"   {output.strip()}")
            count += Count(skipped=1)
            continue
        numbers = re.search(r"(\d+) passed, (\d+) failed", output)
        if status != 0 or not numbers:
            print(output[-6000:])
        count += Count(int(numbers[1]), int(numbers[2])) if numbers else Count(failed=1)
    return count


STEPS = {
    "build": step_build, "lint": step_lint, "readme": step_readme, "seeds": step_seeds, "unit": step_unit, "threads": step_threads,
    "embed": step_embed, "python": step_python, "install": step_install, "dist": step_dist, "check": step_check, "everyway": step_everyway,
    "check-checking": step_check_checking,
    "check-asan": step_check_asan, "samples": step_samples, "intrinsics": step_intrinsics,
    "recipes": step_recipes, "bitcode": step_bitcode, "math": step_math, "libnvvm": step_libnvvm, "editors": step_editors, "explain": step_explain,
    "reference": step_reference, "progress": step_progress, "course": step_course, "lsp": step_lsp, "serve": step_serve, "wasm": step_wasm,
    "mutate": step_mutate, "fuzz": step_fuzz, "oss-fuzz": step_oss_fuzz,
    "fuzz-diff": step_fuzz_diff, "fuzz-cuda": step_fuzz_cuda, "prove-passes": step_prove_passes,
}


def main():
    arguments = [a for a in sys.argv[1:] if a != "--quiet"]
    if "--list" in arguments:
        for name, step in STEPS.items():
            print(f"{name:16} {step.__doc__}")
        return 0
    tests = [a for a in arguments if a not in STEPS and os.path.exists(os.path.join(ROOT, a))]
    unknown = [a for a in arguments if a not in STEPS and a not in tests]
    if unknown:
        print(f"run.py: there is no step '{unknown[0]}'; --list shows them")
        return 2
    total = Count()
    if tests:
        total += run_lit("default", *tests)
        arguments = [a for a in arguments if a not in tests]
    steps = arguments or ([] if tests else list(STEPS))
    progress = None
    if sys.stdout.isatty() and "--quiet" not in sys.argv:
        progress = sys.stdout = Progress(sys.stdout, len(steps))
    for name in steps:
        start = time.time()
        if progress:
            progress.begin(name, total)
        print(f"-- {name}: {STEPS[name].__doc__}", flush=True)
        count = STEPS[name]()
        print(f"   {count} ({time.time() - start:.0f} s)", flush=True)
        total += count
    print(total)
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main())
