"""The harness of all benchmarks. A benchmark says what to run; the harness measures and writes the page.

- ``measure`` runs a command cold, under a memory cap, on chosen threads, as often as its time asks for;
- ``study`` has the options that benchmarks share, and measures and writes the parts of a page;
- ``tables`` and ``pictures`` write Markdown and SVG;
- ``product`` drives Nakshi through its command line;
- ``graphs`` makes each input graph once, in every system's format;
- ``kernels`` names the algorithms that systems are compared by, and compares their answers.

It needs the standard library alone: the peak memory of a child process begins at that of the process
that forks it, so the process that measures stays small.
"""

from .study import Study

__all__ = ["Study"]
