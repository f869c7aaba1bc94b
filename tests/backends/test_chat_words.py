"""Refusals of arithmetic on a view of an object have the same words in every renderer."""

import pytest

from trlm_lab.backends.abi_chat import ChatRuntime
from trlm_lab.backends.abi_host import Host
from trlm_lab.chat import Conversation, compile_template, render
from trlm_lab.errors import TemplateUnsupportedError


@pytest.mark.parametrize("form", ["{} - 1", "{} * 2", "1 / {}", "{} // 2", "{} % 2", "2 ** {}",
                                  "{} is divisibleby 2", "{} is odd"])  # fmt: skip
def test_words(text_host: Host, form: str) -> None:
    ir = compile_template("{{ " + form.format("{'a': 1}.items()") + " }}").ir
    runtime = ChatRuntime(text_host, ir.encoded)
    with pytest.raises(TemplateUnsupportedError) as ours:
        render(ir, Conversation([]))
    with pytest.raises(TemplateUnsupportedError) as theirs:
        runtime.render(Conversation([]))
    assert theirs.value.detail == ours.value.detail
    runtime.forget()
