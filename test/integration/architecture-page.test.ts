import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const root = fileURLToPath(new URL('../..', import.meta.url));
const page = readFileSync(join(root, 'site/architecture.md'), 'utf8');

describe('the page of the architecture', () => {
  it('names folders and files that exist, in its tree', () => {
    const [, tree = ''] = /```text\n([\s\S]*?)```/.exec(page) ?? [];
    const above: string[] = [];
    const missing: string[] = [];
    for (const line of tree.trimEnd().split('\n')) {
      const depth = line.search(/\S/) / 2;
      // Names stand before two spaces, several side by side where they share a description.
      const names = line.trim().split(/ {2,}/)[0]!.split(' ');
      above.length = depth;
      missing.push(
        ...names.map((name) => join(...above, name)).filter((path) => !existsSync(join(root, path))),
      );
      above.push(names[0]!);
    }
    expect(tree.split('\n')).to.have.length.above(40);
    expect(missing).to.deep.equal([]);
  });

  it('names the files of ports', () => {
    const rows = page.split('\n').filter((line) => /^\| `[A-Z]/.test(line));
    const files = rows.flatMap((row) =>
      [...row.split('|')[2]!.matchAll(/`([^`]+)`/g)].map(([, path]) => path!),
    );
    expect(files).to.have.length.above(10);
    const places = ['services', 'services/agentd'].map((folder) => join(root, folder));
    const missing = files.filter((path) => !places.some((place) => existsSync(join(place, path))));
    expect(missing).to.deep.equal([]);
  });
});
