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
