"""Draws the pictures of pages of `docs/` by the code that stands above them.

The front page of the repository shows the first, which is kept in `docs/pictures/`; run
`python scripts/docs_gallery.py` from a checkout to draw that again.
"""

from __future__ import annotations

import io
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = ("gallery.md", "guide/watching.md")
KEPT = "pictures/reliability_diagram.png"
# A block of code, and the picture below it; all pictures are in one folder.
_DRAWN = re.compile(
    r"```python\n((?:(?!```).)*)```\n\n!\[[^]]+\]\((?:\.\./)?(pictures/\w+\.png)\)",
    re.DOTALL,
)


def pictures(last: str | None = None) -> dict[str, bytes]:
    """Returns the pictures by their paths, up to the `last` wanted; from a checkout."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    found: dict[str, bytes] = {}
    with plt.rc_context({"font.size": 12}):  # To be read on a phone.
        for page in PAGES:
            names: dict[str, object] = {}
            text = (DOCS / page).read_text(encoding="utf-8")
            for code, path in _DRAWN.findall(text):
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
