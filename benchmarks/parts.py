"""The parts of the benchmark by name, and the run that prints their table."""

import argparse
import compileall
import importlib
import json
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.conditions import conditions, load
from benchmarks.table import Report, render
from benchmarks.world import RESULTS, ROOT, World, say

PARTS = {
    "memory": "resident memory after a full index and 1,000 queries (keeps the index for the other parts)",
    "client": "groovectl search as a whole process",
    "search": "search inside the daemon against its parts, quiet",
    "busy": "the same while a full index runs",
    "start": "exec of the daemon to its first answers",
    "fresh": "save to findable, and what the barrier costs",
    "first_index": "the first index of a real vault against the bare model",
    "filters": "a filter that keeps ten of 50,000 chunks against none",
    "stages": "what diversity, expansion, spans and explanations add to a search",
    "worst": "the worst full-text query with a budget, and what leaving common phrases out changes",
    "rerank": "reranking against the bare model",
    "confidence": "false rates of calibrated confidence",
    "quality": "rankings against what people judged",
    "lookups": "passages found by words that stand in them",
    "defaults": "each default against other settings, by judged queries and by questions made of passages",
}
"""Each is a module of this package with `measure(world, *, rounds) -> Report`."""


def main(argv: Sequence[str]) -> int:
    """Run the wanted parts; 1 when a bar was missed and `--strict` was given."""
    options = _parser().parse_args(argv)
    RESULTS.mkdir(parents=True, exist_ok=True)
    # As after an installation: otherwise starts would be charged for compiling what was edited last.
    for folder in ("client", "daemon"):
        compileall.compile_dir(ROOT / folder, quiet=2)
    world = World(keep_index=options.keep_index)
    known = conditions()
    reports: dict[str, Report] = {}
    loads: dict[str, str] = {}
    for name in options.only or PARTS:
        say(f"--- {name}: {PARTS[name]}")
        loads[name], began = load(), time.monotonic()
        reports[name] = importlib.import_module(f"benchmarks.{name}").measure(world, rounds=options.rounds)
        loads[name] += f" -> {load()}, {time.monotonic() - began:.0f} s"
    text = _text(reports, {**known, "rounds": str(options.rounds)}, loads)
    print(text)
    _save(reports, known, loads, text)
    missed = any(row.verdict == "MISSED" for report in reports.values() for row in report.rows)
    return 1 if missed and options.strict else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="make bench ARGS=...",
        description="Measure everything and print one table.",
        epilog="parts:\n" + "\n".join(f"  {name:<12} {text}" for name, text in PARTS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--only", action="append", choices=list(PARTS), metavar="PART", help="this part; may be repeated"
    )
    parser.add_argument("--rounds", type=int, default=7, help="how often whole runs are repeated (default: 7)")
    parser.add_argument("--keep-index", action="store_true", help="use the kept index although the code has changed")
    parser.add_argument("--strict", action="store_true", help="exit with 1 when a bar is missed")
    return parser


def _text(reports: dict[str, Report], known: dict[str, str], loads: dict[str, str]) -> str:
    lines = ["", *render([row for report in reports.values() for row in report.rows]), "", "conditions"]
    lines += [f"  {name}: {value}" for name, value in known.items()]
    for name, report in reports.items():
        lines += ["", f"{name} (load {loads[name]})", *(f"  {line}" for line in report.details)]
    return "\n".join(lines)


def _save(reports: dict[str, Report], known: dict[str, str], loads: dict[str, str], text: str) -> None:
    content: dict[str, Any] = {"conditions": known, "parts": {}}
    for name, report in reports.items():
        rows = [{"what": r.what, "measured": r.measured, "bar": r.bar, "verdict": r.verdict} for r in report.rows]
        content["parts"][name] = {"load": loads[name], "rows": rows, "figures": report.figures}
    stamp = known["date"].replace(":", "").replace("+0000", "Z")
    for file in (RESULTS / "latest.json", RESULTS / f"run-{stamp}.json"):
        file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    (RESULTS / "latest.txt").write_text(text + "\n", encoding="utf-8")
