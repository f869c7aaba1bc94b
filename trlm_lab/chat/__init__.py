"""Chat templates: source to a bounded compiled form, and conversations to bytes with owners."""

from trlm_lab.chat.compile import compile_template
from trlm_lab.chat.contract import TemplateContract, derive_contract
from trlm_lab.chat.findings import findings
from trlm_lab.chat.forbidden import declared_fields, require_permitted
from trlm_lab.chat.insertion import InsertionPlan, plan_insertion
from trlm_lab.chat.insertion_agreement import CardClaim, agreed_insertion
from trlm_lab.chat.ir import CompiledTemplate, TemplateIR
from trlm_lab.chat.parse import parse_template
from trlm_lab.chat.read_ir import read_ir
from trlm_lab.chat.render import Conversation, Rendered, Segment, render
from trlm_lab.chat.source_renderer import render_source
from trlm_lab.chat.wire import encode_conversation

__all__ = [
    "CardClaim",
    "CompiledTemplate",
    "Conversation",
    "InsertionPlan",
    "Rendered",
    "Segment",
    "TemplateContract",
    "TemplateIR",
    "agreed_insertion",
    "compile_template",
    "declared_fields",
    "derive_contract",
    "encode_conversation",
    "findings",
    "parse_template",
    "plan_insertion",
    "read_ir",
    "render",
    "render_source",
    "require_permitted",
]
