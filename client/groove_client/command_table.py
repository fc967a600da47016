"""Every command of `groovectl` and its options, as one literal table.

What always holds: a command is here or it does not exist; its option keys for `search` are the names of the wire, so
that values go into the request as they are.
This module is part of the command's start time: it holds constants only.
"""

from __future__ import annotations

from groove_client.syntax import Command, Option

GLOBAL_OPTIONS = (
    Option("help", "flag", "show this help", short="h"),
    Option("version", "flag", "show the version and leave"),
    Option("socket", "text", "socket of the daemon, instead of the usual place", metavar="PATH"),
    Option("instance", "text", "name of the daemon, when several run (default: $GROOVE_INSTANCE)", metavar="NAME"),
    Option("no-start", "flag", "never start a daemon; exit 3 when none runs"),
    Option("timeout", "float", "seconds to wait for an answer", metavar="SECONDS", low=0.001, high=86400.0),
    Option("color", "choice", "colour and links (default: auto)", choices=("auto", "always", "never")),
)

_JSON = Option("json", "flag", "print the whole answer as JSON")

_COLLECTIONS = Option("collection", "many", "only this collection; may be repeated", metavar="NAME", key="collections")

_TOPIC_FILTERS = (
    _COLLECTIONS,
    Option("category", "text", "only this category"),
    Option(
        "path-glob",
        "many",
        "only paths that match, or with ! in front only others; may be repeated",
        metavar="GLOB",
        key="path_globs",
    ),
    Option("tag-any", "commas", "with at least one of these tags", metavar="TAG,TAG", key="tags_any"),
    Option("tag-all", "commas", "with all of these tags", metavar="TAG,TAG", key="tags_all"),
)

_FILTERS = (
    *_TOPIC_FILTERS,
    Option("topic", "text", "only this topic"),
    Option("date-from", "text", "dated this day or later", metavar="DATE"),
    Option("date-to", "text", "dated this day or earlier", metavar="DATE"),
    Option("modified-from", "text", "file changed at this time or later", metavar="TIME"),
    Option("modified-to", "text", "file changed at this time or earlier", metavar="TIME"),
    Option("format", "commas", "only these file formats", metavar="FORMAT", key="formats"),
)

_PAGE = (
    Option("limit", "int", "most rows (default: 100)", short="n", metavar="N", low=0, high=1000),
    Option("offset", "int", "leave so many rows out at the start", metavar="N", low=0),
)

_SEARCH_OPTIONS = (
    Option("limit", "int", "most hits", short="n", metavar="N", low=0, high=1000),
    Option("profile", "text", "recipe of stages: notes, memory or one of yours", metavar="NAME"),
    *_FILTERS,
    Option("min-quality", "float", "leave chunks of a lower quality out", metavar="0..1", low=0.0, high=1.0),
    Option("include-low-quality", "flag", "leave no chunk out for its quality"),
    Option("min-confidence-ratio", "float", "least ratio of best to mean score", metavar="RATIO", low=0.0),
    Option("min-score", "float", "leave hits with a lower score out", metavar="SCORE"),
    Option("rerank", "switch", "reorder the best hits with the reranker"),
    Option("mmr", "switch", "prefer hits that differ from each other"),
    Option("mmr-lambda", "float", "1 is relevance alone, 0 difference alone", metavar="0..1", low=0.0, high=1.0),
    Option("mmr-same-doc-penalty", "float", "taken off a document's next hits", metavar="0..1", low=0.0, high=1.0),
    Option("parent", "switch", "show more of the document around each hit", key="parent_retriever"),
    Option("max-per-document", "int", "most hits of one document; 0 for any number", metavar="N", low=0, high=1000),
    Option("freshness", "choice", "wait for recent changes, or not (default: sync)", choices=("sync", "none")),
    Option("within-ms", "int", "leave stages out to answer in this time", metavar="MS", low=1),
    Option("explain", "flag", "show every stage and the evidence of each hit"),
    Option("stream", "flag", "with --jsonl: lines for the hits so far, the answer last"),
    _JSON,
    Option("jsonl", "flag", "print each hit as one line of JSON"),
    Option("paths", "flag", "print only the paths, each once"),
    Option("vimgrep", "flag", "print path:line:column:text"),
    Option("null", "flag", "end each path with a NUL byte; implies --paths", short="0"),
)

_SEARCH_DETAILS = """\
The query may be one argument or many.  A word or "phrase" with - in front excludes:
  groovectl search rust -async          after the first word, -word belongs to the query if it is no option
  groovectl search -- -async rust       everything after -- belongs to the query
  groovectl search 'rust "one phrase"'  quotes of the query inside quotes of the shell
"""

