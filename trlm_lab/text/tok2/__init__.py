"""TOK2, the compiled tokenizer: one block of bytes that is used where it lies.

The byte table is docs/formats/tok2.md. A tokenizer read from it gives the same ids, offsets and
bytes as the one that it was compiled from, and no table of this library takes part.
"""

from __future__ import annotations

from trlm_lab.text.tok2.numbers import MAGIC, ROLES
from trlm_lab.text.tok2.read import Compiled, read_tok2
from trlm_lab.text.tok2.write import write_tok2

__all__ = ["MAGIC", "ROLES", "Compiled", "read_tok2", "write_tok2"]
