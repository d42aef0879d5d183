import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import type { Manifest } from './manifest.ts';
import { notesOf } from './reports.ts';

describe('What is to be known of a restored installation', () => {
  const manifest = (change: Partial<Manifest>) =>
    ({
      folders: { state: '/s', config: '/c' },
      created_at: '2026-03-02T08:00:00.000Z',
      with_secrets: true,
      files: [],
      ...change,
    }) as unknown as Manifest;

  function configWith(files: Readonly<Record<string, unknown>>): string {
    const config = join(temporaryFolder(), 'config');
    mkdirSync(config);
    for (const [name, document] of Object.entries(files))
      writeFileSync(join(config, name), typeof document === 'string' ? document : JSON.stringify(document));
    return config;
  }

  const tokens =
    'tokens are in force again as they were on 2026-03-02T08:00:00.000Z, with what they approved: revoke again those that were revoked since (core token revoke NAME)';

  it('is what became of tokens alone where it lies in its place, with its secrets', () => {
    const config = configWith({
      'core.json': { agentd: { host: '127.0.0.1' } },
      'bus.json': { host: '::1' },
    });
    expect(notesOf(manifest({}), { state: '/s', config })).to.deep.equal([tokens]);
  });

  it('names what listens for everybody, as in containers', () => {
    const config = configWith({
      'core.json': { agentd: { host: '0.0.0.0' } },
      'bus.json': { host: '::', limits: [1, null] },
      'context.json': '{',
      'bridge.json': [],
    });
    const [note, ...rest] = notesOf(manifest({}), { state: '/s', config });
    expect(note).to.contain(`bus.json, core.json in ${config} let services listen beyond loopback`);
    expect(rest).to.deep.equal([tokens]);
  });

  it('mentions secrets and the local forge, and the configuration only if it was restored', () => {
    const files = [{ path: 'state/forge/x', size: 1, sha256: '' }];
    const stored = manifest({ with_secrets: false, files });
    const notes = notesOf(stored, { state: '/elsewhere', config: configWith({}) });
    expect(notes).to.have.length(2);
    expect(notes[0]).to.contain('without keys and tokens');
    expect(notes[1]).to.contain('runs of the local forge push to /s');
    expect(notesOf(stored, { state: '/s', config: null })).to.deep.equal([]);
  });
});