COMMANDS = (
    Command(
        "search",
        "search",
        "search the notes",
        operands="QUERY...",
        least=1,
        most=None,
        options=_SEARCH_OPTIONS,
        dashed_words=True,
        details=_SEARCH_DETAILS,
    ),
    Command(
        "open",
        "reading",
        "open a hit of the last search in $VISUAL or $EDITOR",
        operands="N",
        least=1,
        most=1,
        details="N is the number in front of the hit.  The editor opens at the line that matched.\n",
    ),
    Command(
        "get",
        "reading",
        "print a document, some lines of it, or a chunk",
        operands="PATH[:LINES] | ID",
        least=1,
        most=1,
        options=(Option("collection", "text", "collection of a relative path", metavar="NAME"), _JSON),
        details="LINES is one line (12) or a range (12-20).  ID is the id of a hit.\n",
    ),
    Command(
        "similar",
        "similar",
        "find what is near a note, a hit or a text, by meaning",
        operands="[PATH | ID]",
        most=1,
        options=(
            Option("text", "text", "near this text instead"),
            Option(
                "kind",
                "choice",
                "what to find (default: documents near a note, else chunks)",
                choices=("documents", "chunks"),
            ),
            Option("limit", "int", "most of them (default: 10)", short="n", metavar="N", low=0, high=1000),
            Option("of-collection", "text", "collection of a relative path", metavar="NAME"),
            *_FILTERS,
            Option("min-quality", "float", "leave chunks of a lower quality out", metavar="0..1", low=0.0, high=1.0),
            _JSON,
        ),
        details="ID is the id of a hit.  Scores are cosines, from -1 to 1; the source itself is left out.\n",
    ),
    Command(
        "best-practice",
        "reading",
        "print the note that says how something is to be done",
        operands="TARGET",
        least=1,
        most=1,
        options=(Option("category", "text", "only the section of this heading", metavar="HEADING"), _JSON),
        details="The configuration says under best_practice.templates where such notes are.\n",
    ),
    Command("documents", "listing", "list the documents in the index", options=(*_FILTERS, *_PAGE, _JSON)),
    Command("topics", "listing", "list categories and topics", options=(*_TOPIC_FILTERS, *_PAGE, _JSON)),
    Command("collections", "listing", "list the watched folders", options=(_JSON,)),
    Command(
        "add",
        "configuring",
        "watch a folder",
        operands="PATH",
        least=1,
        most=1,
        options=(
            Option("name", "text", "name of the collection (default: that of the folder)"),
            Option("source", "text", "kind of memory: workspace, global, session or one of yours"),
            Option("ignore", "many", "leave out what matches; may be repeated", metavar="PATTERN"),
        ),
    ),
    Command(
        "remove",
        "configuring",
        "stop watching a folder and forget what it holds; no file is touched",
        operands="NAME",
        least=1,
        most=1,
    ),
    Command("status", "status", "show whether the index is fresh, and how the daemon is", options=(_JSON,)),
    Command(
        "failures",
        "status",
        "list the files that are not in the index, and why",
        options=(_COLLECTIONS, *_PAGE, _JSON),
    ),
    Command(
        "reindex",
        "indexing",
        "compare folders and index now",
        operands="[PATH...]",
        most=None,
        options=(
            Option("force", "flag", "read and embed every file again"),
            _COLLECTIONS,
            _JSON,
        ),
    ),
    Command(
        "calibrate",
        "indexing",
        "learn from the notes how confident an answer may be",
        options=(
            Option("questions", "int", "questions to make of the notes (default: 100)", metavar="N", low=20, high=1000),
            _JSON,
        ),
        details="It takes seconds.  Do it again after the model, or much of the notes, has changed.\n",
    ),
    Command(
        "wait-fresh",
        "indexing",
        "wait until all changes made so far can be found",
        options=(_COLLECTIONS, Option("vectors", "flag", "wait until they can be found by meaning too"), _JSON),
        details="It waits --timeout seconds at most (default: 10), and exits 1 when something is still missing.\n",
    ),
    Command(
        "config",
        "configuring",
        "show every setting and where it comes from",
        options=(Option("origin", "switch", "show where each value comes from (default: on)"), _JSON),
    ),
    Command("reload", "configuring", "read the configuration file again"),
    Command("start", "lifecycle", "start the daemon"),
    Command("stop", "lifecycle", "stop the daemon"),
    Command("restart", "lifecycle", "stop the daemon and start it again"),
    Command(
        "logs",
        "lifecycle",
        "show the daemon's log",
        options=(
            Option("follow", "flag", "go on showing new lines", short="f"),
            Option("lines", "int", "how many lines (default: 50)", short="n", metavar="N", low=0),
        ),
    ),
    Command("version", "lifecycle", "show the versions of this program and of the daemon", options=(_JSON,)),
    Command("help", "lifecycle", "show help", operands="[COMMAND]", most=1),
)


def find(name: str) -> Command | None:
    """Return the command of that name."""
    for command in COMMANDS:
        if command.name == name:
            return command
    return None
