"""PyTorch users fork: loading must work in a child of a process that has loaded."""

import os
from pathlib import Path

import pytest

CODE = """
import os, sys, warnings
import fasttl

def count():
    # Without polars, whose own threads do not survive a fork.
    return fasttl.load(sys.argv[1], threads=2).arrow("records").num_rows

before = count()
warnings.simplefilter("ignore", DeprecationWarning)  # 3.12 warns of any fork beside threads
child = os.fork()
if child == 0:
    os._exit(0 if count() == before else 1)
_, status = os.waitpid(child, 0)
print(before, os.waitstatus_to_exitcode(status), count())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_loads_as_its_parent_did(python, example):
    assert python(CODE, example).split() == ["224", "0", "224"]


def test_a_call_leaves_no_thread_behind(python, example):
    tasks = "/proc/self/task"
    if not Path(tasks).is_dir():
        pytest.skip("needs Linux")
    # The kernel lists a thread for a moment after it was joined.
    code = (
        "import os, sys, time, fasttl\n"
        "fasttl.load(sys.argv[1], threads=4)\n"
        "end = time.monotonic() + 5\n"
        f"while len(os.listdir({tasks!r})) > 1 and time.monotonic() < end:\n"
        "    time.sleep(0.01)\n"
        f"print(len(os.listdir({tasks!r})))"
    )
    assert python(code, example).strip() == "1"
