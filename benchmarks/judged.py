"""Collections that people judged: documents, queries, and which documents answer which query how well."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from benchmarks.world import SHARED


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    """A query with the grades, greater than 0, of the documents that answer it."""

    text: str
    relevance: Mapping[str, float]
    category: str


@dataclass(frozen=True, slots=True)
class Judged:
    """A collection: where its notes lie, and the queries."""

    name: str
    notes: Path
    queries: tuple[JudgedQuery, ...]


def obsidian_help(_work: Path) -> Judged | None:
    """172 notes; relevant ones count 1, partly relevant ones a half."""
    folder = SHARED / "obsidian-help"
    if not (folder / "golden.json").exists():
        return None
    queries = []
    for entry in json.loads((folder / "golden.json").read_text(encoding="utf-8")):
        partial = dict.fromkeys(entry.get("partial_paths", ()), 0.5)
        relevance = {**partial, **dict.fromkeys(entry["relevant_paths"], 1.0)}
        queries.append(JudgedQuery(entry["query"], relevance, entry["category"]))
    return Judged("obsidian-help", folder / "en", tuple(queries))


def kb_eval(_work: Path) -> Judged | None:
    """20 short notes, half of them Japanese; queries that avoid the notes' own words."""
    folder = SHARED / "kb-eval"
    if not (folder / "golden.yml").exists():
        return None
    entries = yaml.safe_load((folder / "golden.yml").read_text(encoding="utf-8"))["queries"]
    return Judged("kb-eval", folder / "notes", tuple(map(_kb_query, entries)))


def _kb_query(entry: dict[str, Any]) -> JudgedQuery:
    relevance = {answer["path"]: 1.0 for answer in entry["expected"]}
    return JudgedQuery(entry["query"], relevance, "english" if entry["query"].isascii() else "japanese")


def cranfield(work: Path) -> Judged | None:
    """1,400 abstracts; the codes 1 (complete answer) to 4 (minimum interest) count 4 to 1, -1 counts as nothing."""
    folder = SHARED / "cranfield"
    if not (folder / "cran.all.1400").exists():
        return None
    notes = work / "cranfield"
    if not notes.exists():
        _write_abstracts(folder / "cran.all.1400", notes)
    grades: dict[int, dict[str, float]] = {}
    for line in (folder / "cranqrel").read_text(encoding="ascii").splitlines():
        if line.strip():
            query, document, code = map(int, line.split()[:3])
            if 1 <= code <= 4:
                grades.setdefault(query, {})[f"{document}.md"] = 5.0 - code
    # Judgements count the queries from 1 in their order; the numbers in the file of queries have gaps.
    texts = [body for _, body in _records((folder / "cran.qry").read_text(encoding="ascii"))]
    queries = [
        JudgedQuery(" ".join(text["W"].split()), grades[number], "all")
        for number, text in enumerate(texts, start=1)
        if number in grades
    ]
    return Judged("cranfield", notes, tuple(queries))


def _write_abstracts(source: Path, notes: Path) -> None:
    notes.mkdir(parents=True)
    for number, fields in _records(source.read_text(encoding="ascii")):
        title, body = " ".join(fields.get("T", "").split()), fields.get("W", "").strip()
        # The abstract repeats its title first.
        body = body.removeprefix(fields.get("T", "").strip()).strip()
        (notes / f"{number}.md").write_text(f"# {title or number}\n\n{body}\n", encoding="utf-8")


def _records(text: str) -> list[tuple[int, dict[str, str]]]:
    """The records of a SMART file: number, and the text of each field by its letter."""
    records = []
    for record in re.split(r"^\.I\s+", text, flags=re.MULTILINE)[1:]:
        number, _, rest = record.partition("\n")
        parts = re.split(r"^\.([A-Z])\s*\n", rest, flags=re.MULTILINE)
        records.append((int(number), dict(zip(parts[1::2], parts[2::2], strict=True))))
    return records


COLLECTIONS: Mapping[str, Callable[[Path], Judged | None]] = {
    "obsidian-help": obsidian_help,
    "kb-eval": kb_eval,
    "cranfield": cranfield,
}
"""How each collection is read; None where its files are absent."""
