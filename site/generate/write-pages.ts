import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { generatedPages } from './pages.ts';

/** Writes what is generated into a site's folder; what an earlier version left there goes. */
export async function writePages(folder: string): Promise<number> {
  const pages = await generatedPages();
  for (const place of ['reference', 'public/openapi'])
    rmSync(join(folder, place), { recursive: true, force: true });
  for (const { path, text } of pages) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return pages.length;
}
