import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { Header } from 'tar';
import { sha256 } from '#kit/digest.ts';
import { CoreError } from '#kit/errors.ts';
import { foldersIn, makeSampleHome } from '../../../test/fixtures/backup/sample-home.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { placeOf, verifyBackup } from './archive.ts';
import { backup } from './backup.ts';
import { headName, type Manifest, manifestName } from './manifest.ts';
import { restore } from './restore.ts';

const silent = { begin() {}, add() {}, end() {} };
const { signal } = new AbortController();
const head = {
  format: 'core-backup',
  format_version: 1,
  core_version: '0.1.0',
  created_at: '2026-01-02T03:04:05.000Z',
};

interface Made {
  readonly name: string;
  readonly content?: string;
  readonly type?: 'File' | 'Directory' | 'SymbolicLink' | 'Link' | 'FIFO' | 'CharacterDevice';
  readonly linkpath?: string;
}

function tar(entries: readonly Made[]): Buffer {
  const parts = entries.flatMap(({ name, content = '', type = 'File', linkpath = '' }) => {
    const bytes = Buffer.from(content);
    const header = new Header({ path: name, size: bytes.length, mode: 0o644, type, linkpath });
    header.encode();
    return [header.block!, bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)];
  });
  return Buffer.concat([...parts, Buffer.alloc(1024)]);
}

/** A backup with these entries, with a given manifest. */
function archive(entries: readonly Made[], change: Partial<Manifest> = {}, begin: object = head): Buffer {
  const files = entries
    .filter(({ type = 'File' }) => type === 'File')
    .map(({ name, content = '' }) => ({
      path: name,
      size: Buffer.byteLength(content),
      sha256: sha256(content),
    }));
  const manifest = {
    ...head,
    folders: { state: '/s', config: '/c' },
    with_secrets: false,
    counts: { runs: 0, events: 0, stores: 0, repositories: 0, files: files.length, bytes: 0 },
    files,
    left_out: [],
    ...change,
  };
  const last = { name: manifestName, content: JSON.stringify(manifest) };
  return gzipSync(tar([{ name: headName, content: JSON.stringify(begin) }, ...entries, last]));
}

