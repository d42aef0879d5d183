import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { itWith } from '../../../test/needs.ts';
import { moveIntoPlace, removeFromPlace } from './move-into-place.ts';

describe('what is moved into its place', () => {
  it('joins the folders that are there, and is gone where it was', () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'from/a/b'), { recursive: true });
    mkdirSync(join(folder, 'to/a'), { recursive: true });
    writeFileSync(join(folder, 'from/a/b/deep'), '1');
    writeFileSync(join(folder, 'from/a/file'), '2');
    moveIntoPlace(join(folder, 'from'), join(folder, 'to'));
    expect(readFileSync(join(folder, 'to/a/b/deep'), 'utf8')).to.equal('1');
    expect(readFileSync(join(folder, 'to/a/file'), 'utf8')).to.equal('2');
    expect(existsSync(join(folder, 'from/a/b'))).to.equal(false);
    removeFromPlace(join(folder, 'to'));
    expect(existsSync(join(folder, 'to'))).to.equal(false);
  });

  itWith(
    ['mounts'],
    'is copied onto another disk with its modes, and taken away from there without the disk',
    () => {
      const folder = temporaryFolder();
      mkdirSync(join(folder, 'from/a'), { recursive: true });
      writeFileSync(join(folder, 'from/a/program'), '1', { mode: 0o700 });
      mkdirSync(join(folder, 'disk'));
      const module = new URL('./move-into-place.ts', import.meta.url).href;
      const script = `import { readdirSync, readFileSync, statSync } from 'node:fs';
      import { moveIntoPlace, removeFromPlace } from '${module}';
      moveIntoPlace('from', 'disk');
      const mode = statSync('disk/a/program').mode & 0o777;
      const text = readFileSync('disk/a/program', 'utf8');
      removeFromPlace('disk');
      console.log(JSON.stringify({ mode, text, left: readdirSync('disk') }));`;
      const said = execFileSync(
        'unshare',
        [
          ...[
            '--user',
            '--map-root-user',
            '--mount',
            'sh',
            '-c',
            'mount -t tmpfs none disk && exec "$0" "$@"',
          ],
          ...[
            process.execPath,
            '--disable-warning=ExperimentalWarning',
            '--input-type=module',
            '--eval',
            script,
          ],
        ],
        { cwd: folder, encoding: 'utf8' },
      );
      expect(JSON.parse(said)).to.deep.equal({ mode: 0o700, text: '1', left: [] });
      expect(readdirSync(join(folder, 'disk'))).to.deep.equal([]);
    },
  );
});
