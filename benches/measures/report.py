"""Group `report`: the whole report of one log and of a job, against the peer and against a plain copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from measures.compared import compare

if TYPE_CHECKING:
    from measures.bench import Bench


def run(bench: Bench) -> dict[str, Any]:
    """Measure and judge.

    Args:
        bench: The run.

    Returns:
        What was found about each input, by its name.
    """
    sizes = bench.sizes
    inputs = {"log": bench.inputs.log(sizes.log), "job": bench.inputs.job(sizes.ranks, sizes.rank)}
    names = {"log": "one log", "job": f"{sizes.ranks} ranks"}
    facts = {}
    for key, log in inputs.items():
        found = compare(bench, names[key], log, patient=True)
        bench.judge(f"report_{key}_peer", found.faster)
        if found.against_copy is not None:
            bench.judge(f"report_{key}_copy", found.against_copy)
            if found.writes_fewer:
                bench.judge(f"report_{key}_copy_fewer", found.against_copy)
        facts[names[key]] = found.facts()
    return facts
