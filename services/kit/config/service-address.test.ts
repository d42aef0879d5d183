import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import type { Environment } from '../environment.ts';
import { announceService } from './running-service.ts';
import { describeAddress, readServiceAddress, serviceUrl } from './service-address.ts';
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
    expect(serviceUrl(readServiceAddress('context', sources()))).to.equal('http://127.0.0.1:8090');
    write('context.json', { port: 9000 });
    expect(readServiceAddress('context', sources()).port).to.equal(9000);
    const environment = { CORE_CONTEXT_PORT: '9001' };
    expect(readServiceAddress('context', sources(environment)).port).to.equal(9001);
    expect(readServiceAddress('context', { ...sources(environment), flags: { port: '9002' } }).port).to.equal(
      9002,
    );
    const row = describeAddress('context', sources(environment)).find(({ key }) => key === 'context.port');
    expect(row).to.include({ value: 9001, source: 'environment', where: 'CORE_CONTEXT_PORT' });
  });

  it('names what is no port', () => {
    for (const port of ['many', '-1', '65536', '1e3', '0x10'])
      expect(() => readServiceAddress('context', { ...sources(), flags: { port } }), port).to.throw(
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

  it('is where a service of the state folder runs, unless the environment names another', () => {
    const state = temporaryFolder();
    const folders = { config, state };
    const urlIn = (environment: Partial<Environment> = {}) =>
      readSettings({ ...sources(environment), folders }).context.url;
    write('context.json', { port: 9000 });
    const address = { url: 'http://127.0.0.1:9444', host: '127.0.0.1', port: 9444 };
    const announced = announceService('core-context', folders, address);
    expect(urlIn()).to.equal(address.url);
    expect(urlIn({ CORE_CONTEXT_PORT: '9001' })).to.equal('http://127.0.0.1:9001');
    expect(urlIn({ CORE_CONTEXT_URL: 'http://127.0.0.1:1' })).to.equal('http://127.0.0.1:1');
    const note = join(state, 'context/listening.json');
    const row = describeSettings({ ...sources(), folders }).find(({ key }) => key === 'context.url');
    expect(row).to.include({ source: 'running', where: note });

    const { holder, ...same } = JSON.parse(readFileSync(note, 'utf8'));
    writeFileSync(note, JSON.stringify({ ...same, holder: { ...holder, process_started: '1' } }));
    expect(urlIn(), 'a process that is gone').to.equal('http://127.0.0.1:9000');
    writeFileSync(note, '{"url":');
    expect(urlIn(), 'a damaged note').to.equal('http://127.0.0.1:9000');
    announced.withdraw();
    expect(urlIn()).to.equal('http://127.0.0.1:9000');
  });

  it('is reached through the loopback interface where it listens on all', () => {
    expect(serviceUrl({ host: '0.0.0.0', port: 1, tls: null })).to.equal('http://127.0.0.1:1');
    expect(serviceUrl({ host: '::', port: 1, tls: null })).to.equal('http://[::1]:1');
  });
});
