"""What `compare.py` measures: inputs, processes, groups of measurements, budgets and results, a module each."""
