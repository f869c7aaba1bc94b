"""What the post-processor of `tokenizer.json` puts around a text."""

from __future__ import annotations

from trlm_lab.base.records.tokenizer_profile import Insertion
from trlm_lab.describe.declarations import Documents
from trlm_lab.errors import Refused
from trlm_lab.text.profile import insertion_of
from trlm_lab.text.reading_stages import read_post_processor


def inserted_tokens(documents: Documents) -> Insertion | None:
    """The ids before and behind a text; None where the rules of the tokenizer refuse the stage."""
    try:
        return insertion_of(read_post_processor(documents.tokenizer.get("post_processor")))
    except Refused:
        return None
