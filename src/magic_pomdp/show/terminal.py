"""What is said in a terminal: text stays text, whatever it holds."""

from typing import Any

from rich.table import Column, Table
from rich.text import Text

from magic_pomdp.core.reading import printable


class PlainTable(Table):
    """A table of text as it is: nothing in it is markup, and nothing that a terminal would obey."""

    def __init__(self, *headers: str | Column, title: str = "", caption: str = "", **options: Any) -> None:
        columns = [header if isinstance(header, Column) else Column(header) for header in headers]
        for column in columns:
            column.header = plain_text(str(column.header))
        above, below = (plain_text(text) if text else None for text in (title, caption))
        super().__init__(*columns, title=above, caption=below, **options)

    def add_texts(self, *cells: str | Text) -> None:
        """Add a row."""
        self.add_row(*(plain_text(cell) if isinstance(cell, str) else cell for cell in cells))


def plain_text(*lines: str) -> Text:
    """Lines that are shown as they are."""
    return Text("\n".join(map(printable, lines)))
