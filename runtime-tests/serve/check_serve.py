#!/usr/bin/env python3
"""Tests `nvmini serve`: answers, limits, what it refuses, files that no request may see.

  check_serve.py [--nvmini build/nvmini]

Starts servers on free ports and ends them. Closes with `serve: N passed, N failed`.
"""
import argparse
import glob
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STORE = "define ptx_kernel void @k(ptr %p) {\n  store i32 42, ptr %p\n  ret void\n}\n"
ENDLESS = "define ptx_kernel void @k(ptr %p) {\n  br label %a\na:\n  store volatile i32 1, ptr %p\n  br label %a\n}\n"
RACE = """@s = internal addrspace(3) global i32 undef
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @k(ptr %p) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  store i32 %t, ptr addrspace(3) @s
  ret void
}
"""
DEBUG = """define ptx_kernel void @k(ptr %p) !dbg !3 {
  store i32 1, ptr %p, !dbg !5
  ret void, !dbg !5
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "secret.cu", directory: "FOLDER")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = distinct !DISubprogram(name: "k", file: !1, line: 1, type: !4, unit: !0, spFlags: DISPFlagDefinition)
!4 = !DISubroutineType(types: !{})
!5 = !DILocation(line: 1, column: 1, scope: !3)
"""


class Server:
    def __init__(self, nvmini, *options, pass_fds=(), user=None):
        command = [nvmini, *options] if nvmini == "/bin/sh" else [nvmini, "serve", "--port", "0", *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, pass_fds=pass_fds, user=user)
        self.address = self.process.stdout.readline().strip()
        self.port = int(self.address.rstrip("/").split(":")[-1]) if self.address else 0

    def ask(self, method, path, body=None, **headers):
        """(status, text, headers)"""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        text = answer.read().decode(errors="replace")
        connection.close()
        return answer.status, text, answer.headers

    def job(self, path, body, **parameters):
        status, text, _ = self.ask("POST", f"/{path}?{urllib.parse.urlencode(parameters)}", body)
        return json.loads(text) if status == 200 else {"status": -2, "output": "", "messages": text, "limit": ""}

    def raw(self, data, wait=15):
        """The first line of the answer to these bytes; "" if the connection is closed without one."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=wait) as s:
            try:
                s.sendall(data)
                answer = b""
                while more := s.recv(65536):
                    answer += more
            except OSError:
                pass
        return answer.split(b"\r\n")[0].decode(errors="replace")

    def children(self):
        """The ids of the processes whose parent this server is: /proc/PID/stat has "PID (NAME) STATE PARENT …"."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
                    parent = f.read().rpartition(")")[2].split()[1]
            except OSError:  # it ended meanwhile
                continue
            if int(parent) == self.process.pid:
                found.append(pid)
        return found

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, err


class Count:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def expect(self, name, good, shown=""):
        self.passed, self.failed = self.passed + bool(good), self.failed + (not good)
        if not good:
            print(f"failed: {name}: {str(shown)[:600]}")


def head(host, *lines):
    return f"Host: {host}\r\n" + "".join(line + "\r\n" for line in lines) + "\r\n"


