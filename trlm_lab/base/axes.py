"""Axis letters: the one meaning of each letter in shapes, docstrings and stored dimensions."""

AXES: dict[str, str] = {
    "T": "tokens (queries)",
    "S": "tokens (keys)",
    "D": "hidden size",
    "H": "query heads",
    "K": "key/value heads",
    "E": "head dimension",
    "F": "feed-forward size",
    "V": "vocabulary",
    "L": "layers",
    "HE": "query heads times head dimension, joined",
    "KE": "key/value heads times head dimension, joined",
}