describe('a file that is no good backup', () => {
  const place = temporaryFolder();

  /** The code with which both the check and the restore refuse it; nothing may be left of the restore. */
  async function refusal(bytes: Uint8Array): Promise<{ code: string; message: string }> {
    const folder = mkdtempSync(join(place, 'case-'));
    const file = join(folder, 'backup.tar.gz');
    writeFileSync(file, bytes);
    const home = join(folder, 'deep/home');
    const codes: string[] = [];
    let message = '';
    for (const work of [
      () => verifyBackup(file, { progress: silent, signal }),
      () => restore({ file, folders: foldersIn(home), stateOnly: false, progress: silent, signal }),
    ]) {
      const error: unknown = await work().then(
        () => null,
        (cause) => cause,
      );
      if (error !== null && !(error instanceof CoreError)) throw error;
      codes.push(error?.code ?? 'accepted');
      message = error?.message ?? '';
    }
    expect(new Set(codes), codes.join()).to.have.length(1);
    if (codes[0] !== 'accepted') expect(existsSync(join(folder, 'deep')), codes[0]).to.equal(false);
    return { code: codes[0]!, message };
  }

  const good = { name: 'state/runs/run_1/events.jsonl', content: '{}\n' };

  it('is distinguished from one that is', async () => {
    expect((await refusal(archive([good, { name: 'state/empty/', type: 'Directory' }]))).code).to.equal(
      'accepted',
    );
  });

  it('is refused where an entry leads out of the folders, before anything is written there', async () => {
    const names = [
      ...['../evil', '/etc/evil', 'state/../../evil', 'state/a/../../../evil', 'state//evil', 'state/./evil'],
      ...['state/restore.unfinished', 'state/restore.unfinished/moving.json', 'config/e\nvil'],
      ...['state\\..\\evil', 'other/evil', 'evil', 'config/../evil', 'statement/evil', 'state'],
    ];
    for (const name of names) {
      const { code, message } = await refusal(archive([good, { name, content: 'evil' }]));
      expect(code, name).to.equal('backup_unsafe');
      expect(message, name).to.contain('must be a path below state/ or config/');
    }
    expect(existsSync(join(place, 'evil'))).to.equal(false);
    expect(() => placeOf(`state/${'a'.repeat(256)}`))
      .to.throw()
      .with.property('code', 'backup_unsafe');
    expect(placeOf(`state/${'a'.repeat(255)}`).parts).to.have.length(1);
  });

  it('is refused with links, devices and pipes in it', async () => {
    for (const type of ['SymbolicLink', 'Link', 'FIFO', 'CharacterDevice'] as const) {
      const evil = { name: 'state/evil', type, linkpath: /Link$/.test(type) ? '/etc/passwd' : '' };
      const { code, message } = await refusal(archive([evil, good]));
      expect(code, `${type}: ${message}`).to.equal('backup_unsafe');
    }
  });

  it('is refused where it comes from something else, and where a later Core made it', async () => {
    const others = [
      ...[Buffer.alloc(0), Buffer.from('not a backup at all'), gzipSync('not a tar'), gzipSync(tar([good]))],
      ...[gzipSync(tar([])), archive([good], {}, { format: 'other-backup' }), tar([good])],
    ];
    for (const [index, bytes] of others.entries()) {
      const { code } = await refusal(bytes);
      expect(['backup_foreign', 'backup_truncated'], `${index}: ${code}`).to.include(code);
    }
    for (const format_version of [0, -1.5])
      expect((await refusal(archive([good], {}, { ...head, format_version }))).code).to.equal(
        'backup_foreign',
      );
    const { code, message } = await refusal(
      archive([good], {}, { ...head, format_version: 2, core_version: '9.1.0' }),
    );
    expect(code).to.equal('backup_newer');
    expect(message).to.match(/has format 2, made by Core 9\.1\.0; this Core reads formats up to 1/);
  });

  it('is refused where it does not agree with its manifest, which is named', async () => {
    const wrong = { path: good.name, size: 3, sha256: '0'.repeat(64) };
    const cases: readonly (readonly [Buffer, RegExp])[] = [
      [archive([good], { files: [wrong] }), /run_1\/events\.jsonl has sha256 .*; the manifest says 0000/],
      [archive([good], { files: [] }), /run_1\/events\.jsonl is in it, but not in its manifest/],
      [archive([], { files: [{ ...wrong, path: 'state/lost' }] }), /state\/lost is missing/],
      [archive([good, good]), /run_1\/events\.jsonl is in it twice/],
      [archive([good], { files: 'all' as never }), /manifest\.json/],
      [
        gzipSync(Buffer.concat([gunzipSync(archive([good])).subarray(0, -1024), tar([good])])),
        /after its manifest/,
      ],
    ];
    for (const [bytes, words] of cases) {
      const { code, message } = await refusal(bytes);
      expect(code, message).to.equal('backup_damaged');
      expect(message).to.match(words);
    }
  });

  it('is refused wherever a real one was cut off or changed', async () => {
    const sample = await makeSampleHome();
    const { file } = await backup({
      ...{ folders: sample.folders, target: place, withSecrets: false, withMirrors: false },
      ...{ version: '0.1.0', progress: silent, signal },
    });
    sample.close();
    const whole = readFileSync(file);
    for (let part = 0; part < 12; part++) {
      const cut = whole.subarray(0, Math.floor((whole.length * part) / 12));
      const { code } = await refusal(cut);
      expect(code, `cut after ${cut.length}`).to.match(/^backup_(truncated|foreign)$/);
      const changed = Buffer.from(whole);
      const at = Math.floor((whole.length * (part + 0.5)) / 12);
      changed[at]! ^= 0x55;
      expect((await refusal(changed)).code, `changed at ${at}`).to.match(
        /^backup_(damaged|truncated|foreign|unsafe)$/,
      );
    }
  });
});
