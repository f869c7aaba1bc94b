"""Where observations stay: a zarr 3 store on disk, memory, or the files of a process adapter.

The only room that knows zarr and xarray. A trace is read through `base.interfaces.TraceView`.
"""

from trlm_lab.traces.aligned import aligned, pick_of
from trlm_lab.traces.intake import Push, hash_only, trace_record
from trlm_lab.traces.keeping import Keeping
from trlm_lab.traces.memory import MemoryTrace
from trlm_lab.traces.picks import Pick
from trlm_lab.traces.process_files import (
    SafetensorsTrace,
    write_process_case,
    write_process_report,
)
from trlm_lab.traces.statistics import statistics_of
from trlm_lab.traces.store import TraceStore
from trlm_lab.traces.writer import TraceWriter

__all__ = [
    "Keeping",
    "MemoryTrace",
    "Pick",
    "Push",
    "SafetensorsTrace",
    "TraceStore",
    "TraceWriter",
    "aligned",
    "hash_only",
    "pick_of",
    "statistics_of",
    "trace_record",
    "write_process_case",
    "write_process_report",
]
