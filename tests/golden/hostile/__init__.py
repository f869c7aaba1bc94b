"""THE table of hostile golden containers: a name, a change to a sound case, and what it must give.

Nothing is stored: every directory is made in the test from the seed of its name. A row's change
gets a fresh draft and a generator; it returns the place, or None where the place is the offset of
the one `Raw` item in the document.
"""

from tests.golden.hostile import blobs, document, encoding, whole_file
from tests.golden.hostile.row import Hostile, Row, made

__all__ = ["ROWS", "Hostile", "Row", "made"]

ROWS: tuple[Row, ...] = (
    *encoding.encoding_rows(),
    *whole_file.whole_rows(),
    *encoding.order_rows(),
    *document.schema_rows(),
    *document.key_rows(),
    *document.value_rows(),
    *document.sealed_rows(),
    *blobs.blob_rows(),
)
