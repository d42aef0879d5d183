export const graphTables = '';
