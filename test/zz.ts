import { globSync } from 'node:fs';
import { unguardedCallbacks } from './fixtures/unguarded-callbacks.ts';
for (const f of globSync('services/**/*.ts')) { if (/\.test\.ts$|^services\/terminal\/|\/cli\//.test(f)) continue; for (const u of unguardedCallbacks(f)) console.log(`${f}:${u.line} ${u.call}`); }
