"""The notebooks of the documents run from the first cell to the last, and hold no output in git."""

import nbformat
import pytest
from conftest import ROOT
from nbclient import NotebookClient

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def read(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return notebook


def test_there_are_notebooks():
    assert NOTEBOOKS


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_runs(path, monkeypatch, tmp_path):
    # The kernel keeps its files of this run here, and not in the home of whoever runs the tests.
    for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    notebook = read(path)
    resources = {"metadata": {"path": str(path.parent)}}
    # A cell that raises ends it with that error.
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources=resources).execute()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    answers = [str(cell.outputs) for cell in cells if cell.outputs]
    assert len(answers) == len(cells)
    # What the programs behind the logs did: see tests/data/README.md and examples/README.md.
    for fact in (
        "by_shape",
        "self.depth",
        "mark_dynamic",
        "zlib.crc32",
        "not compiled",
        "out of memory on rank 1",
    ):
        assert any(fact in answer for answer in answers), fact


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_output_is_kept(path):
    cells = [cell for cell in read(path).cells if cell.cell_type == "code"]
    assert [cell for cell in cells if cell.outputs or cell.execution_count is not None] == []
