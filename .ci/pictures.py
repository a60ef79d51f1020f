"""Draws docs/pictures/live-view.svg: what ``graphzero train`` shows on a terminal in the midst of a run."""

import fcntl
import inspect
import io
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios

from rich.console import Console
from rich.text import Text

ROOT = pathlib.Path(__file__).parents[1]
WIDTH, HEIGHT = 92, 30
MAKE = "synth papers --nodes 40000 --edges 400000 --features 512 --classes 16 --feature-dtype float32"
TRAIN = "train papers --memory 60MB --reader direct --epochs 4 --fanouts 5,5 --hidden 64 --batch-size 256"
SHOWN = "epoch 3/4"
# How a live view goes back to its first line before it draws itself anew.
BACK = re.compile(r"\r(?:\x1b\[[0-9]*[AK])+")


def graphzero(words: str) -> list[str]:
    """Return the command that a person would write with these words."""
    return [sys.executable, "-m", "graphzero", *words.split()]


def shown_on_a_terminal(command: list[str], folder: str) -> str:
    """Run a command on a terminal of its own and return all that it wrote there."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, WIDTH, 0, 0))
    # One thread for torch: on a busy machine more would wait for each other most of the time.
    environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", "OMP_NUM_THREADS": "1"}
    written = b""
    with subprocess.Popen(command, cwd=folder, env=environment, stdin=its, stdout=its, stderr=its) as running:
        os.close(its)
        try:
            while block := os.read(ours, 1 << 16):
                written += block
        except OSError:  # the other end is closed
            pass
    os.close(ours)
    if running.returncode != 0:
        raise SystemExit(f"{command}: exit code {running.returncode}\n{written.decode()}")
    return written.decode().replace("\r\n", "\n")


def svg_of(screen: str, title: str) -> str:
    """Draw a screen as rich does, but with the fonts of the reader and no link to anywhere."""
    usual = inspect.signature(Console.export_svg).parameters["code_format"].default
    form = re.sub(r"<!--.*?-->|@font-face \{\{.*?\}\}", "", usual, flags=re.DOTALL)
    form = form.replace("Fira Code, monospace", "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace")
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.from_ansi(screen))
    drawn = console.export_svg(title=title, code_format=form, unique_id="live-view")
    return "\n".join(line.rstrip() for line in drawn.splitlines() if line.strip()) + "\n"


with tempfile.TemporaryDirectory() as folder:
    subprocess.run(graphzero(MAKE), cwd=folder, check=True, stdout=subprocess.DEVNULL)
    frames = [frame.strip("\n") for frame in BACK.split(shown_on_a_terminal(graphzero(TRAIN), folder))]
inside = [frame for frame in frames if SHOWN in frame and "speed" in frame]
if not inside:
    raise SystemExit(
        f"graphzero {TRAIN}: expected a view with {SHOWN!r} and a speed, found none in {len(frames)} views"
    )
target = ROOT / "docs" / "pictures" / "live-view.svg"
target.write_text(svg_of(inside[len(inside) // 2], f"graphzero {TRAIN.split(' --reader')[0]} …"), encoding="utf-8")
