/** Which record this is: a projection of another one, or of one that was made anew, starts over. */
export const graphTables = `
  CREATE TABLE record_identity (id TEXT NOT NULL) STRICT;
  INSERT INTO record_identity VALUES (lower(hex(randomblob(16))));
`;
