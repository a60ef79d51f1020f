"""Where a process of the command begins and ends: Ctrl-C is one line from here on, also while the rest is imported."""

import signal
import sys

from graphzero.cli import interrupts


def main() -> None:
    """Run the command line of this process and leave with its exit code."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:  # not where it is to be ignored, as nohup has it
        signal.signal(signal.SIGINT, interrupts.exit_now)
    from graphzero.cli.command import main as run

    try:
        signal.signal(signal.SIGINT, before)
        code = run(sys.argv[1:])
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done: what Python still tidies up is no failure
    except KeyboardInterrupt:
        interrupts.exit_now()
    sys.exit(code)


if __name__ == "__main__":
    main()
