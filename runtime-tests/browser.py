"""Chromium without a window, for tests of pages. Talks to it by pipes (--remote-debugging-pipe), so that
nothing but Python and Chromium is needed."""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time

BROWSERS = ["chromium", "chromium-browser", "google-chrome", "chrome"]
ANSWER_SECONDS = 60


def find():
    """The path of a browser, or None."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


class Browser:
    """Chromium without a window, driven by the DevTools protocol over two pipes."""

    def __init__(self, program, dark):
        to_browser, self.output = os.pipe()
        self.input, from_browser = os.pipe()
        self.profile = tempfile.mkdtemp(prefix="nvmini-browser-")
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe",
                   "--user-data-dir=" + self.profile, "--window-size=1440,860", "--hide-scrollbars"]
        command = 'exec "$0" "$@" 3<&%d 4>&%d' % (to_browser, from_browser)
        self.process = subprocess.Popen(["bash", "-c", command, program] + options,
                                        pass_fds=(to_browser, from_browser),
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        os.set_blocking(self.input, False)
        self.bytes = b""
        self.next_id = 0
        self.events = []
        target = self.call("Target.createTarget", {"url": "about:blank"}, None)["targetId"]
        self.session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True}, None)["sessionId"]
        self.frame = None
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        # A frame in a sandbox is a process of its own.
        self.call("Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": True})
        if dark:
            self.prefer("dark")

    def receive(self):
        end = time.monotonic() + ANSWER_SECONDS
        while b"\0" not in self.bytes:
            try:
                more = os.read(self.input, 1 << 20)
            except BlockingIOError:
                if time.monotonic() > end:
                    raise RuntimeError("no answer from the browser")
                time.sleep(0.005)
                continue
            if not more:
                raise RuntimeError("the browser ended")
            self.bytes += more
        message, _, self.bytes = self.bytes.partition(b"\0")
        return json.loads(message)

    def call(self, method, parameters=None, session=""):
        self.next_id += 1
        number = self.next_id
        message = {"id": number, "method": method, "params": parameters or {}}
        if session is not None:
            message["sessionId"] = session or self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.output, data):]
        while True:
            answer = self.receive()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(method + ": " + answer["error"]["message"])
                return answer["result"]
            if answer.get("method") == "Target.attachedToTarget" and answer["params"]["targetInfo"]["type"] == "iframe":
                self.frame = answer["params"]["sessionId"]
                self.ask_frame_for_errors()
            self.events.append(answer)

    def ask_frame_for_errors(self):
        for domain in ("Runtime", "Log"):
            self.next_id += 1
            message = {"id": self.next_id, "method": domain + ".enable", "sessionId": self.frame}
            os.write(self.output, json.dumps(message).encode() + b"\0")

    def evaluate(self, expression, session=""):
        result = self.call("Runtime.evaluate", {"expression": expression, "awaitPromise": True, "returnByValue": True}, session)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return result["result"].get("value")

    def open(self, address):
        """Opens a page; returns the milliseconds until it can be used."""
        self.call("Page.navigate", {"url": "about:blank"})
        self.call("Page.navigate", {"url": address})
        end = time.monotonic() + ANSWER_SECONDS
        while time.monotonic() < end:
            ready = self.evaluate("document.documentElement ? document.documentElement.dataset.ready || '' : ''")
            if ready:
                return int(ready)
            time.sleep(0.02)
        raise RuntimeError("the page does not become ready" + "; ".join(self.errors()))

    def press(self, key):
        code = {"Enter": 13, "Tab": 9, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        event = {"key": key, "windowsVirtualKeyCode": code.get(key, 0)}
        if len(key) == 1:
            event["text"] = key
        if key == "Enter":
            event["text"] = "\r"
        self.call("Input.dispatchKeyEvent", dict(event, type="keyDown"))
        self.call("Input.dispatchKeyEvent", dict(event, type="keyUp"))
        self.settle()

    def type(self, text):
        """Inserts a text where the focus is."""
        self.call("Input.insertText", {"text": text})

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def prefer(self, scheme):
        """`dark` or `light`."""
        self.call("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})

    def until(self, expression, seconds=20):
        """Whether the expression becomes true within the time."""
        end = time.monotonic() + seconds
        while not self.evaluate(expression):
            if time.monotonic() > end:
                return False
            time.sleep(0.05)
        return True

    def settle(self):
        """Waits for two frames."""
        self.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def errors(self, own=()):
        """Errors of the console, and requests to anything but files and addresses that begin as `own`, since the last call."""
        found = []
        for event in self.events:
            parameters = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                details = parameters["exceptionDetails"]
                found.append(details.get("exception", {}).get("description", details["text"]))
            elif event.get("method") == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
                found.append("console: " + str(parameters["args"]))
            elif event.get("method") == "Log.entryAdded" and parameters["entry"]["level"] == "error":
                found.append("log: " + parameters["entry"]["text"])
            elif event.get("method") == "Network.requestWillBeSent":
                address = parameters["request"]["url"]
                if not address.startswith(("file:", "data:", "about:", "blob:", *own)):
                    found.append("requests " + address)
        self.events = []
        return found

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", {"format": "png"})["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def close(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)
