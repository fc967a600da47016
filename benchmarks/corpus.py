"""Texts to measure with: notes made from the documentation strings of installed Python packages.

Real English prose of all lengths that every development environment has: no download, the same on each machine with
the same versions.  `write_notes` makes a folder of Markdown notes with a wanted number of sections, `questions` makes
as many different queries as are needed.
"""

import ast
import hashlib
import json
import random
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path

PACKAGES = ("numpy", "scipy", "sklearn", "torch", "transformers", "sympy", "hypothesis", "networkx", "onnx", "pip")
_DISTRIBUTIONS = {"sklearn": "scikit-learn"}
SECTIONS_A_NOTE = 8
SHORTEST, LONGEST = 160, 700
"""Characters of a section; the longest fits into what the default model reads, so that a section is a chunk."""

Section = tuple[str, str]


def sections() -> Iterator[Section]:
    """Yield (heading, text) of documented functions and classes, in a fixed order."""
    folders = [Path(sysconfig.get_path("stdlib")), *(Path(sysconfig.get_path("purelib")) / name for name in PACKAGES)]
    seen: set[str] = set()
    for folder in folders:
        for file in sorted(folder.rglob("*.py")):
            if "test" in file.as_posix() or ("site-packages" in file.as_posix() and folder == folders[0]):
                continue
            for heading, text in _documented(file):
                if text not in seen:
                    seen.add(text)
                    yield heading, text


def _documented(file: Path) -> Iterator[Section]:
    try:
        tree = ast.parse(file.read_text(encoding="utf-8"))
    except (SyntaxError, ValueError, OSError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            text = _as_prose(ast.get_docstring(node) or "")
            if len(text) >= SHORTEST:
                yield f"{node.name.strip('_').replace('_', ' ')} in {file.stem}", text[:LONGEST]


def _as_prose(text: str) -> str:
    """The text without what Markdown would read as a heading: signs at the start of a line, and underlines."""
    lines = (line for line in text.replace("#", "no. ").splitlines() if not line.strip() or line.strip("-=~ \t"))
    return "\n".join(lines).strip()


def remembered_sections(folder: Path) -> Sequence[Section]:
    """All sections; reading the packages takes a minute, so the list is kept in `folder` until a version changes."""
    file = folder / f"sections-{corpus_key()}.json"
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        for stale in folder.glob("sections-*.json"):
            stale.unlink()
        file.write_text(json.dumps(list(sections())), encoding="utf-8")
    return [(heading, text) for heading, text in json.loads(file.read_text(encoding="utf-8"))]


def corpus_key() -> str:
    """Changes whenever the sections may."""
    parts = [sys.version, Path(__file__).read_text(encoding="utf-8")]
    for package in PACKAGES:
        try:
            parts.append(f"{package} {metadata.version(_DISTRIBUTIONS.get(package, package))}")
        except metadata.PackageNotFoundError:
            parts.append(f"{package} absent")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def write_notes(folder: Path, texts: Sequence[Section], *, name: str = "Note") -> int:
    """Write notes of `SECTIONS_A_NOTE` sections each into `folder`; returns how many notes there are."""
    for number, start in enumerate(range(0, len(texts), SECTIONS_A_NOTE), start=1):
        note = folder / f"area{number % 17}" / f"{name.lower()} {number}.md"
        note.parent.mkdir(parents=True, exist_ok=True)
        body = "\n".join(f"## {heading}\n\n{text}\n" for heading, text in texts[start : start + SECTIONS_A_NOTE])
        note.write_text(f"# {name} {number}\n\n{body}", encoding="utf-8")
    return -(-len(texts) // SECTIONS_A_NOTE)


QUERIES = (
    "how do I read a file line by line", "sparse matrix multiplication", "parse command line arguments",
    "compute the gradient of a tensor", "random forest classifier", "convert a string to a date",
    "solve a linear system of equations", "shortest path in a graph", "tokenizer padding and truncation",
    "exception raised when the connection is closed", "fourier transform of a real signal",
    "context manager that suppresses output", "regular expression groups", "singular value decomposition",
    "what happens when the queue is full", "load a pretrained model from a folder", "cross validation scores",
    "numerical integration of a function", "unicode normalisation", "thread safe counter",
)  # fmt: skip

_LEADS = ("", "", "how to ", "what does it mean that ", "when should I ", "")


def questions(texts: Sequence[Section], count: int, *, seed: int = 7) -> list[str]:
    """So many different queries: the written ones, then beginnings of sentences, half of them with a lead.

    They have 2 to 12 words and no characters with a meaning of their own.
    """
    source = random.Random(seed)
    found = dict.fromkeys(QUERIES)
    while len(found) < count:
        _, text = texts[source.randrange(len(texts))]
        words = [word for word in text.split(". ")[0].split() if word.isalpha()]
        length = source.randint(2, 9)
        if len(words) >= length:
            found[source.choice(_LEADS) + " ".join(words[:length]).lower()] = None
    return list(found)[:count]
