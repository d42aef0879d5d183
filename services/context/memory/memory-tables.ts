export const memoryTables = '';
