export const ingestTables = '';
