#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""on_terminal.py OUTPUT COMMAND...: runs a command whose standard error is a pseudo-terminal, and writes what came there to
standard output, as it came, and the command's standard output to the file OUTPUT. Ends with the command's status."""
import os
import pty
import subprocess
import sys


def main():
    control, terminal = pty.openpty()
    with open(sys.argv[1], "wb") as output:
        command = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL, stdout=output, stderr=terminal)
    os.close(terminal)
    while True:
        try:
            data = os.read(control, 65536)
        except OSError:  # EIO: no process has the terminal open any more
            break
        if not data:
            break
        sys.stdout.buffer.write(data)
    sys.exit(command.wait())


if __name__ == "__main__":
    main()
