import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import type { Environment } from '../environment.ts';
import { contextUrl, describeContextAddress, readContextAddress } from './context-address.ts';
import { describeSettings, readSettings } from './settings.ts';

const none = {
  CORE_AGENTD_HOST: undefined,
  CORE_AGENTD_PORT: undefined,
  CORE_LOG_LEVEL: undefined,
  CORE_LOG_FORMAT: undefined,
  CORE_CONTEXT_URL: undefined,
};

describe('Where core-context listens', () => {
  let config: string;
  beforeEach(() => {
    config = temporaryFolder();
  });
  const write = (name: string, document: unknown) =>
    writeFileSync(join(config, name), JSON.stringify(document));
  const sources = (environment: Partial<Environment> = {}) => ({
    folders: { config },
    environment: { ...none, ...environment },
  });

  it('is what flag, environment and files say, in that order', () => {
    expect(contextUrl(readContextAddress(sources()))).to.equal('http://127.0.0.1:8090');
    write('context.json', { port: 9000 });
    expect(readContextAddress(sources()).port).to.equal(9000);
    const environment = { CORE_CONTEXT_PORT: '9001' };
    expect(readContextAddress(sources(environment)).port).to.equal(9001);
    expect(readContextAddress({ ...sources(environment), flags: { port: '9002' } }).port).to.equal(9002);
    const row = describeContextAddress(sources(environment)).find(({ key }) => key === 'context.port');
    expect(row).to.include({ value: 9001, source: 'environment', where: 'CORE_CONTEXT_PORT' });
  });

  it('names what is no port', () => {
    for (const port of ['many', '-1', '65536', '1e3', '0x10'])
      expect(() => readContextAddress({ ...sources(), flags: { port } }), port).to.throw(
        /--port \(context\.port\).*must be an integer/,
      );
  });

  it('is where planning looks, unless somebody says otherwise', () => {
    write('context.json', { port: 9000 });
    expect(readSettings(sources()).context.url).to.equal('http://127.0.0.1:9000');
    const row = describeSettings(sources()).find(({ key }) => key === 'context.url');
    expect(row).to.include({ source: 'user', where: join(config, 'context.json') });
    expect(readSettings(sources({ CORE_CONTEXT_URL: 'http://127.0.0.1:1' })).context.url).to.equal(
      'http://127.0.0.1:1',
    );
    write('core.json', { context: { url: null } });
    expect(readSettings(sources()).context.url).to.equal(null);
  });

  it('is reached through the loopback interface where it listens on all', () => {
    expect(contextUrl({ host: '0.0.0.0', port: 1, tls: null })).to.equal('http://127.0.0.1:1');
    expect(contextUrl({ host: '::', port: 1, tls: null })).to.equal('http://[::1]:1');
  });
});