def check_answers(c, s):
    status, page, headers = s.ask("GET", "/")
    c.expect("the page", status == 200 and "<title>nvmini playground" in page and "default-src 'none'" in headers["Content-Security-Policy"])
    c.expect("the page loads nothing", "http://" not in page and "https://" not in page and "src=" not in page.replace("byId(\"page\").src =", ""))
    status, text, headers = s.ask("HEAD", "/")
    c.expect("HEAD has no body", status == 200 and text == "" and int(headers["Content-Length"]) == len(page.encode()))
    choices = json.loads(s.ask("GET", "/choices")[1])
    samples = sorted(os.path.basename(path)[:-5] for path in glob.glob(f"{ROOT}/samples/*.nvir"))
    c.expect("the samples and CPUs", [x["name"] for x in choices["samples"]] == samples and "sm_90a" in choices["cpus"], choices["cpus"])
    done = s.job("compile", STORE, cpu="sm_80", level="-O2")
    c.expect("compile", done["status"] == 0 and ".target sm_80" in done["output"] and "st.u32" in done["output"], done)
    done = s.job("compile", STORE, cpu="sm_80", options="--emit ir --ftz")
    c.expect("compile with options", done["output"].startswith(("target", "define", ";")) or "define ptx_kernel" in done["output"], done)
    done = s.job("compile", STORE.replace("i32 42", "i32 %no"), cpu="sm_80")
    c.expect("errors have a place", done["status"] == 1 and "<stdin>:2:13: error: " in done["messages"], done)
    done = s.job("explain", STORE)
    c.expect("explain", done["status"] == 0 and done["output"].startswith("<!DOCTYPE html>"), done["messages"])
    done = s.job("run", STORE, options="--arg buf:i32:1:zero --print 0")
    c.expect("run", done["status"] == 0 and done["output"] == "42\n", done)
    done = s.job("run", "; nvmini-run: --arg buf:i32:1:zero --print 0\n" + STORE)
    c.expect("run as the text says", done["output"] == "42\n", done)
    done = s.job("run", RACE, options="--block 64 --arg buf:i32:1:zero")
    c.expect("findings", done["status"] == 1 and "race: kernel k" in done["messages"], done)


def check_protocol(c, s):
    own = f"127.0.0.1:{s.port}"
    for name, request, wanted in (
            ("an unknown path", f"GET /no HTTP/1.1\r\n{head(own)}", "404"),
            ("a path outside", f"GET /../etc/passwd HTTP/1.1\r\n{head(own)}", "404"),
            ("an unknown method", f"DELETE / HTTP/1.1\r\n{head(own)}", "405"),
            ("GET of a job", f"GET /compile HTTP/1.1\r\n{head(own)}", "405"),
            ("POST of the page", f"POST / HTTP/1.1\r\n{head(own, 'Content-Length: 0')}", "405"),
            ("no length", f"POST /compile HTTP/1.1\r\n{head(own)}", "411"),
            ("a chunked body", f"POST /compile HTTP/1.1\r\n{head(own, 'Transfer-Encoding: chunked')}0\r\n\r\n", "411"),
            ("two lengths", f"POST /compile HTTP/1.1\r\n{head(own, 'Content-Length: 1', 'Content-Length: 2')}ab", "400"),
            ("a negative length", f"POST /compile HTTP/1.1\r\n{head(own, 'Content-Length: -1')}", "400"),
            ("a large body", f"POST /compile HTTP/1.1\r\n{head(own, 'Content-Length: 1048577')}", "413"),
            ("a huge length", f"POST /compile HTTP/1.1\r\n{head(own, 'Content-Length: 99999999999999999999')}", "400"),
            ("a large head", f"GET / HTTP/1.1\r\nX: {'x' * 20000}\r\n\r\n", "431"),
            ("no protocol", "GET /\r\n\r\n", "400"),
            ("another protocol", f"GET / HTTP/2.0\r\n{head(own)}", "505"),
            ("a header without a name", f"GET / HTTP/1.1\r\n{head(own, ': x')}", "400"),
            ("a blank before the colon", f"GET / HTTP/1.1\r\n{head(own, 'X : y')}", "400"),
            ("a continued line", f"GET / HTTP/1.1\r\nHost: example.com\r\n {head(own)}", "400"),
            ("a line that begins with a blank", f"GET / HTTP/1.1\r\n {head(own)}", "400"),
            ("a line without a carriage return", f"GET / HTTP/1.1\nHost: localhost\nX: y\r\n\r\n", "400"),
            ("a carriage return in a line", f"GET / HTTP/1.1\r\n{head(own, 'X: a' + chr(13) + 'Y: b')}", "400"),
            ("two origins", f"GET / HTTP/1.1\r\n{head(own, 'Origin: http://example.com', 'Origin: http://' + own)}", "400"),
            ("an empty origin", f"GET / HTTP/1.1\r\n{head(own, 'Origin:')}", "403"),
            ("a NUL in the head", f"GET / HTTP/1.1\r\n{head(own, 'X: a' + chr(0) + 'b')}", "400"),
            ("no host", "GET / HTTP/1.1\r\n\r\n", "403"),
            ("two hosts", f"GET / HTTP/1.1\r\nHost: {own}\r\n{head(own)}", "400"),
            ("another host", f"GET / HTTP/1.1\r\n{head('example.com')}", "403"),
            ("a host that begins like ours", f"GET / HTTP/1.1\r\n{head('127.0.0.1.example.com')}", "403"),
            ("another origin", f"POST /compile HTTP/1.1\r\n{head(own, 'Origin: http://example.com', 'Content-Length: 0')}", "403"),
            ("another port as origin", f"POST /compile HTTP/1.1\r\n{head(own, 'Origin: http://127.0.0.1:1', 'Content-Length: 0')}", "403"),
            ("no origin of a file", f"POST /compile HTTP/1.1\r\n{head(own, 'Origin: null', 'Content-Length: 0')}", "403"),
            ("a query that is not valid", f"POST /compile?cpu=%zz HTTP/1.1\r\n{head(own, 'Content-Length: 0')}", "400"),
            ("a NUL in the query", f"POST /compile?cpu=%00 HTTP/1.1\r\n{head(own, 'Content-Length: 0')}", "400"),
            ("our own origin", f"POST /compile?cpu=sm_80 HTTP/1.1\r\n{head(own, 'Origin: http://' + own, 'Content-Length: 0')}", "200"),
            ("localhost", f"GET / HTTP/1.1\r\n{head('localhost')}", "200"),
            ("a client that waits to be asked", f"POST /compile?cpu=sm_80 HTTP/1.1\r\n{head(own, 'Expect: 100-continue', 'Content-Length: 1')}", "100")):
        if wanted == "100":
            with socket.create_connection(("127.0.0.1", s.port), timeout=15) as client:
                client.sendall(request.encode())
                first = client.recv(100).decode()
        else:
            first = s.raw(request.encode())
        c.expect(f"{name}: {wanted}", first.startswith(f"HTTP/1.1 {wanted} "), first)


