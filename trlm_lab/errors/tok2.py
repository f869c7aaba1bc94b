"""Errors of the compiled tokenizer TOK2: one class per section, and what cannot be compiled."""

from __future__ import annotations

from trlm_lab.errors.root import Refused


class Tok2Error(Refused):
    """Root of the refusals; `where` is the byte offset of the field at fault."""

    code = "TOK2"
    rule = "{field} is {got}, expected {expected}"
    fix = "compile the tokenizer again; the file is damaged or was written by another program"


class Tok2VersionError(Tok2Error):
    """Another format, or a version or profile that this reader does not know."""

    code = "TOK2_VERSION"
    fix = "compile the tokenizer with this version"


class Tok2LengthError(Tok2Error):
    """Fewer or more bytes than the file says it has."""

    code = "TOK2_LENGTH"


class Tok2FlagsError(Tok2Error):
    """An unknown flag."""

    code = "TOK2_FLAGS"


class Tok2ReservedError(Tok2Error):
    """A reserved or padding byte that is not zero."""

    code = "TOK2_RESERVED"


class Tok2LimitError(Tok2Error):
    """A count of the header beyond its limit, or against another one."""

    code = "TOK2_LIMIT"


class Tok2SectionError(Tok2Error):
    """A section out of order, out of place, or of the wrong length."""

    code = "TOK2_SECTION"


class Tok2HashError(Tok2Error):
    """A hash that the bytes do not have."""

    code = "TOK2_HASH"


class Tok2StringsError(Tok2Error):
    """The pool of strings."""

    code = "TOK2_STRINGS"


class Tok2SetsError(Tok2Error):
    """The pool of sets of scalars."""

    code = "TOK2_SETS"


class Tok2TablesError(Tok2Error):
    """The pool of character tables."""

    code = "TOK2_TABLES"


class Tok2PatternsError(Tok2Error):
    """The pool of patterns."""

    code = "TOK2_PATTERNS"


class Tok2StagesError(Tok2Error):
    """The stages around the model."""

    code = "TOK2_STAGES"


class Tok2AddedError(Tok2Error):
    """The added tokens."""

    code = "TOK2_ADDED"


class Tok2ModelError(Tok2Error):
    """The parameters of the model."""

    code = "TOK2_MODEL"


class Tok2TokensError(Tok2Error):
    """The front-coded tokens of the vocabulary."""

    code = "TOK2_TOKENS"


class Tok2OrderError(Tok2Error):
    """Ids and positions that are not each other's inverse."""

    code = "TOK2_ORDER"


class Tok2IndexError(Tok2Error):
    """The index from bytes to positions."""

    code = "TOK2_INDEX"


class Tok2MergesError(Tok2Error):
    """The merges and their hash table."""

    code = "TOK2_MERGES"


class Tok2ScoresError(Tok2Error):
    """The scores of a Unigram model."""

    code = "TOK2_SCORES"


class Tok2RolesError(Tok2Error):
    """Roles of ids."""

    code = "TOK2_ROLES"


class Tok2PoolsError(Tok2Error):
    """A pool whose order is not that of its use."""

    code = "TOK2_POOLS"


class Tok2CompileError(Refused):
    """A tokenizer that TOK2 has no room for."""

    code = "TOK2_COMPILE"
    rule = "{what} is {got}, TOK2 holds {limit}"
    fix = "use the tokenizer from its own file"
