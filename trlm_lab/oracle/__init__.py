"""The source-faithful oracle: pinned transformers and torch, eager, every checkpoint.

The only room that knows torch and transformers; both are imported when a session is opened, not
here. Not promised: bits that hold across versions, CPU families or thread counts, which is why
all three are part of the engine's identity.
"""

from trlm_lab.oracle.bench import CaptureBench, bench_capture
from trlm_lab.oracle.config_fields import ConfigField, config_fields
from trlm_lab.oracle.defaults import effective_config, source_defaults
from trlm_lab.oracle.environment import environment_record
from trlm_lab.oracle.faithful import Faithfulness, capture_is_faithful
from trlm_lab.oracle.runner import TorchRunner

__all__ = [
    "CaptureBench",
    "ConfigField",
    "Faithfulness",
    "TorchRunner",
    "bench_capture",
    "capture_is_faithful",
    "config_fields",
    "effective_config",
    "environment_record",
    "source_defaults",
]
