"""The one place where text of a log becomes the name of a file that an export of artifacts writes.

Names in logs may hold anything: ``..``, separators, control characters, thousands of
letters. Only letters, digits and a few signs are kept, so that what is made here is one
part of a path on every system. Names that would be equal, letter case and Unicode form
aside, get different numbers.
"""

from __future__ import annotations

import hashlib
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

# Signs beside letters and digits that no file system, shell or browser takes for more.
_KEPT = frozenset("._-+=@")
# Bytes of a part without its number and ending; file systems take 255.
_LONGEST = 200
_SHORTENED = 160
# Windows keeps these for devices, with any ending.
_DEVICES = frozenset(["con", "prn", "aux", "nul", *(f"com{i}" for i in range(10)), *(f"lpt{i}" for i in range(10))])

# Kinds and names of artifacts whose text is Python; names that end in _graph are, too.
_PYTHON = frozenset(
    [
        "backward_epilogue",
        "backward_prologue",
        "compiled_autograd_graph_pre_reordering",
        "compiled_fn_wrapper",
        "compiled_function_backward",
        "compiled_function_forward",
        "dump_file",
        "fx_graph_runnable",
        "inductor_output_code",
        "optimize_ddp_split_child",
        "runtime_wrapper_orchestration",
    ]
)
# Kinds whose name is another one each time: the path of a file.
_NAMED_BY_KIND = frozenset({"inductor_output_code"})


def safe_part(text: str) -> str:
    r"""Make one part of a path of any text.

    Example:
        >>> safe_part("../../etc/passwd"), safe_part("a\x00b"), safe_part("")
        ('_._.._etc_passwd', 'a_b', '_')
    """
    text = unicodedata.normalize("NFC", text)
    part = "".join(char if char.isalnum() or char in _KEPT else "_" for char in text)
    if len(part.encode("utf-8", "replace")) > _LONGEST:
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        part = f"{part.encode('utf-8', 'replace')[:_SHORTENED].decode('utf-8', 'ignore')}-{digest}"
    # A dot in front hides a file, and a hyphen makes it look like an option.
    if not part or part[0] in ".-":
        part = "_" + part[1:]
    return f"_{part}" if part.partition(".")[0].lower() in _DEVICES else part


def ending(kind: str, name: str, encoding: str | None) -> str:
    """Say how the file of an artifact ends.

    Example:
        >>> ending("artifact", "fx_graph_runnable", "string"), ending("artifact", "fx_graph_cache_miss", "json")
        ('py', 'json')
    """
    if encoding == "json":
        return "json"
    if kind in _NAMED_BY_KIND and name.endswith(".cpp"):
        return "cpp"
    word = name if kind == "artifact" else kind
    return "py" if word in _PYTHON or word.endswith("_graph") else "txt"


class FileNames:
    """Gives out paths of artifacts below a folder, parts joined by ``/``, each path once."""

    def __init__(self, folders: Mapping[int, str]) -> None:
        """Keep the folder of each log by its number."""
        self._folders = folders
        self._next: dict[str, int] = {}
        self._taken: set[str] = set()

    def give(self, row: Mapping[str, object]) -> str:
        """Make the path of a row of ``artifacts``.

        Example:
            >>> row = {"file": 0, "kind": "artifact", "name": "fx_graph_runnable", "encoding": "string",
            ...        "compiled_autograd_id": None, "frame_id": 0, "frame_compile_id": 1, "attempt": 0}
            >>> names = FileNames({0: "rank_3"})
            >>> names.give(row), names.give(row)
            ('rank_3/0_1_0/fx_graph_runnable_0.py', 'rank_3/0_1_0/fx_graph_runnable_1.py')
        """
        kind, name = str(row["kind"]), str(row["name"])
        encoding = row["encoding"]
        stem = safe_part(kind if kind in _NAMED_BY_KIND else name)
        file = row["file"]
        log = self._folders[file] if isinstance(file, int) else "log"
        base = f"{safe_part(log)}/{_compile_folder(row)}/{stem}"
        end = ending(kind, name, None if encoding is None else str(encoding))
        while True:
            number = self._next.get(_folded(base), 0)
            self._next[_folded(base)] = number + 1
            path = f"{base}_{number}.{end}"
            # The name of another artifact may end in a number itself.
            if _folded(path) not in self._taken:
                self._taken.add(_folded(path))
                return path


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", path.casefold())


def _compile_folder(row: Mapping[str, object]) -> str:
    """Name the folder of a compile: its frame, compile of the frame and attempt; compiled autograd in front."""
    ids = [row[column] for column in ("compiled_autograd_id", "frame_id", "frame_compile_id", "attempt")]
    if all(number is None for number in ids):
        return "no_compile_id"
    shown = ids if ids[0] is not None else ids[1:]
    return "_".join("-" if number is None else str(number) for number in shown)


def log_folders(logs: list[tuple[int, int | None, int | None]]) -> dict[int, str]:
    """Name a folder for each log: by rank, else by process; earlier starts of a rank apart.

    Args:
        logs: Number, rank and process of each log, in the order of `files`.

    Example:
        >>> log_folders([(0, 3, 70), (1, 3, 71), (2, None, 90), (3, None, 90)])
        {0: 'rank_3.restart_0', 1: 'rank_3', 2: 'process_90', 3: 'process_90.2'}
    """
    alike: dict[str, list[int]] = {}
    for file, rank, process in logs:
        label = f"rank_{rank}" if rank is not None else f"process_{'unknown' if process is None else process}"
        alike.setdefault(label, []).append(file)
    folders = {}
    for label, files in alike.items():
        for nth, file in enumerate(files):
            if label.startswith("rank_"):
                folders[file] = label if nth == len(files) - 1 else f"{label}.restart_{nth}"
            else:
                folders[file] = label if nth == 0 else f"{label}.{nth + 1}"
    return folders
