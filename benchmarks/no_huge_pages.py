"""Runs a program without transparent huge pages: `python -m benchmarks.no_huge_pages PROGRAM ...`.

fio's buffers are in small pages. A disk that takes few segments per request then gets smaller
requests than from huge pages, and two programs would be compared by their pages.
"""

import ctypes
import os
import sys

_PR_SET_THP_DISABLE = 41  # linux/prctl.h; kept across exec

if __name__ == "__main__":
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_THP_DISABLE, 1, 0, 0, 0) != 0:
        sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
    os.execv(sys.argv[1], sys.argv[1:])
