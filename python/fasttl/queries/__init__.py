"""Questions to the tables of a trace: SQL, exports, artifacts as files, sizes, a summary.

All of it works on what a `fasttl.Trace` gives. The modules import polars and pyarrow
when a question is asked, so that importing one costs nothing.
"""
