"""Where the command's process begins and ends: from here on Ctrl-C prints one line, even during imports."""

import signal
import sys

from graphzero.cli import interrupts


def main() -> None:
    """Run the command line of this process and leave with its exit code."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:  # not if it is to be ignored, as under nohup
        signal.signal(signal.SIGINT, interrupts.exit_now)
    from graphzero.cli.command import main as run

    try:
        signal.signal(signal.SIGINT, before)
        code = run(sys.argv[1:])
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done: interrupting Python's own clean-up is not a failure
    except KeyboardInterrupt:
        interrupts.exit_now()
    sys.exit(code)


if __name__ == "__main__":
    main()