def check_files(c, s, folder):
    """No request reads or writes a file."""
    with open(f"{folder}/secret.cu", "w", encoding="utf-8") as f:
        f.write("the secret\n")
    with open(f"{folder}/library.nvir", "w", encoding="utf-8") as f:
        f.write("define i32 @secret() {\n  ret i32 7\n}\n")
    before = sorted(os.listdir(folder))
    for path, options in (("compile", f"--link {folder}/library.nvir"), ("compile", f"-o {folder}/out.ptx"),
                          ("compile", f"--remarks-file {folder}/remarks.yaml"), ("run", f"--save 0:{folder}/saved"),
                          ("run", f"--expect 0:{folder}/secret.cu"), ("explain", f"-o {folder}/pages/"), ("run", "--on gpu")):
        done = s.job(path, STORE, options=f"{options} --arg buf:i32:1:zero" if path == "run" else options)
        c.expect(f"{path} {options.split()[0]} is not available", done["status"] == 2 and "is not available here" in done["messages"], done)
    done = s.job("compile", STORE, options=f"{folder}/secret.cu")
    c.expect("no second file", done["status"] == 2 and "name a file" in done["messages"], done)
    done = s.job("compile", STORE, options=f"@{folder}/secret.cu")
    c.expect("no response file", done["status"] == 2 and "secret\n" not in done["output"] + done["messages"], done)
    done = s.job("explain", DEBUG.replace("FOLDER", folder))
    c.expect("no source file of a debug location", done["status"] == 0 and "the secret" not in done["output"], done["messages"])
    for option in (f"--save 0:{folder}/saved", f"--expect 0:{folder}/secret.cu", f"--link {folder}/library.nvir", f"--arg buf:u8:@{folder}/secret.cu"):
        for path in ("run", "explain"):
            done = s.job(path, f"; nvmini-run: --arg buf:i32:1:zero {option}\n" + STORE)
            c.expect(f"a file in the text's own launch: {path} {option.split()[0]}", done["status"] == 2 and "is not available here" in done["messages"], done)
    for argument in (f"buf:u8:@{folder}/secret.cu", f"buf:@{folder}/secret.cu"):
        done = s.job("run", STORE, options=f"--arg {argument} --print 0")
        c.expect("no file as argument", done["status"] == 2 and "'--arg' with a file is not available" in done["messages"], done)
    done = s.job("compile", STORE, options="--ftz " * 130)
    c.expect("not too many words", done["status"] == 2 and "more than 128 words" in done["messages"], done)
    c.expect("no file was made", sorted(os.listdir(folder)) == before, os.listdir(folder))


