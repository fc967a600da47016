-- The schema of the index, version 1.
--
-- One further table, `vectors`, is a sqlite-vec table with one column `embedding float[dimension]` and the slot as its
-- row id.  It is made when the first embedder is bound, because its dimension is not known before.
-- Numbers of a file's stat have no fixed type: what does not fit 64 signed bits is kept as decimal text.

-- Facts about the index as a whole.  `calibration`, text, is one too: what was learned about confidence.
CREATE TABLE meta (
    key TEXT PRIMARY KEY,  -- generation, embedder_fingerprint, embedder_dimension
    value ANY NOT NULL     -- generation and dimension are integers, the fingerprint is text
) STRICT, WITHOUT ROWID;

-- The watched folders that documents belong to.
CREATE TABLE collections (
    collection_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,  -- the name in filters and answers
    root TEXT NOT NULL,         -- the folder, as configured when it was last opened
    root_device ANY,            -- which folder that was when all of it was last seen, so that another one under the
    root_inode ANY              -- same name is noticed; NULL before
) STRICT;

-- One row for each distinct text that an embedder reads: chunks and titles point here by slot.
CREATE TABLE embeddings (
    slot INTEGER PRIMARY KEY,    -- row id in `vectors` and row of the resident matrix
    embed_key BLOB UNIQUE,       -- hash of the text; NULL while the slot is free
    state TEXT NOT NULL CHECK (state IN ('free', 'pending', 'ready', 'bad')),
                                 -- free: to be used again; pending: waits for a vector; ready: has one;
                                 -- bad: the embedder gave no usable vector
    reason TEXT,                 -- why a bad one is bad
    wanted_at ANY,               -- mtime (ns) of the newest document that asked for it: the newest is embedded first
    orphaned_at REAL,            -- seconds since the epoch when the last pointer went away; NULL while it is pointed to
    CHECK ((state = 'free') = (embed_key IS NULL))
) STRICT;
CREATE INDEX embeddings_free ON embeddings (slot) WHERE state = 'free';
CREATE INDEX embeddings_pending ON embeddings (wanted_at DESC, slot) WHERE state = 'pending';
CREATE INDEX embeddings_bad ON embeddings (slot) WHERE state = 'bad';
CREATE INDEX embeddings_orphaned ON embeddings (orphaned_at) WHERE orphaned_at IS NOT NULL;

-- Indexed files.
CREATE TABLE documents (
    document_id INTEGER PRIMARY KEY AUTOINCREMENT,  -- survives edits, renames and moves
    collection_id INTEGER NOT NULL REFERENCES collections ON DELETE CASCADE,
    path TEXT NOT NULL,             -- relative to the collection's root, with `/`
    title TEXT NOT NULL,            -- shown, and searched by words
    topic TEXT,                     -- from frontmatter or path
    category TEXT,                  -- from the path
    date TEXT,                      -- ISO 8601, compared as text
    tags TEXT NOT NULL,             -- JSON array of text
    aliases TEXT NOT NULL,          -- JSON array of other titles, searched by words
    problems TEXT NOT NULL,         -- JSON array of one-line notes on what could not be understood
    format TEXT NOT NULL,           -- name of the parser
    encoding TEXT NOT NULL,         -- how the bytes were decoded
    size_bytes ANY NOT NULL,        -- stat of the file when it was read
    mtime_ns ANY NOT NULL,
    ctime_ns ANY NOT NULL,
    inode ANY NOT NULL,
    content_hash BLOB NOT NULL,     -- of the file's bytes
    parse_key TEXT NOT NULL,        -- parser and chunker with versions and settings
    title_passage TEXT NOT NULL,    -- what the embedder reads for the title
    title_key BLOB NOT NULL,        -- key of that text
    title_slot INTEGER NOT NULL REFERENCES embeddings (slot),
    indexed_at REAL NOT NULL,       -- seconds since the epoch
    UNIQUE (collection_id, path)
) STRICT;
CREATE INDEX documents_title_slot ON documents (title_slot);

-- The units that are searched.
CREATE TABLE chunks (
    chunk_id INTEGER PRIMARY KEY AUTOINCREMENT,  -- survives edits elsewhere in the document
    document_id INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
    position INTEGER NOT NULL,      -- place in the document, from 0
    heading TEXT,                   -- the chunk's own heading
    level INTEGER,                  -- of that heading, 1 to 6
    heading_path TEXT NOT NULL,     -- JSON array, outermost heading first, own heading last
    context TEXT,                   -- breadcrumb, or NULL when there is none
    content TEXT NOT NULL,
    line_start INTEGER NOT NULL,    -- lines of the file, from 1, inclusive
    line_end INTEGER NOT NULL,
    byte_start INTEGER NOT NULL,    -- half-open range of bytes of the file
    byte_end INTEGER NOT NULL,
    token_count INTEGER,            -- of the passage, in the embedder's tokens
    quality REAL NOT NULL,          -- 0 to 1
    embed_key BLOB NOT NULL,        -- key of the passage
    slot INTEGER NOT NULL REFERENCES embeddings (slot),
    created_at REAL NOT NULL        -- seconds since the epoch when this text first stood in the document
) STRICT;
-- Covers what the resident maps need, so that loading them never reads texts.
CREATE INDEX chunks_layout ON chunks (document_id, position, slot, quality);
CREATE INDEX chunks_slot ON chunks (slot);

-- Files that should be in the index and are not.
CREATE TABLE failures (
    collection_id INTEGER NOT NULL REFERENCES collections ON DELETE CASCADE,
    path TEXT NOT NULL,             -- relative to the collection's root
    reason TEXT NOT NULL,           -- one line, of the last attempt
    attempts INTEGER NOT NULL,      -- so far
    first_at REAL NOT NULL,         -- seconds since the epoch
    last_at REAL NOT NULL,
    next_try_at REAL,               -- NULL: not before the file changes
    size_bytes ANY,                 -- stat of the file at the last attempt, NULL when it could not be had
    mtime_ns ANY,
    ctime_ns ANY,
    inode ANY,
    PRIMARY KEY (collection_id, path)
) STRICT, WITHOUT ROWID;
CREATE INDEX failures_due ON failures (next_try_at) WHERE next_try_at IS NOT NULL;

-- How often passages were returned by searches that count it.  By the hash of the text and not by chunk, so that the
-- counts outlive edits elsewhere, renames, moves, and deleting and restoring.
CREATE TABLE accesses (
    embed_key BLOB PRIMARY KEY,
    count INTEGER NOT NULL,
    last_at REAL NOT NULL           -- seconds since the epoch
) STRICT, WITHOUT ROWID;

-- Full text of chunks by groups of three characters: any literal text of three characters and more is found.
-- Row id: chunk_id.  The text itself stays in `chunks`, from which all full-text tables can be made again.
CREATE VIRTUAL TABLE chunks_trigram USING fts5 (
    heading, context, content,
    content = '', contentless_delete = 1, tokenize = 'trigram remove_diacritics 1'
);

-- Full text of chunks by words, for words of any length.  Row id: chunk_id.
CREATE VIRTUAL TABLE chunks_words USING fts5 (
    heading, context, content,
    content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
);

-- Full text of whole documents by word stems.  Row id: document_id.
CREATE VIRTUAL TABLE documents_words USING fts5 (
    title,      -- title, aliases and file name
    headings,   -- each heading once
    body,       -- all chunks
    content = '', contentless_delete = 1, tokenize = 'porter unicode61 remove_diacritics 2'
);
