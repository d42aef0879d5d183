export const executionTables = '';
