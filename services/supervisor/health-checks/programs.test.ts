import { writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { expect } from 'chai';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { checkDocker } from './programs.ts';

describe('What core doctor says of Docker', () => {
  const path = process.env.PATH;
  afterEach(() => {
    process.env.PATH = path;
  });

  it('warns where it has addresses for fewer networks than the compose stack takes', async () => {
    const others = Array.from({ length: 28 }, (_, index) => ` 172.${17 + (index % 15)}.0.0/16`);
    fakeDocker(others);
    const { state, detail, fix } = await checkDocker();
    expect([state, detail]).to.deep.equal([
      'warning',
      '27.1.0; it has addresses for 3 more networks, and the compose stack takes 4',
    ]);
    expect(fix).to.contain('docker network prune');
  });

  it('counts neither networks of the stack itself nor those with subnets of their own', async () => {
    const others = Array.from({ length: 27 }, () => ' 192.168.16.0/20');
    fakeDocker([...others, 'core 172.18.0.0/16', ' 10.0.0.0/24', ' 198.18.0.0/28', ' ']);
    expect(await checkDocker()).to.include({ state: 'works', detail: '27.1.0' });
  });

  it('does not count where the person configured the pools', async () => {
    fakeDocker(
      Array.from({ length: 60 }, () => ' 172.17.0.0/24'),
      '[{"Base":"172.16.0.0/12","Size":24}]',
    );
    expect(await checkDocker()).to.include({ state: 'works', detail: '27.1.0' });
  });
});

/** @param networks a line for each: compose project and subnet */
function fakeDocker(networks: readonly string[], pools = 'null'): void {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'networks'), networks.map((line) => `${line}\n`).join(''));
  writeFileSync(
    join(folder, 'docker'),
    `#!/bin/sh
case "$1 $2" in
  'version --format') echo 27.1.0 ;;
  'info --format') echo '${pools}' ;;
  'network ls') seq ${networks.length} ;;
  'network inspect') cat '${join(folder, 'networks')}' ;;
  *) exit 1 ;;
esac
`,
    { mode: 0o755 },
  );
  process.env.PATH = `${folder}${delimiter}${process.env.PATH}`;
}
