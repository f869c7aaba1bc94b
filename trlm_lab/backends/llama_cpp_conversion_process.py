"""llama.cpp's own converter on one model directory, in a process of its own; run as a script.

Called as `llama_cpp_conversion_process.py CONVERTER MODEL_DIR FIELDS OUT`, with the folder that
holds the converter's packages. FIELDS becomes every field of the configuration's class, as JSON:
what is asked before the GGUF is believed. Weights become float32, and no vocabulary is written,
since cases carry ids. The class of the architecture does the rest: names, order of rows,
transposes, Gemma's w + 1, every key.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any


def convert(model_dir: Path, fields_file: Path, out: Path) -> None:
    """Write the fields and the F32 GGUF; the converter's packages are on the path.

    `model_dir` is writable: it gets a list of made-up tokens, which the class of Gemma 3 counts.
    """
    conversion: Any = import_module("conversion")
    import gguf

    fields = conversion.ModelBase.load_hparams(model_dir, False)
    fields_file.write_text(json.dumps(fields), encoding="utf-8")
    tokens = {f"<{number}>": number for number in range(fields["vocab_size"])}
    table = {"model": {"vocab": tokens}, "added_tokens": []}
    (model_dir / "tokenizer.json").write_text(json.dumps(table), encoding="utf-8")
    if fields["model_type"] == "gpt2":
        # The name by which the converter asks for the number of positions.
        fields["n_ctx"] = fields["n_positions"]
    name = conversion.get_model_architecture(fields, conversion.ModelType.TEXT)
    model: Any = conversion.get_model_class(name)

    class WithoutVocabulary(model):  # type: ignore[misc]
        model_arch = model.model_arch

        def set_vocab(self) -> None:
            self._set_vocab_none()
            # Not every class writes it, since a vocabulary tells it otherwise.
            size = gguf.Keys.LLM.VOCAB_SIZE.format(arch=self.gguf_writer.arch)
            if all(size not in keys for keys in self.gguf_writer.kv_data):
                self.gguf_writer.add_vocab_size(self.hparams["vocab_size"])

    kind = gguf.LlamaFileType.ALL_F32
    WithoutVocabulary(model_dir, kind, out, hparams=fields, model_name="model").write()


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    convert(*map(Path, sys.argv[2:5]))
