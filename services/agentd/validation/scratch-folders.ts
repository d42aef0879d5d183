/**
 * Folders that tools of the JavaScript world write below `node_modules`, though it is read-only in a run. Preparing makes them;
 * a sandbox shows memory in their place.
 */
export const scratchFolders: readonly string[] = ['.cache', '.vite', '.vite-temp'];
