import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { type IiiServer, startIii } from '../fixtures/containers/iii.ts';
import { describeWith } from '../needs.ts';
import { busContract } from './bus.contract.ts';
import { differences, differencesContract } from './bus-differences.contract.ts';
import { type OwnEngine, openEngine } from './bus-scene.ts';

describe('the bus, as core-bus-engine speaks it', () => {
  let engine: OwnEngine;

  before(async () => {
    engine = await openEngine();
  });
  after(() => engine.close());

  busContract(() => engine);

  describe('differences from iii', () => {
    differencesContract(() => engine, 'here');

    it('are the rows of the table on the site', () => {
      const page = readFileSync(new URL('../../site/bus-engine.md', import.meta.url), 'utf8');
      const [, section = ''] = page.split('## Differences from iii 0.22.1\n');
      const table = section
        .split('\n## ', 1)[0]!
        .split('\n')
        .filter((line) => line.startsWith('| '));
      const rows = table.slice(1).map((line) => line.split(' | ', 1)[0]!.slice(2).trim());
      expect(rows).to.deep.equal(differences.map(({ row }) => row));
    });
  });
});

describeWith(['iii'], 'the bus, as iii speaks it', () => {
  let server: IiiServer;
  const iii = () => ({ ...server, headers: {} });

  before(async () => {
    server = await startIii();
  });
  after(() => server?.remove());

  busContract(iii);

  describe('differences from core-bus-engine', () => differencesContract(iii, 'iii'));
});
