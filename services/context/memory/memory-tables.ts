/**
 * What was remembered. `memories.valid_to` is the effective end, the far future for none, so that it can be compared; what the
 * caller stated is kept beside it. `memory_about` names entities by id, known here or not yet; the ABOUT edges follow from it.
 * Everything here but `words`, `memory_index` and `memory_signatures` is the only copy. The long columns stand last: what filters reads past none.
 */
export const memoryTables = `
  CREATE TABLE memories (
    memory INTEGER PRIMARY KEY REFERENCES nodes (node) ON DELETE CASCADE,
    id TEXT NOT NULL UNIQUE,
    layer TEXT NOT NULL CHECK (layer IN ('semantic', 'episodic', 'procedural')),
    kind TEXT NOT NULL,
    words INTEGER NOT NULL,
    source TEXT,
    subject TEXT,
    predicate TEXT,
    subject_name TEXT,
    speaker_name TEXT,
    fact TEXT,
    confidence REAL,
    session TEXT,
    seq INTEGER,
    speaker TEXT,
    at TEXT,
    worked INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    recorded_at TEXT NOT NULL,
    valid_from TEXT NOT NULL,
    stated_to TEXT,
    valid_to TEXT NOT NULL,
    steps TEXT NOT NULL DEFAULT '[]',
    context TEXT NOT NULL,
    content TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX memories_order ON memories (session, seq) WHERE session IS NOT NULL AND seq IS NOT NULL;
  CREATE INDEX memories_session ON memories (session, kind, words) WHERE session IS NOT NULL;
  CREATE INDEX memories_fact ON memories (fact, valid_to) WHERE fact IS NOT NULL;
  CREATE INDEX memories_fact_start ON memories (fact, valid_from) WHERE fact IS NOT NULL;
  CREATE INDEX memories_subject ON memories (subject_name) WHERE subject_name IS NOT NULL;
  CREATE INDEX memories_speaker ON memories (speaker_name) WHERE speaker_name IS NOT NULL;
  CREATE INDEX memories_recorded ON memories (recorded_at, id);

  CREATE TABLE memory_about (
    memory INTEGER NOT NULL REFERENCES memories (memory) ON DELETE CASCADE,
    entity TEXT NOT NULL,
    linked INTEGER NOT NULL,
    PRIMARY KEY (memory, entity)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX memory_about_entity ON memory_about (entity);
  CREATE INDEX memory_about_unlinked ON memory_about (memory) WHERE linked = 0;

  CREATE TABLE memory_sightings (
    sighting INTEGER PRIMARY KEY,
    memory INTEGER NOT NULL REFERENCES memories (memory) ON DELETE CASCADE,
    source TEXT,
    key TEXT UNIQUE,
    digest TEXT NOT NULL,
    seen_at TEXT NOT NULL,
    first INTEGER NOT NULL,
    exact INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX memory_sightings_memory ON memory_sightings (memory);
  CREATE INDEX memory_sightings_source ON memory_sightings (source) WHERE source IS NOT NULL;

  CREATE TABLE memory_outcomes (
    outcome INTEGER PRIMARY KEY,
    memory INTEGER NOT NULL REFERENCES memories (memory) ON DELETE CASCADE,
    run TEXT,
    worked INTEGER NOT NULL,
    at TEXT NOT NULL,
    UNIQUE (memory, run)
  ) STRICT;

  CREATE TABLE memory_bands (
    band INTEGER NOT NULL,
    memory INTEGER NOT NULL,
    PRIMARY KEY (band, memory)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE forgotten_memories (
    id TEXT PRIMARY KEY,
    layer TEXT NOT NULL,
    recorded_at TEXT NOT NULL,
    forgotten_at TEXT NOT NULL,
    forgotten_by TEXT NOT NULL,
    asked_for TEXT NOT NULL CHECK (asked_for IN ('id', 'source')),
    reason TEXT,
    wiped INTEGER NOT NULL DEFAULT 0
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX forgotten_memories_unwiped ON forgotten_memories (id) WHERE wiped = 0;

  CREATE VIRTUAL TABLE memory_index USING fts5(
    content, context, content='memories', content_rowid='memory', tokenize='porter unicode61'
  );
  INSERT INTO memory_index (memory_index, rank) VALUES ('secure-delete', 1);
  CREATE VIRTUAL TABLE memory_words USING fts5vocab(memory_index, row);
`;

/**
 * Where the duplicates of a memory would be found: a row for each that is compared by likeness, in the order in which they came, so
 * that a new one changes no older page. It can be made again. What was kept by band before, six pages for each, is taken over.
 */
export const signatureTables = `
  CREATE TABLE memory_signatures (
    memory INTEGER PRIMARY KEY REFERENCES memories (memory) ON DELETE CASCADE,
    band1 INTEGER, band2 INTEGER, band3 INTEGER, band4 INTEGER, band5 INTEGER, band6 INTEGER
  ) STRICT;
  INSERT INTO memory_signatures
    SELECT memory, ${[1, 2, 3, 4, 5, 6].map((place) => `max(band) FILTER (WHERE place = ${place})`).join(', ')}
    FROM (
      SELECT memory, band, row_number() OVER (PARTITION BY memory) AS place FROM memory_bands
      WHERE memory IN (SELECT memory FROM memories)
    )
    GROUP BY memory;
  DROP TABLE memory_bands;
`;

/**
 * Duplicates are found by the number of their text, similar memories by their bands. What was signed in another way is signed again
 * when the record is opened.
 */
export const fingerprintTables = `
  ALTER TABLE memory_sightings DROP COLUMN exact;
  DROP TABLE memory_signatures;
  CREATE TABLE memory_signatures (
    memory INTEGER PRIMARY KEY REFERENCES memories (memory) ON DELETE CASCADE,
    text INTEGER, band1 INTEGER, band2 INTEGER, band3 INTEGER, band4 INTEGER, band5 INTEGER, band6 INTEGER
  ) STRICT;
`;
