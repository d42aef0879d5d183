import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { InvalidInput } from '#kit/errors.ts';
import { temporaryFolder } from '../../test/fixtures/repositories/temporary-folder.ts';
import { readContextConfig } from './configuration.ts';

const account = {
  url: 'bolt://127.0.0.1:7687',
  user: 'core',
  password_file: 'graph-password',
  database: 'core',
};

function neo4j(CORE_NEO4J_URL: string | undefined, configured: typeof account | null = null) {
  const config = temporaryFolder();
  writeFileSync(join(config, 'context.json'), JSON.stringify({ neo4j: configured }));
  return readContextConfig({ folders: { config }, environment: { CORE_NEO4J_URL } }).neo4j;
}

describe('The address of Neo4j from the environment', () => {
  it('is enough where nothing else is configured', () => {
    expect(neo4j('bolt://neo4j:7687')).to.deep.equal({
      url: 'bolt://neo4j:7687',
      user: 'neo4j',
      password_file: 'neo4j-password',
      database: 'neo4j',
    });
  });

  it('replaces that of the file and leaves the account, or takes the server away', () => {
    expect(neo4j('neo4j+s://graph.example.org', account)).to.deep.equal({
      ...account,
      url: 'neo4j+s://graph.example.org',
    });
    expect(neo4j('none', account)).to.equal(null);
    expect(neo4j('', account)).to.deep.equal(account);
    expect(neo4j(undefined, account)).to.deep.equal(account);
  });

  it('is refused where it is no Bolt address', () => {
    expect(() => neo4j('http://neo4j:7474'))
      .to.throw(InvalidInput, 'CORE_NEO4J_URL')
      .with.property('code', 'config_invalid');
  });
});
