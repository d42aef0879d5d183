import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { credentialReader, KnownSecrets } from './credential.ts';

const nextTurn = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
const keyOf = (number: number) => `sk-planted-${number}-0123456789abcdef`;

describe('A credential', () => {
  let secrets: string;
  let written = 0;
  beforeEach(() => {
    secrets = mkdtempSync(join(tmpdir(), 'core-secrets-'));
  });
  afterEach(() => rmSync(secrets, { recursive: true }));

  function write(name: string, value: string): void {
    const path = join(secrets, name);
    writeFileSync(path, value, { mode: 0o600 });
    // Another time for each, also where two are written within one tick of the file system.
    utimesSync(path, ++written, written);
  }

  it('is hidden after it was changed too, and so are those of other upstreams', async () => {
    const known = new KnownSecrets();
    const learned: string[] = [];
    const read = credentialReader(secrets, 'first', (value) => learned.push(value), known);
    const other = credentialReader(secrets, 'other', () => {}, known);
    const open = credentialReader(secrets, null, () => {}, known);
    write('first', keyOf(1));
    write('other', keyOf(2));
    for (const reader of [read, other]) reader();
    await nextTurn();
    write('first', keyOf(3));
    expect(read().text).to.equal(keyOf(3));
    await nextTurn();
    const text = [1, 2, 3].map((number) => `bad ${keyOf(number)}`).join();
    for (const reader of [read, other, open]) expect(reader().mask.hide(text)).to.not.match(/0123456789/);
    expect(open().text).to.equal(null);
    expect(learned).to.deep.equal([keyOf(1), keyOf(3)]);
    expect(other().mask).to.equal(known.mask);
  });

  it('is known in a bounded number of its values', () => {
    const known = new KnownSecrets();
    for (let number = 1; number <= 100; number++) known.learn('first', keyOf(number));
    expect(known.mask.hide(keyOf(97))).to.not.contain('0123456789');
    expect(known.mask.hide(keyOf(96))).to.equal(keyOf(96));
  });

  it('is read from an ordinary file that nobody else can write', function () {
    if (process.platform === 'win32') this.skip();
    execFileSync('mkfifo', [join(secrets, 'pipe')]);
    expect(credentialReader(secrets, 'pipe', () => {})).to.throw('secret file pipe is no ordinary file');
    write('open', keyOf(1));
    chmodSync(join(secrets, 'open'), 0o666);
    expect(credentialReader(secrets, 'open', () => {})).to.throw(
      'secret file open has mode 0666: must not be writable by others than its owner',
    );
  });
});
