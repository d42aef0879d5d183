import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { CoreError } from '#kit/errors.ts';
import { resolveFolders } from '#kit/folders.ts';
import { readGatewayConfig } from './configuration.ts';

describe('The configuration of the model gateway', () => {
  let home: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'core-models-'));
  });
  afterEach(() => rmSync(home, { recursive: true }));

  function read(models: object) {
    const folders = resolveFolders({ home }, {} as never);
    mkdirSync(folders.config, { recursive: true });
    writeFileSync(join(folders.config, 'models.json'), JSON.stringify({ models }));
    return readGatewayConfig({ folders, environment: {} });
  }

  const there = { kind: 'openai', base_url: 'http://127.0.0.1:1/v1', model: 'm' };

  it('refuses an address with white space, and vectors of Anthropic, naming where they stand', () => {
    const cases: [object, string][] = [
      [{ upstreams: [{ ...there, base_url: 'http://127.0.0.1:1/v1\n' }] }, '/models/a/upstreams/0/base_url'],
      [{ upstreams: [{ ...there, base_url: 'http://127.0.0.1:1/v 1' }] }, 'white space'],
      [
        { kind: 'embeddings', upstreams: [there, { ...there, kind: 'anthropic' }] },
        '/models/a/upstreams/1/kind is "anthropic": must be "openai"',
      ],
      [{ upstreams: [{ ...there, limit_member: 'maximum' }] }, 'max_completion_tokens'],
    ];
    for (const [model, said] of cases) {
      expect(() => read({ a: model }))
        .to.throw(CoreError, said)
        .with.property('code', 'config_invalid');
    }
    const { models } = read({ a: { upstreams: [{ ...there, limit_member: 'max_completion_tokens' }] } });
    expect(models.a!.upstreams[0]!.limit_member).to.equal('max_completion_tokens');
  });
});