def check_limits(c, nvmini):
    s = Server(nvmini, "--seconds", "1")
    began = time.monotonic()
    done = s.job("run", ENDLESS, options="--arg buf:i32:1:zero")
    c.expect("an endless kernel ends", done["limit"] == "time" and time.monotonic() - began < 20, done)
    done = s.job("run", STORE, options="--arg buf:u8:100000000000:zero")
    c.expect("a buffer beyond the memory", done["status"] != 0, done)
    done = s.job("run", ENDLESS, options="--trace --arg buf:i32:1:zero")
    c.expect("output ends", done["limit"] in ("output", "time") and len(done["messages"]) <= 16 << 20, done["limit"])
    idle = [socket.create_connection(("127.0.0.1", s.port)) for _ in range(100)]
    try:
        status, _, _ = s.ask("GET", "/")
    except OSError as error:
        status = error
    c.expect("100 idle connections do not stop others", status == 200, status)
    for connection in idle:
        connection.close()
    late = s.raw(b"GET / HTTP/1.1\r\nHost: localhost\r\n", 30)
    c.expect("a request that does not end: 408", late.startswith("HTTP/1.1 408 "), late)
    busy = [http.client.HTTPConnection("127.0.0.1", s.port, timeout=60) for _ in range(30)]
    for connection in busy:
        connection.request("POST", "/run?options=--arg+buf:i32:1:zero", ENDLESS)
    answers = [connection.getresponse() for connection in busy]
    kinds = sorted({answer.status for answer in answers})
    refused = sum(answer.status == 503 for answer in answers)
    c.expect("30 jobs at once: 4 run, 16 wait, the others are refused", kinds == [200, 503] and 6 <= refused <= 14, (kinds, refused))
    for answer in answers:
        answer.read()
    c.expect("no process is left", not s.children(), s.children())
    job = http.client.HTTPConnection("127.0.0.1", s.port, timeout=60)
    job.request("POST", "/run?options=--arg+buf:i32:1:zero", ENDLESS)
    time.sleep(0.3)
    status, err = s.stop()
    c.expect("SIGTERM with a job running: exit status 0", status == 0 and err == "", (status, err))


