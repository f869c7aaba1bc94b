"""The sources' own libraries as tokenizer engines: tokenizers, sentencepiece, llama.cpp."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from trlm_lab.backends.llama_cpp_vocabulary import LlamaCppVocabulary
from trlm_lab.base import strict_json
from trlm_lab.errors import (
    LibraryRefusedError,
    MissingPackageError,
    SegmentsUnsupportedError,
    StreamUnsupportedError,
    TokenIdError,
    TokenizerFileError,
)
from trlm_lab.flows.tokenizer_requests import Request, Row, TokenizerFile, token_row
from trlm_lab.text import StreamingDecoder
from trlm_lab.text.coordinates import Coordinates
from trlm_lab.text.decoded import escaped


@contextmanager
def _refusing(engine: str) -> Iterator[None]:
    """Whatever a library raises, as one refusal.

    The libraries raise bare Exceptions, and a panic in Rust derives from BaseException alone; it
    also says where it happened, on standard error.
    """
    try:
        yield
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        detail = " ".join(str(error).split())
        raise LibraryRefusedError(engine=engine, detail=detail) from error


class HuggingFace:
    """The `tokenizers` library. It shows tokens only, and its decoded bytes are those of a text."""

    def __init__(self, file: TokenizerFile) -> None:
        document = strict_json.load_object(file.path)
        try:
            from tokenizers import Tokenizer as Library
        except ImportError as error:
            raise MissingPackageError(package="tokenizers", extra="oracle") from error
        try:
            with _refusing("hf"):
                self._library = Library.from_str(strict_json.pretty(document).decode())
        except LibraryRefusedError as error:
            detail = str(error.facts["detail"])
            raise TokenizerFileError(where=file.path.name, detail=detail) from error
        declared = {"truncation": self._library.truncation, "padding": self._library.padding}
        self._library.no_truncation()
        self._library.no_padding()
        self.notes: Sequence[str] = [
            f"{key} is declared and switched off" for key, value in declared.items() if value
        ]

    def tokenize(self, request: Request) -> Row:
        """Offsets are scalars there; they are given in bytes here."""
        text = request.text
        if request.content and request.content != ((0, len(text)),):
            raise SegmentsUnsupportedError(engine="hf")
        self._library.encode_special_tokens = bool(request.content)
        with _refusing("hf"):
            found = self._library.encode(text, add_special_tokens=request.add_special_tokens)
        place = Coordinates(text)
        row = token_row(found.ids, [place.utf8(span) for span in found.offsets])
        traced = {"tokens": found.tokens, "offsets_scalar": [list(o) for o in found.offsets]}
        return row | (traced if request.trace else {})

    def stages(self, text: str) -> Row:
        """Normalized text and pieces, as if the text had no added tokens."""
        library = self._library
        normalized = library.normalizer.normalize_str(text) if library.normalizer else text
        cuts = library.pre_tokenizer
        pieces = [piece for piece, _ in cuts.pre_tokenize_str(normalized)] if cuts else None
        return {"normalizer": normalized, "pre_tokenizer": pieces}

    def decode(self, ids: list[int], mode: str) -> Row:
        """What is no UTF-8 is U+FFFD already."""
        for index, number in enumerate(ids):
            if number >= 1 << 32 or self._library.id_to_token(number) is None:
                raise TokenIdError(got=number, index=index)
        with _refusing("hf"):
            text = self._library.decode(ids, skip_special_tokens=mode == "visible")
        data = text.encode()
        return {"bytes_hex": data.hex(), "text": escaped(data) if mode == "diagnostic" else text}

    def stream(self, mode: str) -> StreamingDecoder:
        """Its own stream drops the bytes of a token that the next one does not complete.

        Raises:
            StreamUnsupportedError: always.
        """
        raise StreamUnsupportedError(where="--engine", engine="hf")


class SentencePieceLibrary:
    """The `sentencepiece` library; control symbols never come out of a text there."""

    def __init__(self, file: TokenizerFile) -> None:
        try:
            from sentencepiece import SentencePieceProcessor
        except ImportError as error:
            raise MissingPackageError(package="sentencepiece", extra="oracle") from error
        try:
            self._library = SentencePieceProcessor(model_file=str(file.path))
        except Exception as error:
            # The library raises RuntimeError and OSError, by version.
            raise TokenizerFileError(where=file.path.name, detail=str(error)) from error
        self.notes: Sequence[str] = ()

    def tokenize(self, request: Request) -> Row:
        """Offsets in both of the library's coordinates."""
        text = request.text
        with _refusing("sentencepiece"):
            found = self._library.encode(text, return_type="offset_mapping", return_bytes=True)
        row = token_row(found["ids"], found["offsets"])
        if not request.trace:
            return row
        scalars = self._library.encode(text, return_type="offset_mapping", return_bytes=False)
        return row | {
            "tokens": scalars["pieces"],
            "offsets_scalar": [list(span) for span in scalars["offsets"]],
        }

    def stages(self, text: str) -> Row:
        """The normalized text."""
        return {"normalizer": self._library.normalize(text)}

    def decode(self, ids: list[int], mode: str) -> Row:
        """Control symbols are left out in every mode; what is no UTF-8 is U+FFFD already."""
        size = self._library.get_piece_size()
        for index, number in enumerate(ids):
            if number >= size:
                raise TokenIdError(got=number, index=index)
        with _refusing("sentencepiece"):
            text = self._library.decode(ids)
        data = text.encode()
        return {"bytes_hex": data.hex(), "text": escaped(data) if mode == "diagnostic" else text}

    def stream(self, mode: str) -> StreamingDecoder:
        """It has none.

        Raises:
            StreamUnsupportedError: always.
        """
        raise StreamUnsupportedError(engine="sentencepiece")


class LlamaCpp:
    """llama.cpp: ids without offsets, and no stages."""

    def __init__(self, file: TokenizerFile) -> None:
        self._vocabulary = LlamaCppVocabulary(file.path)
        self.notes: Sequence[str] = ("llama.cpp has no offsets",)

    def tokenize(self, request: Request) -> Row:
        """Whole texts are template or content: the one has control tokens, the other has not."""
        text = request.text
        if request.content and request.content != ((0, len(text)),):
            raise SegmentsUnsupportedError(engine="llama.cpp")
        ids = self._vocabulary.encode(
            text.encode(),
            add_special=request.add_special_tokens,
            parse_special=not request.content,
        )
        return {"ids": ids}

    def decode(self, ids: list[int], mode: str) -> Row:
        """Raw and diagnostic show control tokens; text is tidied up in every mode."""
        for index, number in enumerate(ids):
            if number >= self._vocabulary.size:
                raise TokenIdError(got=number, index=index)
        data = self._vocabulary.decode(ids, show_special=mode != "visible")
        text = escaped(data) if mode == "diagnostic" else data.decode("utf-8", "replace")
        return {"bytes_hex": data.hex(), "text": text}

    def stream(self, mode: str) -> StreamingDecoder:
        """It has none.

        Raises:
            StreamUnsupportedError: always.
        """
        raise StreamUnsupportedError(engine="llama.cpp")

    def close(self) -> None:
        """End the process that holds the vocabulary."""
        self._vocabulary.close()
