import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import * as t from 'io-ts';
import { nullable, oneOf } from '../decode.ts';
import { InvalidInput } from '../errors.ts';
import { readConcern } from './concern.ts';
import { describeSettings, readSettings } from './settings.ts';

const noEnvironment = {
  CORE_AGENTD_HOST: undefined,
  CORE_AGENTD_PORT: undefined,
  CORE_LOG_LEVEL: undefined,
  CORE_LOG_FORMAT: undefined,
  CORE_CONTEXT_URL: undefined,
};

describe('Configuration', () => {
  let root: string;
  let folders: { config: string };
  let shipped: string;

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'core-config-'));
    folders = { config: join(root, 'user') };
    shipped = join(root, 'shipped');
    mkdirSync(folders.config);
    mkdirSync(shipped);
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  function user(name: string, content: unknown): void {
    writeFileSync(
      join(folders.config, `${name}.json`),
      typeof content === 'string' ? content : JSON.stringify(content),
    );
  }

  function failure(work: () => unknown): InvalidInput {
    try {
      work();
    } catch (error) {
      expect(error).to.be.instanceOf(InvalidInput);
      return error as InvalidInput;
    }
    throw new Error('expected a refusal');
  }

  describe('settings', () => {
    it('come from the shipped file when nobody says otherwise', () => {
      const settings = readSettings({ folders, environment: noEnvironment });
      expect(settings.agentd.host).to.equal('127.0.0.1');
      expect(settings.agentd.port).to.equal(7817);
      expect(settings.context.url).to.equal('http://127.0.0.1:8090');
    });

    it('let a flag win over the environment, that over the user file, that over the default', () => {
      user('core', { agentd: { port: 1001 }, log: { level: 'warn' }, vcs: 'git' });
      const sources = {
        folders,
        flags: { port: '1003' },
        environment: { ...noEnvironment, CORE_AGENTD_PORT: '1002', CORE_LOG_LEVEL: 'debug' },
      };
      const settings = readSettings(sources);
      expect(settings.agentd.port).to.equal(1003);
      expect(settings.log.level).to.equal('debug');
      expect(settings.vcs).to.equal('git');
      const rows = Object.fromEntries(describeSettings(sources).map((row) => [row.key, row]));
      expect(rows['agentd.port']).to.include({ value: 1003, source: 'flag', where: '--port' });
      expect(rows['log.level']).to.include({ source: 'environment', where: 'CORE_LOG_LEVEL' });
      expect(rows.vcs).to.include({ source: 'user', where: join(folders.config, 'core.json') });
      expect(rows['log.format']).to.include({ value: 'text', source: 'default' });
      expect(rows['agentd.tls']).to.include({ value: null, source: 'default' });
    });

    it('take null and numbers from the environment only where the setting allows them', () => {
      const environment = { ...noEnvironment, CORE_CONTEXT_URL: 'none' };
      expect(readSettings({ folders, environment }).context.url).to.equal(null);
      const bad = { ...noEnvironment, CORE_AGENTD_PORT: '99999' };
      expect(failure(() => readSettings({ folders, environment: bad })).message).to.equal(
        'CORE_AGENTD_PORT (agentd.port) is 99999: must be an integer from 0 to 65535',
      );
    });

    it('name the choices when a flag is not one of them', () => {
      const flags = { logLevel: 'loud' };
      expect(failure(() => readSettings({ folders, flags, environment: noEnvironment })).message).to.equal(
        '--log-level (log.level) is "loud": must be one of error, warn, info, debug',
      );
    });

    it('refuse an unknown member and name the known ones', () => {
      user('core', { agentd: { prot: 1 } });
      const error = failure(() => readSettings({ folders, environment: noEnvironment }));
      expect(error.code).to.equal('config_invalid');
      expect(error.message).to.contain(
        `${join(folders.config, 'core.json')}: /agentd/prot is not known here`,
      );
      expect(error.message).to.contain('port');
    });
  });

  describe('a concern file', () => {
    const Codec = t.strict({
      roles: t.record(t.string, t.strict({ tier: oneOf(['small', 'large']) })),
      list: t.array(t.strict({ name: t.string })),
      extra: nullable(t.union([t.strict({ a: t.number, b: t.number }), t.strict({ a: t.number })])),
    });
    const base = { roles: { one: { tier: 'small' } }, list: [{ name: 'x' }], extra: null };

    beforeEach(() => writeFileSync(join(shipped, 'thing.json'), JSON.stringify(base)));
    const read = () => readConcern(Codec, 'thing', folders, shipped);

    it('is the shipped one where the user has none', () => {
      expect(read()).to.deep.equal(base);
    });

    it('merges objects and replaces arrays and scalars', () => {
      user('thing', { roles: { two: { tier: 'large' } }, list: [], extra: { a: 1, b: 2 } });
      expect(read()).to.deep.equal({
        roles: { one: { tier: 'small' }, two: { tier: 'large' } },
        list: [],
        extra: { a: 1, b: 2 },
      });
    });

    it('blames the file that holds the wrong value', () => {
      user('thing', { roles: { one: { tier: 'huge' } } });
      expect(failure(read).message).to.equal(
        `${join(folders.config, 'thing.json')}: /roles/one/tier is "huge": must be one of small, large`,
      );
    });

    it('finds unknown members inside records, arrays and unions', () => {
      user('thing', { roles: { 'a/b': { tier: 'small', tear: 1 } } });
      expect(failure(read).errors[0]!.pointer).to.equal('/roles/a~1b/tear');
      user('thing', { list: [{ name: 'x', nmae: 'y' }] });
      expect(failure(read).errors[0]!.pointer).to.equal('/list/0/nmae');
      user('thing', { extra: { a: 1, c: 2 } });
      expect(failure(read).errors[0]!.pointer).to.equal('/extra/c');
    });

    it('says where the JSON is broken', () => {
      user('thing', '{"roles": ');
      expect(failure(read).code).to.equal('invalid_json');
      expect(failure(read).message).to.contain(join(folders.config, 'thing.json'));
    });

    it('is not fooled by members named like a prototype', () => {
      user('thing', '{"roles":{"__proto__":{"tier":"large"}}}');
      expect(Object.keys(read().roles)).to.include('one');
      expect(({} as Record<string, unknown>).tier).to.equal(undefined);
    });
  });
});