def first_child(s):
    """The process of the only job, when it has given up what it can; None if there is none soon."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        for pid in s.children():
            with open(f"/proc/{pid}/status", encoding="ascii") as f:
                status = f.read()
            if "Seccomp:\t2" in status or "Seccomp:" not in status:
                return pid
        time.sleep(0.02)
    return None


def is_gone(pid, seconds=10):
    end = time.monotonic() + seconds
    while os.path.exists(f"/proc/{pid}"):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def start_endless(s):
    """A job that does not end: its connection, and its process."""
    job = socket.create_connection(("127.0.0.1", s.port), timeout=60)
    job.sendall(f"POST /run?options=--arg+buf:i32:1:zero HTTP/1.1\r\n{head('localhost', f'Content-Length: {len(ENDLESS)}')}{ENDLESS}".encode())
    return job, first_child(s)


def check_processes(c, nvmini, folder):
    """What the process of a job has, and that it ends with its client and with the server."""
    opened = os.open(f"{folder}/secret.cu", os.O_RDONLY)
    os.dup2(opened, 900, inheritable=True)
    s = Server(nvmini, "--seconds", "60", pass_fds=[900])
    job, pid = start_endless(s)
    c.expect("a job starts and gives up its rights", pid)
    if not pid:
        return
    with open(f"/proc/{pid}/limits", encoding="ascii") as f:
        limits = {line[:26].strip(): line[26:].split()[:2] for line in f}
    wanted = {"Max open files": ["0", "0"], "Max cpu time": ["61", "62"], "Max file size": ["16777216"] * 2, "Max core file size": ["0", "0"], "Max processes": ["0", "0"]}
    if "asan" not in nvmini:
        wanted["Max address space"] = ["536870912"] * 2
    c.expect("the limits of a job", all(limits[name] == values for name, values in wanted.items()), limits)
    c.expect("a job has the server's and its own files only", sorted(os.listdir(f"/proc/{pid}/fd")) == ["0", "1", "2", "3"], os.listdir(f"/proc/{pid}/fd"))
    job.close()
    c.expect("a job ends with its client", is_gone(pid))
    job, pid = start_endless(s)
    s.stop(signal.SIGHUP)
    c.expect("SIGHUP: exit status 0, no job is left", s.process.returncode == 0 and is_gone(pid), s.process.returncode)
    job.close()
    s = Server(nvmini, "--seconds", "60")
    job, pid = start_endless(s)
    s.stop(signal.SIGKILL)
    c.expect("a job ends with a server that is killed", is_gone(pid))
    job.close()


def check_lower_limits(c, nvmini):
    """A server with lower limits of its own, as of a service manager, which only root may raise."""
    user = 65534 if os.geteuid() == 0 else None
    program = os.open(nvmini, os.O_RDONLY)  # that user may lack the right to enter the folders of the checkout
    address_space = "" if "asan" in nvmini else "ulimit -v 400000; "
    s = Server("/bin/sh", "-c", f"ulimit -t 5; ulimit -f 8000; ulimit -n 100; {address_space}"
               f"exec /proc/self/fd/{program} serve --port 0 --seconds 9", pass_fds=[program], user=user)
    os.close(program)
    done = s.job("run", STORE, options="--arg buf:i32:1:zero --print 0")
    c.expect("lower limits of the server stay", done["output"] == "42\n", done)
    s.stop()


def check_memory(c, nvmini):
    """Clients that take no answer."""
    s = Server(nvmini)
    options = urllib.parse.quote_plus("--arg buf:u32:2000000:iota --print 0 --arg i32:1 --no-checks")
    text = "define ptx_kernel void @k(ptr %p, i32 %x) {\n  ret void\n}\n"
    request = f"POST /run?options={options} HTTP/1.1\r\n{head('localhost', f'Content-Length: {len(text)}')}{text}".encode()
    clients = [socket.create_connection(("127.0.0.1", s.port), timeout=60) for _ in range(20)]
    for client in clients:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.sendall(request)
    peak, busy, end = 0, time.monotonic(), time.monotonic() + 60
    while time.monotonic() < end and (peak <= 50 or time.monotonic() < busy + 2):
        time.sleep(0.2)
        busy = time.monotonic() if s.children() else busy
        with open(f"/proc/{s.process.pid}/status", encoding="ascii") as f:
            peak = int(re.search(r"VmHWM:\s+(\d+)", f.read())[1]) >> 10
    most = 800 if "asan" in nvmini else 400  # MB
    c.expect(f"20 answers of 15 MB that no client takes: at most {most} MB", 50 < peak < most, peak)
    for client in clients:
        client.close()
    s.stop()
    s = Server(nvmini)
    done = s.job("run", text, options="--arg buf:u32:2000000:iota --print 0 --arg i32:1 --no-checks")
    c.expect("an answer of 15 MB arrives", done["limit"] == "" and len(done["output"]) == 14888890, (done["limit"], len(done["output"])))
    flood = "@f = private constant [3 x i8] c\"\\01\\1B\\00\"\ndeclare i32 @vprintf(ptr, ptr)\n" + ENDLESS.replace(
        "  store volatile i32 1, ptr %p\n", "  %r = call i32 @vprintf(ptr @f, ptr null)\n")
    done = s.ask("POST", "/run?options=" + urllib.parse.quote_plus("--arg buf:i32:1:zero --step-limit 80000000"), flood)[1]
    c.expect("what JSON must escape counts as it is sent", len(done) <= (16 << 20) + 5000, len(done))
    s.stop()


def check_addresses(c, nvmini):
    s = Server(nvmini, "--bind", "0.0.0.0")
    for address, host, wanted in (("127.0.0.2", "127.0.0.2", "200"), ("127.0.0.2", "127.0.0.3", "403"), ("127.0.0.1", "127.0.0.2", "403"),
                                  ("127.0.0.2", "localhost", "200"), ("127.0.0.1", "0.0.0.0", "403")):
        with socket.create_connection((address, s.port), timeout=15) as client:
            client.sendall(f"GET / HTTP/1.1\r\n{head(f'{host}:{s.port}')}".encode())
            first = client.recv(100).decode()
        c.expect(f"{host} asked at {address}: {wanted}", first.startswith(f"HTTP/1.1 {wanted} "), first)
    c.expect("another address: a warning", "other machines" in s.stop()[1])
    s = Server(nvmini, "--bind", "::1")
    if not s.address:
        print("   this machine has no IPv6: skipped")
        c.skipped += 1
        return
    c.expect("the address of IPv6 is in brackets", s.address == f"http://[::1]:{s.port}/", s.address)
    with socket.create_connection(("::1", s.port), timeout=15) as client:
        client.sendall(f"GET / HTTP/1.1\r\n{head(f'[::1]:{s.port}')}".encode())
        first = client.recv(100).decode()
    c.expect("IPv6", first.startswith("HTTP/1.1 200 "), first)
    c.expect("IPv6 of this machine: no warning", s.stop() == (0, ""))


def check_command(c, nvmini):
    for arguments, status, shown in ((("--port", "70000"), 2, "'70000' is not a number"), (("--port", "x"), 2, "'x' is not a number"),
                                     (("--bind", "nowhere"), 1, "'nowhere' is not an address"), (("--seconds", "0x"), 2, "is not a number"), (("--seconds", "0"), 2, "not a number from 1")):
        r = subprocess.run([nvmini, "serve", *arguments], text=True, capture_output=True, timeout=30)
        c.expect(f"serve {' '.join(arguments)}: exit status {status}", r.returncode == status and shown in r.stderr, r.stderr)
    s = Server(nvmini)
    r = subprocess.run([nvmini, "serve", "--port", str(s.port)], text=True, capture_output=True, timeout=30)
    c.expect("a port in use: exit status 1", r.returncode == 1 and "in use" in r.stderr, r.stderr)
    c.expect("SIGINT: exit status 0, nothing on standard error", s.stop(signal.SIGINT) == (0, ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--nvmini", default=f"{ROOT}/build/nvmini")
    options = parser.parse_args()
    c = Count()
    with tempfile.TemporaryDirectory() as folder:
        s = Server(options.nvmini)
        check_answers(c, s)
        check_protocol(c, s)
        check_files(c, s, folder)
        status, err = s.stop()
        c.expect("SIGTERM: exit status 0, nothing on standard error", (status, err) == (0, ""), (status, err))
        check_processes(c, options.nvmini, folder)
    check_lower_limits(c, options.nvmini)
    check_memory(c, options.nvmini)
    check_addresses(c, options.nvmini)
    check_limits(c, options.nvmini)
    check_command(c, options.nvmini)
    print(f"serve: {c.passed} passed, {c.failed} failed" + (f", {c.skipped} skipped" if c.skipped else ""))
    return 1 if c.failed else 0


if __name__ == "__main__":
    sys.exit(main())
