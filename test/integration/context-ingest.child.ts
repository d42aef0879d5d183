import { openIngestPlace } from './context-ingest.place.ts';

/** `node context-ingest.child.ts FOLDER REPOSITORY`: one refresh, unless a crash point ends it. */
const [folder, repository] = process.argv.slice(2);
const place = openIngestPlace(folder);
await place.refresh(repository!);
await place.close();
