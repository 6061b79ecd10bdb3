# ruff: noqa: INP001 - a script in the folder of the documents, not a package
"""How the API reference reads docstrings: as Python does, save for what only makes sense in the source.

The docstrings write `Example:` before one example, which the reader of Google's style takes for prose, and `EXAMPLE`
for the folder that the doctests are run over.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from griffe import Extension

if TYPE_CHECKING:
    from griffe import Object

EXAMPLE_FOLDER = '"examples/crash_3_ranks"'


class Docstrings(Extension):
    """Prepares each docstring before it is parsed."""

    def on_instance(self, *, obj: Object, **kwargs: Any) -> None:  # noqa: ANN401 - griffe's own signature
        """Change the docstring of a module, class, function or attribute."""
        del kwargs
        if obj.docstring is None:
            return
        text = re.sub(r"^( *)Example:$", r"\1Examples:", obj.docstring.value, flags=re.MULTILINE)
        obj.docstring.value = re.sub(r"\bEXAMPLE\b", EXAMPLE_FOLDER, text)
