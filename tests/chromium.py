"""A headless Chromium that opens a page and tells what it saw. Tests that need one are skipped where there is none."""

import html
import json
import os
import re
import shutil
import struct
import subprocess
import zlib
from collections import Counter

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars --disable-dev-shm-usage"
)

# Runs inside the page, before its own scripts. Colours are compared as WCAG 2 says.
PROBE = """
<script>
const errors = [];
addEventListener("error", event => errors.push(String(event.message)));
addEventListener("securitypolicyviolation", event => errors.push("refused " + event.blockedURI));
function luminance(colour) {
  const [r, g, b] = colour.map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
function channels(colour) { return colour.match(/[\\d.]+/g).map(Number); }
function contrast(one, other) {
  const [low, high] = [luminance(one.slice(0, 3)), luminance(other.slice(0, 3))].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}
function backdrop(node) {
  for (; node; node = node.parentElement) {
    const colour = channels(getComputedStyle(node).backgroundColor);
    if (colour.length < 4 || colour[3] > 0) return colour;
  }
  return [255, 255, 255];
}
addEventListener("DOMContentLoaded", () => document.querySelectorAll("details").forEach(part => { part.open = true; }));
function seen(element) { return element.checkVisibility() && element.getBoundingClientRect().width > 0; }
function textContrasts() {
  const found = [];
  // Of the site, what people read: its menus may be there without being drawn.
  const part = document.querySelector("article.md-content__inner") ?? document.body;
  const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const holder = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || holder.closest("script, title") || !seen(holder)) continue;
    const style = getComputedStyle(holder);
    const colour = channels(holder.closest("svg") ? style.fill : style.color);
    found.push([contrast(colour, backdrop(holder)), walker.currentNode.data.slice(0, 60)]);
  }
  return found;
}
function shapeContrasts() {
  return [...document.querySelectorAll(".bar, .gz-bar, .stage, polyline.line, circle.dot, line.cap")].map(shape => {
    const style = getComputedStyle(shape);
    const colour = channels(shape.matches(".line, line.cap") ? style.stroke : style.fill);
    return [contrast(colour, backdrop(shape)), shape.getAttribute("class")];
  });
}
function misplacedTexts() {
  const wrong = [];
  for (const chart of document.querySelectorAll("svg[role=img]")) {
    const box = chart.getBoundingClientRect();
    const texts = [...chart.querySelectorAll("text")].map(text => [text.textContent, text.getBoundingClientRect()]);
    texts.forEach(([name, r], i) => {
      if (r.left < box.left - 1 || r.right > box.right + 1 || r.top < box.top - 1 || r.bottom > box.bottom + 1)
        wrong.push("outside: " + name);
      for (const [other, o] of texts.slice(i + 1)) {
        const wide = Math.min(r.right, o.right) - Math.max(r.left, o.left);
        const high = Math.min(r.bottom, o.bottom) - Math.max(r.top, o.top);
        if (wide > 1 && high > 3) wrong.push("overlap: " + name + " | " + other);
      }
    });
  }
  return wrong;
}
addEventListener("load", () => {
  const root = document.documentElement;
  const found = {
    errors, width: root.clientWidth, scrollWidth: root.scrollWidth, height: root.scrollHeight,
    resources: performance.getEntriesByType("resource").map(entry => entry.name),
    charts: document.querySelectorAll("svg[role=img]").length,
    json: document.getElementById("document")?.textContent ?? null,
    paper: backdrop(document.body).slice(0, 3), texts: textContrasts(), shapes: shapeContrasts(), misplaced: misplacedTexts(),
  };
  parent.document.getElementById("found").textContent = JSON.stringify(found);
});
</script>
"""


def run(folder, *arguments):
    """Run Chromium with a profile of its own and return what it printed."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip(f"none of {', '.join(NAMES)} is on the PATH")
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"} | {"HOME": str(folder)}
    command = [program, *QUIET.split(), f"--user-data-dir={folder / 'profile'}", *arguments]
    done = subprocess.run(command, capture_output=True, cwd=folder, env=environment, timeout=120, check=False)
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-2000:]
    return done.stdout.decode()


def theme(dark):
    return f"--blink-settings=preferredColorScheme={0 if dark else 1}"


def probed(page, folder, width, dark=False):
    """Open a page in a frame of so many pixels and return what the probe found.

    A frame, because a window of Chromium is never narrower than 500 pixels. The page is a file of the folder, so what it
    links to may lie beside it.
    """
    assert page.count("<head>") == 1
    (folder / "frame.html").write_text(page.replace("<head>", "<head>" + PROBE), encoding="utf-8")
    outer = folder / "outer.html"
    outer.write_text(
        f'<meta charset="utf-8"><pre id="found"></pre>'
        f'<iframe style="border:0" width="{width}" height="900" src="frame.html"></iframe>',
        encoding="utf-8",
    )
    size = f"--window-size={max(600, width)},1000"
    dom = run(folder, theme(dark), size, "--allow-file-access-from-files", "--dump-dom", outer.as_uri())
    found = re.search(r'<pre id="found">(.*?)</pre>', dom, re.DOTALL)
    assert found is not None
    assert found[1], "the probe did not run"
    return json.loads(html.unescape(found[1]))


def screenshot(page, folder, width, height, dark=False):
    """Open a page as a file and return its first screen, at half its size, as rows of (r, g, b)."""
    source, picture = folder / "page.html", folder / "page.png"
    source.write_text(page, encoding="utf-8")
    size = f"--window-size={width},{height}"
    run(folder, theme(dark), size, "--force-device-scale-factor=0.5", f"--screenshot={picture}", source.as_uri())
    return pixels(picture.read_bytes())


def pixels(data):
    """Decode a PNG of 8 bits a channel without interlacing, https://www.w3.org/TR/png/."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = [], 8
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        chunks.append((data[at + 4 : at + 8], data[at + 8 : at + 8 + length]))
        at += 12 + length
    width, height, depth, kind, _, _, interlaced = struct.unpack(">IIBBBBB", chunks[0][1])
    step = {2: 3, 6: 4}[kind]
    assert (depth, interlaced) == (8, 0)
    raw = zlib.decompress(b"".join(body for name, body in chunks if name == b"IDAT"))
    rows, above = [], bytearray(width * step)
    for y in range(height):
        start = y * (width * step + 1)
        line = bytearray(raw[start + 1 : start + 1 + width * step])
        unfilter(raw[start], line, above, step)
        rows.append([tuple(line[x : x + 3]) for x in range(0, len(line), step)])
        above = line
    return rows


def unfilter(kind, line, above, step):
    """Undo the filter of one line in place."""
    if kind == 0:
        return
    for i in range(len(line)):
        left, up = line[i - step] if i >= step else 0, above[i]
        if kind == 1:
            guess = left
        elif kind == 2:
            guess = up
        elif kind == 3:
            guess = (left + up) // 2
        else:
            corner = above[i - step] if i >= step else 0
            guess = min((left, up, corner), key=lambda value: abs(left + up - corner - value))
        line[i] = (line[i] + guess) & 255


def colours(rows):
    """Count the pixels of each colour."""
    return Counter(pixel for row in rows for pixel in row)
