"""A real browser without a window, driven over two pipes by its own protocol (CDP)."""

import base64
import fcntl
import json
import os
import selectors
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
ANSWER_S_MAX = 45.0
"""A machine that does much else starts a browser slowly."""
_HIGH = 10
_BEGIN = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.dup2(int(sys.argv[2]), 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""A browser reads from descriptor 3, and writes to 4."""


def path() -> str:
    """The browser of this machine; without one the test is skipped, and says what would help."""
    found = next((where for name in NAMES if (where := shutil.which(name))), None)
    if found is None:
        pytest.skip(f"there is no browser ({', '.join(NAMES)}): apt-get install chromium")
    return found


class Browser:
    """One page. Whatever it asks for and complains of is kept."""

    def __init__(self, to: int, back: int) -> None:
        self._to, self._back = to, back
        self._buffer, self._number, self._session = b"", 0, ""
        self.requests: list[str] = []
        self.complaints: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: object) -> Any:
        """Ask, and wait for the answer. Raises AssertionError with what the browser refuses."""
        self._number += 1
        asked = {"id": self._number, "method": method, "params": params}
        if self._session:
            asked["sessionId"] = self._session
        os.write(self._to, json.dumps(asked).encode() + b"\0")
        while True:
            said = self._next()
            if said.get("id") == self._number:
                assert "error" not in said, (method, said["error"])
                return said["result"]

    def open(self, url: str, *, headers: dict[str, str] | None = None) -> None:
        """Go there, and wait until it is shown."""
        self.call("Network.setExtraHTTPHeaders", headers=headers or {})
        self.call("Page.navigate", url=url)
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'")

    def run(self, script: str) -> Any:
        """The value of a piece of JavaScript."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def until(self, script: str) -> None:
        """Wait until it is true."""
        deadline = time.monotonic() + ANSWER_S_MAX
        while not self.run(script):
            assert time.monotonic() < deadline, f"never: {script}"
            with selectors.DefaultSelector() as selector:
                selector.register(self._back, selectors.EVENT_READ)
                selector.select(timeout=0.05)

    def look(self, *, dark: bool = False, width: int = 1100, height: int = 900) -> None:
        """What the screen is like."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def picture(self) -> bytes:
        """All of the page, as PNG; for those who change it and want to see it."""
        found = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        return base64.b64decode(found["data"])

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            with selectors.DefaultSelector() as selector:
                selector.register(self._back, selectors.EVENT_READ)
                assert selector.select(timeout=ANSWER_S_MAX), "the browser says nothing"
            data = os.read(self._back, 1 << 16)
            assert data, "the browser is gone"
            self._buffer += data
        one, _, self._buffer = self._buffer.partition(b"\0")
        said: dict[str, Any] = json.loads(one)
        self._note(said.get("method", ""), said.get("params", {}))
        return said

    def _note(self, method: str, params: dict[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Log.entryAdded":
            self.complaints.append(params["entry"]["text"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(params["exceptionDetails"]))


@contextmanager
def browsing(folder: Path) -> Iterator[Browser]:
    """A browser with nothing in it, which ends with the block. Skips where there is none."""
    command = [
        path(),
        "--headless=new",
        "--remote-debugging-pipe",
        f"--user-data-dir={folder}",
        "--no-first-run",
        "--no-default-browser-check",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-dev-shm-usage",
        "--disable-gpu",
        "--disable-sync",
        *(["--no-sandbox"] if os.geteuid() == 0 else []),
    ]
    read, to = _pipe()
    back, write = _pipe()
    begun = [sys.executable, "-c", _BEGIN, str(read), str(write), *command]
    with (folder / "said").open("wb") as said:
        process = subprocess.Popen(
            begun, pass_fds=(read, write), stdin=subprocess.DEVNULL, stdout=said, stderr=said
        )
    os.close(read)
    os.close(write)
    try:
        yield Browser(to, back)
    finally:
        os.close(to)  # it ends when nobody can tell it anything any more
        os.close(back)
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _pipe() -> tuple[int, int]:
    """To read from, and to write to; both above those that the browser wants to have."""
    ends = os.pipe()
    high = [fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, _HIGH) for each in ends]
    for each in ends:
        os.close(each)
    return high[0], high[1]


CONTRASTS = """
(() => {
  const parts = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (text) => {
    const [r, g, b] = parts(text).slice(0, 3).map((each) => {
      const share = each / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (parts(colour)[3] !== 0) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const found = [];
  for (const element of document.body.querySelectorAll("*")) {
    const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (!own || element.tagName === "SCRIPT" || element.offsetParent === null) continue;
    const pair = [light(getComputedStyle(element).color), light(behind(element))];
    const ratio = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
    if (ratio < 4.5) found.push([element.textContent.slice(0, 40), ratio]);
  }
  return found;
})()
"""
"""Texts that stand out less from what is behind them than WCAG 2 wants of text (AA)."""
