# SPDX-License-Identifier: GPL-2.0-or-later
"""A page in headless Chromium, asked through DevTools on a pair of pipes: nothing listens anywhere."""
import base64
import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-breakpad", "--disable-crash-reporter", "--remote-debugging-pipe"]
PATIENCE = 120  # seconds
PR_SET_CHILD_SUBREAPER = 36


def program():
    return shutil.which("chromium")


class Page:
    """`with Page(file, width) as page`: what the page complains about is in page.complaints."""

    def __init__(self, file, width=1280, height=900, dark=False):
        self.file, self.width, self.height, self.dark = file, width, height, dark
        self.complaints, self.requests, self.events, self.number, self.rest = [], [], [], 0, b""

    def __enter__(self):
        # Orphans of the browser become our children, so that their end can be waited for.
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self.profile = tempfile.TemporaryDirectory()
        to_read, self.to = os.pipe()
        self.come, from_write = os.pipe()

        def wire():
            # 3 and 4 are what Chromium reads from and writes to; either end may be there already.
            read, write = os.dup2(to_read, 63), os.dup2(from_write, 64)
            os.dup2(read, 3)
            os.dup2(write, 4)
            os.close(read)
            os.close(write)

        self.process = subprocess.Popen([program(), *FLAGS, f"--user-data-dir={self.profile.name}", "about:blank"], close_fds=False,
                                        preexec_fn=wire, start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(from_write)
        self.session = None
        target = next(each for each in self.call("Target.getTargets")["targetInfos"] if each["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=self.width, height=self.height, deviceScaleFactor=1,
                  mobile=self.width < 600)
        if self.dark:
            self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
        started = time.monotonic()
        self.call("Page.navigate", url=f"file://{self.file}")
        self.wait("Page.loadEventFired")
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        self.seconds = time.monotonic() - started
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(PATIENCE)
        # Its helpers may still write to the profile.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while True:
                os.waitpid(-self.process.pid, 0)
        os.close(self.to)
        os.close(self.come)
        self.profile.cleanup()

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.next_message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def wait(self, event):
        while event not in self.events:
            self.next_message()

    def next_message(self):
        while b"\0" not in self.rest:
            if not select.select([self.come], [], [], PATIENCE)[0]:
                raise TimeoutError("the browser does not answer")
            part = os.read(self.come, 1 << 16)
            if not part:
                raise EOFError("the browser has ended")
            self.rest += part
        text, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(text)
        self.note(message.get("method"), message.get("params", {}))
        return message

    def note(self, method, parameters):
        self.events.append(method)
        if method == "Page.javascriptDialogOpening":
            raise AssertionError("the page has opened a dialog")
        if method == "Runtime.exceptionThrown":
            self.complaints.append(parameters["exceptionDetails"].get("exception", {}).get("description", str(parameters)))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.complaints.append(str(parameters["args"]))
        elif method == "Log.entryAdded":
            self.complaints.append(parameters["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])

    def evaluate(self, script):
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{script}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def press(self, key, text=""):
        code = {"Enter": 13, "Tab": 9, " ": 32}[key]
        common = {"key": key, "code": "Space" if key == " " else key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **common, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def screenshot(self, file, whole=True):
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(file, "wb") as out:
            out.write(base64.b64decode(shot["data"]))
