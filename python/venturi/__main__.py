"""`python -m venturi`, the same as `venturi`."""

import os
import signal
import sys


def _interrupted(signum: int, frame: object) -> None:
    os.write(2, b"error[VEN-INTERRUPTED]: interrupted\n")
    os._exit(130)


# While libraries are loaded there is nothing to clean up, and nobody to catch an exception of ours:
# until `main` is there Ctrl-C just ends the process.
_IS_WORKER = "multiprocessing.spawn" in sys.modules  # it loads this module before it works
if signal.getsignal(signal.SIGINT) is signal.default_int_handler and not _IS_WORKER:
    signal.signal(signal.SIGINT, _interrupted)

if not _IS_WORKER:
    from venturi.cli.main import program

    program()
