"""Draws the pictures of pages in `docs/` with the code above each of them.

The README shows the first picture, so a copy of it is in `docs/pictures/`. Run
`python scripts/docs_gallery.py` from a checkout to draw this copy again.
"""

from __future__ import annotations

import io
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = ("gallery.md", "guide/risk.md", "guide/watching.md")
KEPT = "pictures/reliability_diagram.png"
# A block of code, and the picture below it. All pictures are in `docs/pictures/`.
_BLOCK = re.compile(
    r"```python\n((?:(?!```).)*)```\n\n!\[[^]]+\]\((?:\.\./)?(pictures/\w+\.png)\)",
    re.DOTALL,
)


def pictures(last: str | None = None) -> dict[str, bytes]:
    """Returns the pictures by their paths, up to the path `last`.

    The code of the page reads files of the checkout, so run it in the root of that.
    """
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    found: dict[str, bytes] = {}
    with plt.rc_context({"font.size": 12}):  # Large enough to read on a phone.
        for page in PAGES:
            names: dict[str, object] = {}
            text = (DOCS / page).read_text(encoding="utf-8")
            for code, path in _BLOCK.findall(text):
                plt.close("all")
                exec(compile(code, path, "exec"), names)
                file = io.BytesIO()
                plt.savefig(file, dpi=100, metadata={"Software": None})
                found[path] = file.getvalue()
                if path == last:
                    return found
    plt.close("all")
    return found


if __name__ == "__main__":
    (DOCS / KEPT).write_bytes(pictures(KEPT)[KEPT])
