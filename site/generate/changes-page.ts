import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { GeneratedPage } from './generated-page.ts';

const changelog = fileURLToPath(new URL('../../CHANGELOG.md', import.meta.url));

/** CHANGELOG.md, its links as they lead from here. */
export function changesPage(): GeneratedPage {
  const text = readFileSync(changelog, 'utf8')
    .replaceAll('](site/', '](../')
    .replaceAll('{{', '&#123;&#123;');
  return { path: 'reference/changes.md', text: `---\neditLink: false\noutline: [2, 3]\n---\n\n${text}` };
}
