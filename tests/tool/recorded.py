#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""recorded.py SIGNAL OUTPUT COMMAND...: runs a command whose standard error is a pseudo-terminal, sends it a signal when its progress
tells of samples of two threads, and prints what came there; its standard output goes to the file OUTPUT. Ends with the command's status."""
import os
import pty
import re
import signal
import subprocess
import sys


def main():
    control, terminal = pty.openpty()
    wanted = getattr(signal, sys.argv[1])
    environment = dict(os.environ, TERM="xterm", UNSPOOL_PROGRESS_DELAY="0")
    with open(sys.argv[2], "wb") as output:
        # The test runner may ignore the signal, as a shell does for its background jobs.
        command = subprocess.Popen(
            sys.argv[3:], stdin=subprocess.DEVNULL, stdout=output, stderr=terminal, env=environment,
            preexec_fn=lambda: signal.signal(wanted, signal.SIG_DFL),
        )
    os.close(terminal)
    said = b""
    is_sent = False
    while True:
        try:
            data = os.read(control, 65536)
        except OSError:  # EIO: no process has the terminal open any more
            break
        if not data:
            break
        said += data
        if not is_sent and re.search(rb"[1-9][0-9]* samples of ([2-9]|[1-9][0-9]+) threads, [0-9.]+ s, [0-9.]+ %", said):
            command.send_signal(wanted)
            is_sent = True
    sys.stdout.buffer.write(said)
    status = command.wait()
    sys.exit(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    main()
