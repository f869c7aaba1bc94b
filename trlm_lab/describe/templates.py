"""The chat templates of a model directory, and what each says of special tokens, without running.

A template is only split into its words here. Which token ends a turn is read off the order of the
words: the first control token, or the word `eos_token`, that follows a use of the content.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trlm_lab.base import strict_json
from trlm_lab.base.plain_file import read_start
from trlm_lab.describe.declarations import read_documents, read_template_documents
from trlm_lab.errors import ConflictError, TemplateSourceError

MAX_TEMPLATE_BYTES = 1 << 20


@dataclass(frozen=True)
class DeclaredTemplate:
    """A template by where it stands; `problem` says why it cannot be read."""

    file: str
    pointer: str
    text: str
    problem: str = ""

    @property
    def place(self) -> str:
        """File and pointer in one text."""
        return f"{self.file}#{self.pointer}" if self.pointer else self.file


@dataclass(frozen=True)
class TemplateTokens:
    """Control tokens that a template writes after a content; `closing` come first after one.

    `opening` are those that it writes before any content.
    """

    after: frozenset[str]
    closing: frozenset[str]
    opening: frozenset[str]
    names_eos: bool


def declared_templates(documents: Any) -> list[DeclaredTemplate]:
    """Every chat template, in the order of the files."""
    found = _inside("tokenizer_config.json", documents.tokenizer_config.get("chat_template"))
    for file in ("chat_template.json", "processor_config.json", "preprocessor_config.json"):
        found += _inside(file, documents.other.get(file, {}).get("chat_template"))
    paths = [documents.root / "chat_template.jinja"]
    more = documents.root / "additional_chat_templates"
    paths += sorted(more.glob("*.jinja")) if more.is_dir() else []
    for path in paths:
        if path.exists():
            name = path.relative_to(documents.root).as_posix()
            found.append(_from_file(name, path))
    return found + templates_of_keys("provenance.cbor", "/gguf/fields/", documents.gguf)


def templates_of_keys(file: str, prefix: str, keys: Mapping[str, Any]) -> list[DeclaredTemplate]:
    """The templates among the keys of a GGUF file.

    Source: the GGUF specification's keys, with further templates by their names.
    """
    return [
        _bounded(DeclaredTemplate(file, prefix + key, value))
        for key, value in sorted(keys.items())
        if (key + ".").startswith("tokenizer.chat_template.") and isinstance(value, str)
    ]


def templates_of_file(path: Path) -> list[DeclaredTemplate]:
    """The templates of one JSON file, such as tokenizer_config.json.

    Raises:
        JsonError, JsonDuplicateKeyError: it is no strict JSON object.
    """
    return _inside(path.name, strict_json.load_object(path, where=path.name).get("chat_template"))


def templates_of_directory(root: Path) -> list[DeclaredTemplate]:
    """The templates of a directory, which need not hold a whole model.

    Raises:
        NotPlainFileError, JsonError, JsonDuplicateKeyError: as `read_template_documents`.
    """
    return declared_templates(read_template_documents(root))


def only_template(declared: Sequence[DeclaredTemplate]) -> DeclaredTemplate | None:
    """The one text that all declarations agree on; that of a file of its own, where there is one.

    Raises:
        TemplateSourceError: one of them cannot be read.
        ConflictError: they are different texts, and no publisher's name chooses between them.
    """
    for template in declared:
        if template.problem:
            raise TemplateSourceError(where=template.place, detail=template.problem)
    count = len({template.text for template in declared})
    if count > 1:
        places = ", ".join(template.place for template in declared)
        detail = f"{count} different templates, none chosen by the publisher: {places}"
        raise ConflictError(where=declared[0].place, codes="TEMPLATE_AMBIGUOUS", detail=detail)
    own = (template for template in declared if not template.pointer)
    return next(own, declared[0] if declared else None)


def template_at(root: Path, place: str) -> DeclaredTemplate | None:
    """The template at a place of a model directory, as `DeclaredTemplate.place` spells it.

    Where a file of its own holds the same text, it is that one: its hash is in the source tree.

    Raises:
        PartMissingError, NotPlainFileError, JsonError, JsonDuplicateKeyError: as `read_documents`.
    """
    found = declared_templates(read_documents(root))
    held = next((t for t in found if t.place == place and not t.problem), None)
    if held is None:
        return None
    return next((t for t in found if not t.pointer and t.text == held.text), held)


def _inside(file: str, raw: Any) -> list[DeclaredTemplate]:
    if raw is None:
        return []
    if isinstance(raw, str):
        return [_bounded(DeclaredTemplate(file, "/chat_template", raw))]
    if isinstance(raw, dict):
        # A processor saves several templates as a map of their names.
        return [template for name in raw for template in _named(file, name, raw[name])]
    if not isinstance(raw, list):
        detail = f"a {type(raw).__name__}, neither a template nor a list of named ones"
        return [DeclaredTemplate(file, "/chat_template", "", detail)]
    found = []
    for index, row in enumerate(raw):
        pointer = f"/chat_template/{index}/template"
        text = row.get("template") if isinstance(row, dict) else None
        if isinstance(text, str):
            found.append(_bounded(DeclaredTemplate(file, pointer, text)))
        else:
            found.append(DeclaredTemplate(file, pointer, "", "the entry holds no template"))
    return found


def _named(file: str, name: str, text: Any) -> list[DeclaredTemplate]:
    pointer = "/chat_template/" + name.replace("~", "~0").replace("/", "~1")
    if isinstance(text, str):
        return [_bounded(DeclaredTemplate(file, pointer, text))]
    return [DeclaredTemplate(file, pointer, "", "the entry holds no template")]


def _from_file(name: str, path: Path) -> DeclaredTemplate:
    data = read_start(path, MAX_TEMPLATE_BYTES)
    try:
        if len(data) > MAX_TEMPLATE_BYTES:
            return DeclaredTemplate(name, "", "", _too_large(path.stat().st_size))
        return _bounded(DeclaredTemplate(name, "", data.decode("utf-8")))
    except UnicodeDecodeError as error:
        return DeclaredTemplate(name, "", "", f"ill-formed UTF-8 at byte {error.start}")


def _bounded(template: DeclaredTemplate) -> DeclaredTemplate:
    size = len(template.text.encode("utf-8", "surrogatepass"))
    if size > MAX_TEMPLATE_BYTES:
        return DeclaredTemplate(template.file, template.pointer, "", _too_large(size))
    return template


def _too_large(size: int) -> str:
    return f"{size} bytes, at most {MAX_TEMPLATE_BYTES} are read"


def template_tokens(text: str, controls: frozenset[str]) -> TemplateTokens | str:
    """What a template writes; a text says why it is no template."""
    from jinja2 import TemplateSyntaxError

    from trlm_lab.describe.template_syntax import parsing_environment

    try:
        environment = parsing_environment()
        words = list(environment.lex(text))
        environment.parse(text)
    except (TemplateSyntaxError, RecursionError) as error:
        return f"{type(error).__name__}: {error}"
    after: set[str] = set()
    closing: set[str] = set()
    opening: set[str] = set()
    after_content = any_content = names_eos = False
    for _, kind, value in words:
        word = value[1:-1] if kind == "string" else value
        if kind in ("name", "string") and word == "content":
            after_content = any_content = True
        elif kind == "name" and value == "eos_token":
            names_eos, after_content = True, False
        elif kind in ("data", "string"):
            here = sorted((at, c) for c in controls if (at := value.find(c)) >= 0)
            (after if any_content else opening).update(control for _, control in here)
            if here and after_content:
                closing.add(here[0][1])
                after_content = False
    return TemplateTokens(frozenset(after), frozenset(closing), frozenset(opening), names_eos)
