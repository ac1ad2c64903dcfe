"""`python -m venturi`, the same as `venturi`."""

import os
import signal


def _interrupted(signum: int, frame: object) -> None:
    os.write(2, b"error[VEN-INTERRUPTED]: interrupted\n")
    os._exit(130)


# While libraries are loaded there is nothing to clean up, and nobody to catch an exception of ours:
# until `main` is there Ctrl-C just ends the process.
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, _interrupted)

from venturi.cli.main import program  # noqa: E402

program()
