import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { codeOf, messageOf } from './errors.ts';
import { readGivenFile, readSmallFile } from './small-file.ts';

describe('A small file', () => {
  let folder: string;
  let server: Server;
  let others: Readonly<Record<string, string>>;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'core-small-'));
    const at = (name: string) => join(folder, name);
    execFileSync('mkfifo', [at('pipe')]);
    symlinkSync('pipe', at('link'));
    mkdirSync(at('folder'));
    server = createServer();
    await new Promise<void>((listening) => server.listen(at('socket'), listening));
    others = {
      [at('pipe')]: 'a named pipe',
      [at('link')]: 'a named pipe',
      [at('folder')]: 'a folder',
      [at('socket')]: 'a socket',
      '/dev/zero': 'a device',
    };
  });
  after(() => {
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('is read if it is a regular file, also through a symbolic link', () => {
    writeFileSync(join(folder, 'text'), 'grün\n');
    symlinkSync('text', join(folder, 'text-link'));
    expect(readSmallFile(join(folder, 'text'))).to.equal('grün\n');
    expect(readSmallFile(join(folder, 'text-link'))).to.equal('grün\n');
    expect(readGivenFile(join(folder, 'text'))).to.equal('grün\n');
  });

  it('is refused by its kind if it is not a regular file', () => {
    for (const [path, kind] of Object.entries(others)) {
      for (const read of [readSmallFile, readGivenFile]) {
        const error = thrownBy(() => read(path));
        expect(codeOf(error)).to.equal('not_a_regular_file');
        expect(messageOf(error)).to.equal(`${path} is ${kind}; must be a regular file`);
      }
    }
  });

  it('is refused if it is large, without being read', () => {
    const path = join(folder, 'large');
    writeFileSync(path, '');
    truncateSync(path, 1024 ** 4);
    expect(codeOf(thrownBy(() => readSmallFile(path)))).to.equal('input_file_too_large');
  });

  it('keeps the error of the system if it is missing', () => {
    expect(codeOf(thrownBy(() => readSmallFile(join(folder, 'nothing'))))).to.equal('ENOENT');
  });

  it('is text of the shell if a person names what the shell opened', () => {
    const script = `import { readGivenFile } from ${JSON.stringify(new URL('./small-file.ts', import.meta.url))};
      process.stdout.write(readGivenFile(process.argv[1]));`;
    const run = [process.execPath, '--input-type=module', '-e', script];
    const shell = (command: string) =>
      execFileSync('bash', ['-c', command, 'bash', ...run], { encoding: 'utf8', stdio: 'pipe' });
    expect(shell('"$@" <(sleep 0.1; echo late)')).to.equal('late\n');
    expect(shell('echo piped | "$@" -')).to.equal('piped\n');
    expect(shell('echo piped | "$@" /dev/stdin')).to.equal('piped\n');
  });
});

function thrownBy(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}
