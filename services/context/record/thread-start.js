import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';
import { workerData } from 'node:worker_threads';

// Plain JavaScript: what strips types takes Node 15 MB in each thread, and is not loaded for code that is in this cache.
enableCompileCache(fileURLToPath(new URL('../../../node_modules/.cache/core', import.meta.url)));
await import(workerData.script);
