"""Secrets in evidence: what must not be published is found before it is."""

from trlm_lab.secret_scan.rules import RULES_VERSION, rule_names
from trlm_lab.secret_scan.scan import SecretFinding, content_ids, scan_bytes, scan_text

__all__ = ["RULES_VERSION", "SecretFinding", "content_ids", "rule_names", "scan_bytes", "scan_text"]
